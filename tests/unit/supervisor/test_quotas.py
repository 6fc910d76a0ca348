"""What a caller is refused who calls too often, or has too many calls open; and that others are not."""

from collections.abc import Callable, Iterator

import pytest

from ghcm.runtime import limits
from ghcm.runtime.pubsub.envelope import Instruction
from ghcm.supervisor import quotas
from ghcm.supervisor.access.callers import publisher_of
from ghcm.supervisor.problems import Problem
from ghcm.supervisor.quotas import Quotas
from tests.unit.supervisor.serving import CALLS, Served, serving

TEA = {"item": "tea"}


class Clock:
    """A clock that is set."""

    now = 1e6

    def __call__(self) -> float:
        return self.now


def bucket(clock: Clock, rate: float, burst: int) -> Quotas:
    return Quotas(limits.Quotas(rate=rate, burst=burst), clock)


def accepted(found: Quotas, caller: str = "ann", most: int = 10_000) -> int:
    """How many calls are taken one after another."""
    for number in range(most):
        try:
            found.charge(caller)
        except Problem:
            return number
    return most


@pytest.mark.parametrize(("rate", "burst"), [(200, 400), (0.5, 1), (3, 7), (1000 / 3, 1000)])
def test_a_bucket_has_its_burst_at_once_and_then_its_rate(rate: float, burst: int) -> None:
    clock = Clock()
    found = bucket(clock, rate, burst)
    assert accepted(found) == burst
    assert accepted(found) == 0
    clock.now += 12 / rate
    assert accepted(found) == min(12, burst)
    clock.now += 10 * burst / rate
    assert accepted(found) == burst


def test_who_is_refused_is_told_when_to_call_again_and_is_taken_then() -> None:
    clock = Clock()
    found = bucket(clock, 0.1, 2)
    assert accepted(found, "ann") == 2
    for number in range(3):
        with pytest.raises(Problem, match='"ann" calls too often') as caught:
            found.charge("ann")
        assert (caught.value.status, caught.value.retry_after) == (429, 10)
        found.charge(f"bob {number}")
    clock.now += caught.value.retry_after
    found.charge("ann")


def test_callers_of_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "_MOST_CALLERS", 3)
    found = bucket(Clock(), 1, 1)
    for number in range(100):
        found.charge(f"caller {number}")
    assert [accepted(found, f"caller {number}") for number in (99, 98, 97, 96)] == [0, 0, 0, 1]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    few = {"calls": 2, "rate": 0.001, "burst": 5}
    with serving(tmp_path_factory.mktemp("shop"), quotas=few, access={"required": True}) as served:
        yield served


@pytest.fixture
def ann(shop: Served) -> dict[str, str]:
    """A new token."""
    return shop.token("call:shop,read:*")


def call_of(shop: Served, token: dict[str, str]) -> Callable[[str], None]:
    """Have calls of whoever has this token wait for ever."""
    name = next(each.name + f" ({each.id})" for each in shop.tokens.all().values() if each.id in str(token))

    def wait(id: str) -> None:
        shop.store.calls.accept(Instruction(id, "shop", "total", TEA, publisher=publisher_of(name)))

    return wait


def test_a_caller_who_calls_too_often_is_refused_and_others_are_not(shop: Served, ann: dict[str, str]) -> None:
    bob = shop.token("call:shop")
    answers = [shop.post(f"{CALLS}?wait=60", TEA, **ann) for _ in range(7)]
    assert [answer.status for answer in answers] == [200] * 5 + [429] * 2
    refused = answers[-1]
    assert refused.json["code"] == "GHCM-334"
    assert 100 < int(refused.headers["retry-after"]) <= 1000  # since the first call
    assert "[quotas] rate" in refused.json["hint"]
    assert shop.get(f"{CALLS}/{answers[0].json['id']}", **ann).status == 200
    assert shop.post(f"{CALLS}?wait=60", TEA, **bob).status == 200


def test_a_caller_with_too_many_open_calls_is_refused_and_others_are_not(shop: Served, ann: dict[str, str]) -> None:
    wait, bob = call_of(shop, ann), shop.token("call:shop")
    first = shop.post(f"{CALLS}?wait=60", TEA, Idempotency_Key="first", **ann)
    assert (first.status, first.json["state"]) == (200, "done")  # and open no longer
    wait("w1")
    wait("w2")
    refused = shop.post(CALLS, TEA, **ann)
    assert (refused.status, refused.json["code"], refused.headers["retry-after"]) == (429, "GHCM-334", "1")
    assert "has 2 calls that wait or run" in refused.json["message"]
    again = shop.post(CALLS, TEA, Idempotency_Key="first", **ann)
    assert (again.status, again.json["id"]) == (200, first.json["id"])
    assert shop.post(f"{CALLS}?wait=60", TEA, **bob).status == 200
    shop.store.calls.cancel("w1")
    assert shop.post(f"{CALLS}?wait=60", TEA, **ann).status == 200
    shop.store.calls.cancel("w2")


def test_refusals_are_documented_and_counted(shop: Served, ann: dict[str, str]) -> None:
    document = shop.get("/openapi.json", **ann).json
    assert "429" in document["paths"][CALLS]["post"]["responses"]
    before = refusals(shop, ann)
    assert [shop.post(f"{CALLS}?wait=60", TEA, **ann).status for _ in range(6)][-1] == 429
    assert refusals(shop, ann) == before + 1


def refusals(shop: Served, token: dict[str, str]) -> float:
    line = 'ghcm_calls_refused_total{reason="rate"} '
    found = [each for each in shop.get("/metrics", **token).body.decode().splitlines() if each.startswith(line)]
    return float(found[0].removeprefix(line))
