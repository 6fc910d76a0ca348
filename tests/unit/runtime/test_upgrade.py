"""What an edit of a program keeps, adds, swaps and drops, and which edits a running program cannot take."""

from __future__ import annotations

import re
import runpy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ghcm.driver import build
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.upgrade import Upgrade, Version, compare, version_of

PROGRAM = """
program shop

record Sale { at: timestamp, shop: string, cents: int }

cache tally_calls = redis("shop:tally")
sink all    = files("out/all", format = json, mode = append)
sink totals = parquet("out/totals", mode = replace)
sink best   = files("out/best", format = json, mode = append)
sink latest = redis("shop:latest", key = s => s.shop, mode = upsert)

stream feed {
  sales = files("sales.jsonl", format = json).as(Sale)
  counts = sales.map_to_pair(s => (s.shop, 1)).reduce_by_key((a, b) => a + b)
  sales.to(all).publish(tally(since = min(at)), every = 100)
  sales.map(s => s with { cents: if [1, 2].any(n => n == s.cents) then 0 else s.cents }).to(latest)
  large = sales.filter(s => s.cents > 1000)
  large.to(best).publish(audit(shop = max(shop)), when = s => s.cents > 90000)
}

responsive batch tally(since: timestamp) on tally_calls {
  all.read().filter(s => s.at >= since).map_to_pair(s => (s.shop, s.cents)).reduce_by_key((a, b) => a + b).to(totals)
}

responsive stream audit(shop: string) { feed.counts.read(shop).reply() }
"""
PROFILE = "\nresponsive stream profile(shop: string) { feed.counts.read(shop).reply() }\n"
AUDIT = "audit(shop = max(shop)), when = s => s.cents > 90000"


@cache
def version(text: str) -> Version:
    with TemporaryDirectory() as folder:
        source = Path(folder, "shop.istream")
        source.write_text(text)
        return version_of(Bundle.open(build(source)))


def growth(after: str, before: str = PROGRAM) -> Upgrade:
    return compare(version(before), version(after))


def changed(found: Upgrade) -> list[str]:
    """What is not kept, in words."""
    assert not found.obstacles, found.obstacles
    return [
        f"{each.kind.value} {each.part.value} {each.unit}{': ' * bool(each.unit)}{each.name}"
        for each in found.changes
        if each.kind.value != "kept"
    ]


def test_where_a_thing_stands_changes_nothing() -> None:
    found = growth("# a comment\n\n" + PROGRAM)
    assert found.nothing
    assert len(found.changes) == 10  # three units, two policies, four sinks, a cache


def test_what_parameters_of_functions_are_called_changes_nothing() -> None:
    """Neither where one has the name of another that it stands in, nor in keys, conditions, or batch units."""
    text = re.sub(r"\bs( =>|\.| with)", r"sale\1", PROGRAM.replace("(a, b) => a + b", "(b, c) => b + c"))
    assert text.count("sale =>") == 7
    for each in (text, text.replace("n => n ==", "m => m ==")):
        assert growth(each).nothing
    assert growth(PROGRAM.replace("n == s.cents", "n == n")).obstacles


def test_one_policy_calls_a_unit_that_is_added() -> None:
    found = growth(PROGRAM.replace(AUDIT, "profile(shop = max(shop)), every = 5") + PROFILE)
    assert changed(found) == ["swapped policy feed: best.publish", "added unit profile"]
    assert found.since({}, 2) == {"feed": {"best.publish": 2}}
    assert found.since({"feed": {"all.publish": 2, "best.publish": 2}}, 3) == {
        "feed": {"all.publish": 2, "best.publish": 3}
    }


def test_a_policy_comes_and_goes() -> None:
    without = PROGRAM.replace(f".publish({AUDIT})", "")
    assert changed(growth(without)) == ["dropped policy feed: best.publish"]
    found = growth(PROGRAM, before=without)
    assert changed(found) == ["added policy feed: best.publish"]
    assert found.since({}, 7) == {"feed": {"best.publish": 7}}


def test_a_responsive_unit_is_swapped_with_its_parameters_and_the_sink_that_it_replaces() -> None:
    other = PROGRAM.replace("(s.shop, s.cents)", "(s.shop, 1.0)").replace(
        "tally(since: timestamp)", "tally(since: timestamp, n: int = 3)"
    )
    found = growth(other)
    assert changed(found) == ["swapped unit tally", "swapped sink totals"]
    assert "other parameters" in next(each.note for each in found.changes if each.name == "tally")


