"""What Prometheus collects."""

import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ghcm.supervisor.metrics import _COMMITS  # pyright: ignore[reportPrivateUsage]
from tests.unit.supervisor.serving import CALLS, Served, serving


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop"), access={"required": True}) as served:
        yield served


def measured(shop: Served) -> dict[str, float]:
    """What is told, by name and labels in the order of their names."""
    answer = shop.get("/metrics", **shop.token("read:*"))
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/plain; version=")
    found = text_string_to_metric_families(answer.body.decode())
    return {
        " ".join((each.name, *(value for _, value in sorted(each.labels.items())))): each.value
        for family in found
        for each in family.samples
    }


def test_calls_are_counted_once_however_often_it_is_asked(shop: Served) -> None:
    token = shop.token("call:*")
    for _ in range(2):
        assert shop.post(f"{CALLS}?wait=60", {"item": "tea"}, **token).json["state"] == "done"
    first = measured(shop)
    assert first["ghcm_calls_total shop done total"] == 2
    assert first["ghcm_call_seconds_count shop total"] == 2
    assert first["ghcm_calls_open shop total"] == 0
    assert shop.post("/programs/shop/units/store/calls?wait=60", {"least": 5}, **token).json["state"] == "done"
    second = measured(shop)
    assert second["ghcm_calls_total shop done total"] == 2
    assert second["ghcm_calls_total shop done store"] == 1
    assert second["ghcm_sink_rows_total shop found store"] == 1


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_percentiles_of_commits_can_be_taken_of_what_is_told(share: float) -> None:
    """As `histogram_quantile` takes them, of commits of 11 to 36 ms."""
    chance = random.Random(7)
    values = sorted(chance.uniform(0.011, 0.036) for _ in range(1000))
    wanted, counts = share * len(values), [bisect_right(values, bound) for bound in _COMMITS]
    at = bisect_left(counts, wanted)
    low, high, before = _COMMITS[at - 1], _COMMITS[at], counts[at - 1]
    found = low + (high - low) * (wanted - before) / (counts[at] - before)
    assert found == pytest.approx(values[int(wanted) - 1], rel=0.42)


def test_jobs_parts_and_the_store_are_told(shop: Served) -> None:
    found = measured(shop)
    assert found["ghcm_jobs running"] == 1
    assert found["ghcm_store_bytes jobs.sqlite"] > 0
    assert found["ghcm_disk_free_bytes"] > 0
    assert (found["ghcm_ready"], found["ghcm_part_ready redis"], found["ghcm_part_ready daemon"]) == (0, 1, 0)


def test_nobody_is_told_who_may_not_read_everything(shop: Served) -> None:
    assert shop.get("/metrics").status == 401
    assert shop.get("/metrics", **shop.token("read:shop")).status == 403
