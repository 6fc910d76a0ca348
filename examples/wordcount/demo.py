"""`make demo`: compiles the word count, runs it with everything embedded, calls its units, says where to look next."""

import argparse
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from ghcm import driver
from ghcm.cli.events import Events
from ghcm.cli.private import PrivateDaemon, private_daemon
from ghcm.cli.results import Sinks, dead_letters
from ghcm.driver import Compiled
from ghcm.errors import GhcmError
from ghcm.runtime.daemon.protocol import Control
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.sink import read

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import client  # noqa: E402  the program outside, used here as it is

screen = Console(highlight=False)
PATIENCE_SECONDS = 180


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--keep", action="store_true", help="go on serving at the end, until Ctrl-C")
    keep = arguments.parse_args().keep
    folder = Path.cwd() / ".ghcm" / "demo"
    prepare(folder)
    state = StateDirectory(folder / "state")
    with private_daemon(state, "embedded", "127.0.0.1", 0) as daemon:  # starts while the program is compiled
        compiled = compile_program(folder)
        job, events = submit(daemon, folder)
        heard = iter(events)
        watch_stream(compiled, daemon, folder, job, heard)
        watch_calls(daemon.control, compiled.program.name, heard)
        call_from_outside(str(daemon.status()["url"]))
        look_next(daemon, folder)
        if keep:
            screen.print(f"\nserving at [bold]{daemon.status()['url']}/docs[/] until Ctrl-C")
            daemon.process.wait()


