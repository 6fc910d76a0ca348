"""What a program has written and refused, looked at while its daemon runs, afterwards, and from run to run."""

import json
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.system.running import Running, clean_environment, ghcm, running, until

pytestmark = pytest.mark.system

PROGRAM = """\
program shop

record Visit { page: string, n: int }

sink kept = files("out/kept", format = json, mode = append)
sink latest = redis("shop:latest", key = v => v.page, mode = upsert)

stream watch {
  visits = files("in/*.jsonl", format = json, follow = FOLLOW).as(Visit)
  visits.map(v => Visit { page: v.page, n: 100 // v.n }).to(kept)
  visits.to(latest)
  sums = visits.map_to_pair(v => (v.page, v.n)).reduce_by_key((a, b) => a + b)
  sums.to(totals)
}

sink totals = redis("shop:totals", key = t => t.key, mode = upsert)
"""


def lay_out(folder: Path, *, follow: bool) -> None:
    (folder / "shop.istream").write_text(PROGRAM.replace("FOLLOW", str(follow).lower()))
    (folder / "in").mkdir()
    visit(folder, "a", ("/", 1), ("/docs", 0), ("/docs", 5))


def visit(folder: Path, name: str, *visits: tuple[str, int]) -> None:
    lines = [json.dumps({"page": page, "n": n}) for page, n in visits]
    whole = folder / f"{name}.tmp"
    whole.write_text("\n".join([*lines, ""]))
    whole.rename(folder / "in" / f"{name}.jsonl")


@contextmanager
def shop_in(folder: Path) -> Generator[Running]:
    """A daemon that runs the program, which has written what is in the first file."""
    lay_out(folder, follow=True)
    with running(folder) as daemon:
        daemon.submit("shop.istream")
        until(lambda: len(lines(daemon, "read", "shop", "kept")) == 2, "the visits of the first file")
        until(lambda: len(lines(daemon, "read", "shop", "latest")) == 2, "both pages")
        yield daemon


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """It, for tests that leave it what the next one reads; the last one stops the program."""
    with shop_in(tmp_path_factory.mktemp("shop")) as daemon:
        yield daemon


def lines(daemon: Running, *words: str) -> list[Any]:
    done = daemon.cli(*words, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_sinks_of_a_running_program(shop: Running) -> None:
    (found,) = lines(shop, "sinks", "shop")
    kept, latest, _ = found["sinks"]
    assert (kept["rows"], latest["rows"], latest["where"]) == (2, 2, "redis shop:latest")
    assert kept["version"] and kept["committed"]
    assert found["dead_letters"] == {"watch": 1}
    assert lines(shop, "read", "shop", "latest", "--where", "n > 1") == [{"page": "/docs", "n": 5}]
    joined = "select kept.n as share, latest.n from kept join latest using (page) order by 1"
    assert lines(shop, "sql", joined) == [{"share": 20, "n": 5}, {"share": 100, "n": 1}]


def test_dead_letters_are_seen_over_http_and_cleared(shop: Running) -> None:
    (group,) = shop.get("/programs/shop/dead").json
    assert (group["reason"], group["count"], group["input"]) == ("zero_divisor", 1, '{"page":"/docs","n":0}')
    assert group["origin"].startswith("shop.istream:10:")
    assert lines(shop, "dead", "shop") == [group]
    (letter,) = shop.get("/programs/shop/dead?each=true&reason=zero_divisor&unit=watch").json
    assert letter["time"] == group["first"] == group["last"]
    assert shop.get("/programs/shop/dead?reason=overflow").json == []
    assert shop.get("/programs/shop/dead?reason=none").status == 422
    assert shop.get("/programs/shp/dead").json["code"] == "GHCM-321"
    assert lines(shop, "dead", "shop", "--clear") == [{"cleared": 1}]
    assert (lines(shop, "dead", "shop"), shop.get("/programs/shop/dead").json) == ([], [])
    visit(shop.folder, "b", ("/none", 0))
    until(lambda: shop.get("/programs/shop/dead").json, "the next dead letter")
    assert [each["input"] for each in lines(shop, "dead", "shop")] == ['{"page":"/none","n":0}']


def test_live_tables_of_a_running_program(shop: Running) -> None:
    query = "select key, value, latest.n from watch.sums join latest on key = page where n > 0 order by key"
    asked = shop.cli("sql", query, "--csv")
    assert asked.stdout.splitlines() == ["key,value,n", "/,1,1", "/docs,5,5"]
    assert asked.stderr.startswith("watch.sums is as of 20")
    visit(shop.folder, "c", ("/new", 7), ("/docs", 2))
    until(lambda: len(lines(shop, "sql", "from watch.sums where value > 0")) == 3, "the new page")
    assert lines(shop, "sql", 'select value from "watch"."sums" where key = \'/docs\'') == [{"value": 7}]
    shop.cli("stop", "shop")
    gone = shop.cli("sql", "from watch.sums")
    assert (gone.returncode, "GHCM-744" in gone.stderr) == (1, True)


def test_keyed_rows_are_followed_as_they_change_until_the_run_is_over(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ghcm.cli", "read", "shop", "latest", "--follow", "--csv"]
    with shop_in(tmp_path) as shop:
        out = err = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=shop.folder, stdout=out, stderr=err, text=True, env=clean_environment()
        ) as following:
            assert following.stdout is not None
            first = [following.stdout.readline().strip() for _ in range(3)]
            assert (first[0], sorted(first[1:])) == ("page,n", ["/,1", "/docs,5"])
            visit(shop.folder, "b", ("/", 1), ("/docs", 7))
            assert following.stdout.readline() == "/docs,7\n"
            shop.kill()  # and its Redis, however soon
            said = following.communicate(timeout=60)
        assert said == ("", 'the run is over, and with it the private Redis that "latest" was in\n')
        assert following.returncode == 0


def test_dead_letters_outlive_their_run(tmp_path: Path) -> None:
    lay_out(tmp_path, follow=False)
    for runs in (1, 2):
        done = ghcm("run", "shop.istream", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert json.loads(done.stdout.splitlines()[-1])["dead_letters"] == {"watch": 1}
        (group,) = [json.loads(line) for line in ghcm("dead", "shop", "--json", cwd=tmp_path).stdout.splitlines()]
        assert group["count"] == runs
    assert len(ghcm("read", "shop", "kept", "--csv", cwd=tmp_path).stdout.splitlines()) == 1 + 2 * 2
    gone = ghcm("read", "shop", "latest", cwd=tmp_path)
    assert (gone.returncode, "GHCM-720" in gone.stderr) == (1, True)
    gone = ghcm("sql", "from watch.sums", cwd=tmp_path)
    assert (gone.returncode, "GHCM-747" in gone.stderr) == (1, True)
