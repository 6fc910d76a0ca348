"""The queries of NEXMark that join, aggregate by key and keep what is newest, as stream units: the rows of DuckDB.

`python -m tests.conformance.test_nexmark EVENTS` compares all of them on so many events. Those that are measured have
their programs in `bench/programs/nexmark`.
"""

import sys
import tempfile
from pathlib import Path

import pytest

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.optimizer import optimise
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from tests.conformance.live_runs import Compiled
from tests.conformance.nexmark_events import ANSWERS, answer, write
from tests.redis_server import connected

PROGRAMS = Path(__file__).parent / "nexmark"
EVENTS = 4_000


def differences(query: str, events: Path, place: Path) -> list[str]:
    """What the stream unit of a query gives and DuckDB does not, and the other way round."""
    text = (PROGRAMS / f"{query}.istream").read_text(encoding="utf-8")
    program = lower(parse(Source(f"{query}.istream", text.replace('files("', f'files("{events}/'))))
    connections = connected(place)
    Engine(Compiled(optimise(program).program), connections=connections, state=place / "state").run()
    found = sorted(map(_alike, read(program.sink("result"), connections)))
    connections.close()
    wanted = sorted(map(_alike, answer(query, events)))
    assert wanted, "a query that gives nothing shows nothing"
    pairs = zip(found, wanted, strict=False)
    several = f"{len(found)} rows and not {len(wanted)}"
    return [several] * (len(found) != len(wanted)) + [f"{one}, not {other}" for one, other in pairs if one != other][:3]


def _alike(row: tuple[object, ...]) -> str:
    return repr(tuple(f"{value:.9e}" if isinstance(value, float) else value for value in row))


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nexmark")
    write(folder, EVENTS)
    return folder


@pytest.mark.parametrize("query", ANSWERS)
def test_a_query_of_nexmark_gives_what_duckdb_gives(query: str, events: Path, tmp_path: Path) -> None:
    assert differences(query, events, tmp_path) == []


def _main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write(place, count)
        for query in ANSWERS:
            (place / query).mkdir()
            print(query, differences(query, place, place / query) or "the same", flush=True)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