def prepare(folder: Path) -> None:
    """A folder for this run alone: the books and the list beside the results."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "books", folder / "books")
    shutil.copy(HERE / "stop_words.csv", folder)


def compile_program(folder: Path) -> Compiled:
    heading("1  one program, compiled", "examples/wordcount/wordcount.istream")
    begun = time.monotonic()
    compiled = driver.compile(HERE / "wordcount.istream")
    driver.write(compiled, folder / "wordcount.ghcm")
    table = Table("unit", "kind", "becomes", "operator calls", box=None, pad_edge=False, header_style="dim")
    for unit, summary in zip(compiled.program.units, compiled.optimised.summaries, strict=True):
        engine = "Spark job" if unit.kind == "batch" else "native tasks"
        kind = f"{'responsive ' if unit.responsive else ''}{unit.kind}"
        table.add_row(unit.name, kind, engine, f"{summary.calls_before} -> {summary.calls_after}")
    screen.print(table)
    screen.print(f"[dim]compiled in {time.monotonic() - begun:.1f} s[/]")
    return compiled


def submit(daemon: PrivateDaemon, folder: Path) -> tuple[str, Events]:
    """Hand the bundle to the daemon; the job, and what the daemon says from now on."""
    daemon.status()
    events = Events(daemon.control, 0.1)
    answer: Any = daemon.control.ask("submit", bundle=str(folder / "wordcount.ghcm"), base=str(folder))
    return str(answer["job"]["id"]), events


def watch_stream(compiled: Compiled, daemon: PrivateDaemon, folder: Path, job: str, events: Iterator[Any]) -> None:
    heading("2  the stream at work", "words per minute of text, and a table of all counts")
    connections = Connections(folder, str(daemon.status()["redis"]))
    sinks, totals = Sinks(compiled.program, connections), compiled.program.sink("totals")
    rows: dict[str, int] = {}
    with Live(console=screen, auto_refresh=False) as live:
        for read_all in until_read(events, job):
            for news in sinks.look():
                rows[news.sink] = rows.get(news.sink, 0) + (news.rows or 0)
            pairs: list[Any] = list(read(totals, connections))
            if pairs or read_all:
                top = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:6]
                live.update(counts(top, rows), refresh=True)
    connections.close()


def until_read(events: Iterator[Any], job: str) -> Iterator[bool]:
    """A look at the sinks is worth it now; the last one, with True, when all books are read and written."""
    for event in events:
        if event["event"] == "gone":
            raise GhcmError("the daemon has ended", hint="see .ghcm/demo/state/logs/daemon.log.")
        found = event["job"] if event["event"] == "job" and event["job"]["id"] == job else None
        if found and found["state"] == "failed":
            raise GhcmError(f'job "{job}" has failed', detail=str(found["reason"]))
        yield bool(found and found["inputs_done"])
        if found and found["inputs_done"]:
            return


def counts(top: list[Any], rows: dict[str, int]) -> Table:
    table = Table("word", "count", "", box=None, pad_edge=False, header_style="dim")
    most = top[0][1] if top else 1
    for word, count in top:
        table.add_row(word, str(count), "[cyan]" + "▇" * max(1, count * 40 // most))
    table.caption = f"{rows.get('words', 0):,} words in the lake, {rows.get('per_window', 0):,} results of windows"
    table.caption_justify = "left"
    return table


def watch_calls(control: Control, program: str, events: Iterator[Any]) -> None:
    heading("3  calls by policy", "every 10,000 words the stream calls the Spark job; its first call waits for Java")
    begun = time.monotonic()
    with screen.status("Spark starts") as status:
        for _ in events:
            calls: Any = control.ask("calls", program=program)["calls"]
            over = [call for call in calls if call["ended"]]
            if calls and len(over) == len(calls):
                break
            if time.monotonic() - begun > PATIENCE_SECONDS:
                raise GhcmError("the Spark job did not answer in time", hint="see the log spark.log in the state.")
            running = next((call for call in calls if call["state"] == "running"), None)
            progress = f", {running['feedback']['progress']:.0%}" if running else ""
            status.update(f"{len(over)} of {len(calls)} calls answered{progress} ({time.monotonic() - begun:.0f} s)")
    table = Table("call", "until line", "state", "rows", box=None, pad_edge=False, header_style="dim")
    for call in reversed(calls):
        if call["state"] != "done":
            raise GhcmError(f"call {call['id']} {call['state']}", detail=str(call["feedback"]["error"]))
        rows = sum(sink["rows"] for sink in call["feedback"]["sinks"].values())
        table.add_row(call["id"].rsplit(".", 2)[-1], str(call["parameters"]["until"]), call["state"], str(rows))
    screen.print(table)


def call_from_outside(url: str) -> None:
    heading("4  two calls over HTTP", "what examples/wordcount/client.py does, in 20 lines")
    units = f"{url}/programs/wordcount/units"
    begun = time.monotonic()
    answer = client.ask(f"{units}/how_often/calls?wait=10", {"word": "lantern"})
    screen.print(f"POST …/how_often/calls        {answer['data']}  [dim]{1000 * (time.monotonic() - begun):.0f} ms[/]")
    begun = time.monotonic()
    answer = client.ask(f"{units}/favourite_words/calls?wait=60", {"until": 300})
    rows = client.ask(url + answer["links"]["data"])["rows"]
    took = 1000 * (time.monotonic() - begun)
    screen.print(f"POST …/favourite_words/calls  {answer['state']}  [dim]{took:.0f} ms, on the warm Spark[/]")
    for row in rows:
        screen.print(f"    {row['book']:22} {row['word']:4} {row['kind']:12} {row['count']:>4} times")


def look_next(daemon: PrivateDaemon, folder: Path) -> None:
    heading("5  where to look next", "")
    here = folder.relative_to(Path.cwd())
    example = HERE.relative_to(Path.cwd()) if HERE.is_relative_to(Path.cwd()) else HERE
    lines = (
        (f"{here}/out/", "the results: windows as JSON lines, words and favourites as Parquet"),
        (f"{here}/wordcount.ghcm", "the bundle: a zip with the generated code, which one can read"),
        (f"{here}/state/logs/", "what the processes said"),
        (f"{example}/wordcount.py", "the same program in Python"),
        ("ghcm explain --svg graph.svg …", "the graph before and after the optimiser"),
        (f"ghcm run --keep -C {example} {example}/wordcount.istream", "leaves it serving; OpenAPI under /docs"),
    )
    for place, what in lines:
        screen.print(f"{place}\n    [dim]{what}[/]", soft_wrap=True)
    for unit, count in dead_letters(daemon.state.dead).items():
        screen.print(f"{count} records of {unit} failed: see {here}/state/dead")


def heading(title: str, more: str) -> None:
    screen.print(f"\n[bold]{title}[/]  [dim]{more}[/]")


if __name__ == "__main__":
    try:
        main()
    except GhcmError as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)