def test_a_responsive_unit_goes_with_what_called_it() -> None:
    text = PROGRAM.replace(f".publish({AUDIT})", "")
    found = growth(text[: text.index("responsive stream audit")])
    assert changed(found) == ["dropped policy feed: best.publish", "dropped unit audit"]


def refused(text: str) -> str:
    """Why a running program cannot take this edit."""
    error = growth(text).refusal("shop", "shop-1")
    assert error.code == "GHCM-608"
    assert "shop.istream:" in error.detail
    assert "ghcm stop shop" in error.hint and "--fresh" in error.hint
    return error.detail


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "s.cents > 1000)",
            "s.cents > 2000)",
            'Task "large" of unit "feed" has changed: it was filter s.cents > 1000 and is filter s.cents > 2000',
        ),
        ("large.to(best)", "large.map(s => s).to(best)", '"best/map" of unit "feed" is new'),
        ('files("sales.jsonl"', 'files("other.jsonl"', 'of unit "feed" has changed'),
        ("cents: int }", "cents: float }", 'of unit "feed" has changed'),
        ('"out/best", format = json', '"out/better", format = json', 'Sink "best" has changed: its place'),
        ('redis("shop:tally")', 'redis("shop:other")', 'Unit "tally" listens to another cache'),
    ],
)
def test_what_a_running_program_cannot_take_is_named_with_its_place(old: str, new: str, reason: str) -> None:
    assert old in PROGRAM
    assert reason in refused(PROGRAM.replace(old, new))


def test_units_that_run_by_themselves_neither_come_nor_go() -> None:
    more = PROGRAM + 'stream more { files("more.jsonl", format = json).as(Sale).to(all) }'
    assert 'Unit "more" is new, and it is a stream unit that runs by itself' in refused(more)
    gone = compare(version(more), version(PROGRAM)).refusal("shop", "shop-1")
    assert 'Unit "more" is gone' in gone.detail


def test_a_task_that_is_gone_is_named() -> None:
    text = PROGRAM.replace("counts = sales", "others = sales").replace("feed.counts", "feed.others")
    detail = refused(text)
    assert 'task "others" of unit "feed" is new' in detail
    assert 'task "counts" of unit "feed" is gone' in detail


def test_what_the_optimiser_has_made_one_task_of_can_be_taken_after_a_stop() -> None:
    fused = PROGRAM.replace(f"large.to(best).publish({AUDIT})", "large.map(s => s with { cents: 0 }).to(best)")
    assert fused != PROGRAM
    apart = fused.replace("  large.map", "  large.publish(audit(shop = max(shop)), every = 5)\n  large.map")
    found = growth(apart, before=fused)
    assert found.obstacles and all(each.resumable for each in found.obstacles)
    refusal = found.refusal("shop", "shop-1")
    assert "--resume" in refusal.hint and "since a policy reads other tasks" in refusal.detail
    wider = growth(PROGRAM.replace("stream feed {", "stream feed parallelism = 3 {")).refusal("shop", "shop-1")
    assert "--resume" in wider.hint and "with other instances or passes of the optimiser" in wider.detail


@pytest.mark.parametrize(
    ("source", "more"), [('kafka("sales"', "lost = earliest"), ('table("t", follow = true', "rewrites = ignore")]
)
def test_what_a_source_does_about_rows_that_are_gone_can_be_said_after_a_stop(source: str, more: str) -> None:
    failing = PROGRAM.replace('files("sales.jsonl", format = json', source)
    [found] = growth(failing.replace(source, f"{source}, {more}"), before=failing).obstacles
    assert found.resumable and "what its source no longer has" in found.message


def test_what_a_join_has_kept_of_its_records_has_to_fit_still() -> None:
    joined = """  visits = files("visits.jsonl", format = json).as(Sale)
  met = sales.join(visits, on = (s, v) => s.shop == v.shop)
  met.map(m => m.left).named("met_sales").to(all)
"""
    before = PROGRAM.replace("  large = sales", joined + "  large = sales")
    policy = "  met.publish(audit(shop = max(right.shop)), every = 5)\n"
    found = growth(before.replace("  large = sales", policy + "  large = sales"), before=before)
    assert not all(each.resumable for each in found.obstacles)
    assert 'task "met" of unit "feed" would keep other columns' in found.refusal("shop", "shop-1").detail


def test_the_traffic_monitor_grows_by_a_unit_that_one_policy_calls() -> None:
    folder = Path(__file__).parents[3] / "examples" / "traffic"
    text = (folder / "traffic.istream").read_text()
    after = runpy.run_path(str(folder / "grow.py"))["grown"](text)
    assert changed(growth(after, before=text)) == [
        "swapped policy monitor: alerts.publish",
        "added unit attackers",
        "added sink attackers_now",
    ]
