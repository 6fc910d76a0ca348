"""Bundles where only the runtime is installed: streams run and units are called, stream and batch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ghcm import driver as compiler
from tests.system.elsewhere import COMPILER, Elsewhere, add_ghcm, make_elsewhere
from tests.system.running import Running, running, until

pytestmark = [pytest.mark.slow, pytest.mark.system]

PROGRAM = """program visits

record Visit { page: string, seconds: int }

sink lake = parquet("out/lake", mode = append)

stream watch {
  visits = files("visits.jsonl", format = json).as(Visit)
  totals = visits.map_to_pair(v => (v.page, v.seconds)).reduce_by_key((a, b) => a + b)
  visits.to(lake)
}

responsive stream most_visited(n: int = 1) {
  watch.totals.read().top(n, by = p => p.value).reply()
}

responsive batch longer(than: int) {
  lake.read().filter(v => v.seconds > than).count().reply()
}
"""
VISITS = [("/", 3), ("/docs", 20), ("/", 4), ("/prices", 1)]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    made = make_elsewhere(tmp_path_factory.mktemp("elsewhere"))
    add_ghcm(made, without=COMPILER)
    return made


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A built bundle without the program that it was built from, and what it reads."""
    program = tmp_path / "visits.istream"
    program.write_text(PROGRAM)
    lines = [json.dumps({"page": page, "seconds": seconds}) for page, seconds in VISITS]
    (tmp_path / "visits.jsonl").write_text("\n".join(lines) + "\n")
    built = compiler.build(program)
    program.unlink()
    return built


@pytest.fixture
def daemon(elsewhere: Elsewhere, tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, str(elsewhere.python), **elsewhere.environment) as made:
        yield made


@pytest.mark.parametrize("part", COMPILER)
def test_the_compiler_is_not_there(part: str, elsewhere: Elsewhere) -> None:
    assert elsewhere.cannot_import(f"ghcm.{part}")
    assert not elsewhere.cannot_import("ghcm.runtime")


def test_streams_run_and_units_are_called(bundle: Path, daemon: Running) -> None:
    job = daemon.submit(bundle)
    until(lambda: daemon.job(job)["inputs_done"], "the inputs to be read")
    pages = daemon.cli("call", "visits.most_visited", "n=2", "--wait", "--json")
    assert json.loads(pages.stdout)["data"] == [{"key": "/docs", "value": 20}, {"key": "/", "value": 7}], pages.stderr
    for engine in ("native", "spark"):
        counted = daemon.cli("call", "visits.longer", "than=3", "--wait", "--json", "--engine", engine)
        answer = json.loads(counted.stdout)
        assert (answer["data"], answer["engine"]) == ([{"value": 2}], engine), counted.stderr
    refused = daemon.cli("call", "visits.most_visited", "--engine", "spark")
    assert refused.returncode == 2 and 'unit "most_visited" does not run on spark' in refused.stderr
