"""`make demo`: the traffic monitor at work, on generated traffic with planted attacks or on a file of one's own.

python demo.py [FILE] [--keep] [--kafka]
"""

import argparse
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import demo_screen
import formats
import generate
import httpx
import polars as pl
import psutil
from deltalake import DeltaTable
from demo_folder import free_folder, lay_out, put
from demo_kafka import Topics
from demo_outside import call_from_outside, draw, page_of, rows_of, visit_page
from demo_screen import clean, heading, say, screen, several, shown
from rich.filesize import decimal
from rich.live import Live

from ghcm import driver
from ghcm.cli.private import Events, PrivateDaemon, private_daemon
from ghcm.cli.run_report import dead_letters
from ghcm.errors import GhcmError
from ghcm.runtime.daemon.protocol import Control
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.settings import load_settings

HERE = Path(__file__).resolve().parent

SEED, MINUTES, PER_SECOND = 7, 30.0, 10.0
LOOK_SECONDS, PATIENCE_SECONDS = 0.5, 900.0
EMPTY: dict[str, dict[str, type]] = {
    "throughput": {"flows": int, "bytes": int},
    "protocols": {"proto": str, "bytes": int},
    "new_hosts": {"host": str},
    "servers": {"name": str, "state": str},
    "alerts": {"severity": int, "ts": str, "origin": str, "src": str, "dst": str, "signature": str},
}
"""What is read of sinks that nothing was written to."""


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("file", type=Path, nargs="?", help="logs of Zeek, Argus or Suricata; generated traffic if none")
    read.add_argument("--keep", action="store_true", help="go on serving at the end, until Ctrl-C")
    read.add_argument(
        "--rate", type=float, default=2000, help="generated connections in a second; 0: as fast as can be"
    )
    read.add_argument(
        "--kafka", action="store_true", help="connections, calls and alarms by topics, on the Kafka of ghcm services up"
    )
    asked = read.parse_args()
    begun = time.monotonic()
    settings = load_settings({"profile": "services"} if asked.kafka else {"redis": "embedded"}).served()
    topics = Topics(settings) if asked.kafka else None
    data = asked.file.expanduser() if asked.file else None
    known = formats.recognise(data) if data else None
    folder = free_folder()
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = lay_out(folder, server.getsockname()[1], topics and topics.rewrite())
        if data is not None and known is not None:
            put(data, known, folder)
        with private_daemon(StateDirectory(folder / "state"), settings.redis, "127.0.0.1", 0) as daemon:
            compile_program(program)  # while the processes start
            url = str(daemon.status()["url"])
            with httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as http:
                made = generate.connections(SEED, MINUTES, PER_SECOND, generate.PLANTED) if data is None else []
                if topics:
                    topics.fill(generate.json_lines(made))
                job, heard = submit(daemon, folder)
                send(server, asked.rate or None, [] if topics else made)
                watch_stream(http, job, heard, f"{data}: {known.what}" if known else "")
                found = sum_up(folder)
                chains = watch_calls(http, daemon.control, heard)
                call_from_outside(http, found, chains)
                draw(http, folder, found)
                visit_page(http)
                if topics:
                    processes = psutil.Process(daemon.process.pid).children(recursive=True)
                    topics.show([*processes, psutil.Process(daemon.process.pid)], time.monotonic() - begun)
                look_next(daemon, folder, 8 if topics else 7)
                if asked.keep:
                    say(f"\nserving at {page_of(http)} until Ctrl-C")
                    daemon.process.wait()


# ------------------------------------------------------------------------------------------------- before it runs


def compile_program(program: Path) -> None:
    heading("1  one program, compiled", "examples/traffic/traffic.istream")
    begun = time.monotonic()
    compiled = driver.compile(program)
    driver.write(compiled, program.with_suffix(".ghcm"))
    table = demo_screen.plain("unit", "kind", "becomes", "operator calls")
    for unit, summary in zip(compiled.program.units, compiled.optimised.summaries, strict=True):
        engine = "Spark job" if unit.kind == "batch" else "native tasks"
        kind = f"{'responsive ' if unit.responsive else ''}{unit.kind}"
        table.add_row(unit.name, kind, engine, f"{summary.calls_before} -> {summary.calls_after}")
    screen.print(table)
    say("", f"compiled in {time.monotonic() - begun:.1f} s")


def submit(daemon: PrivateDaemon, folder: Path) -> tuple[str, Iterator[Any]]:
    """Hand the bundle to the daemon; the job, and what the daemon says from now on."""
    events = Events(daemon.control, LOOK_SECONDS)
    answer: Any = daemon.control.ask("submit", bundle=str(folder / "traffic.ghcm"), base=str(folder))
    return str(answer["job"]["id"]), iter(events)


def send(server: socket.socket, rate: float | None, made: list[generate.Conn]) -> None:
    """Play the network for the program, beside it; the socket ends with what was made."""

    def play() -> None:
        with suppress(OSError):  # the engine has gone, which the daemon tells
            generate.serve(generate.json_lines(made), server, rate)

    threading.Thread(target=play, name="network", daemon=True).start()


# ------------------------------------------------------------------------------------------------- while it runs


def watch_stream(http: httpx.Client, job: str, events: Iterator[Any], what: str) -> None:
    attacks = ", ".join(name.replace("_", " ") for name in generate.PLANTED if name != "slow_server")
    heading("2  the stream at work", what or f"half an hour of a company, with: {attacks}")
    say(f"the page for the people on watch: {page_of(http)}")
    rows = partial(rows_of, http)
    if screen.is_terminal:
        with Live(console=screen, auto_refresh=False) as live:
            for _ in until_read(events, job):
                live.update(demo_screen.live(rows), refresh=True)
        return
    said = ""
    for _ in until_read(events, job):  # a line for each newest window, as a log is read
        line = demo_screen.headline(rows("throughput", order="-start", limit=1))
        if line.plain != said:
            said = line.plain
            screen.print(line, soft_wrap=True)
    screen.print(demo_screen.live(rows))


def until_read(events: Iterator[Any], job: str) -> Iterator[bool]:
    """A look at the sinks is worth it now; the last one, with True, when all input is read and written."""
    running = False
    for event in events:
        found = event["job"] if event["event"] == "job" and event["job"]["id"] == job else None
        check(event, job)
        running = running or bool(found and found["state"] == "running")
        if found and found["inputs_done"]:
            yield True
            return
        if running and event["event"] == "tick":
            yield False


def check(event: Any, job: str) -> None:
    """GhcmError if the daemon or the job has ended."""
    if event["event"] == "gone":
        raise GhcmError("the daemon has ended", code="GHCM-728", hint="see state/logs/daemon.log in .ghcm/demo.")
    if event["event"] == "job" and event["job"]["id"] == job and event["job"]["state"] == "failed":
        raise GhcmError("the monitor has failed", code="GHCM-745", detail=str(event["job"]["reason"]))


def sum_up(folder: Path) -> pl.DataFrame:
    """What the whole came to; all alarms."""
    sums = written(folder, "throughput").select("flows", "bytes").sum().rows() or [(0, 0)]
    hosts, count = written(folder, "new_hosts").height, written(folder, "throughput").height
    screen.print(f"in all {sums[0][0]:,} connections, {decimal(sums[0][1])}, {hosts:,} hosts, {count:,} windows")
    shares = written(folder, "protocols").group_by("proto").agg(pl.col("bytes").sum()).sort("bytes", descending=True)
    if sums[0][1]:
        told = ", ".join(f"{clean(proto)} {moved / sums[0][1]:.0%}" for proto, moved in shares.head(6).rows())
        screen.print(f"of the bytes: {told}")
    found = written(folder, "alerts").sort("severity", "ts")
    table = demo_screen.plain("rule", "alarms", "such as")
    for rule, group in found.group_by("origin", maintain_order=True):
        first = group.row(0, named=True)
        table.add_row(
            str(rule[0]), f"{group.height:,}", clean(f"{first['src']} → {first['dst']}  {first['signature']}")
        )
    alarming = demo_screen.one_line_each(table)
    screen.print(alarming if found.height else "no alarm: no rule has found anything in this")
    troubled = written(folder, "servers").filter(pl.col("state") != "up")
    for (name, state), windows in troubled.group_by("name", "state", maintain_order=True):
        screen.print(f"key server {name}: {state} in {several(windows.height, 'window')}")
    return found


def written(folder: Path, sink: str) -> pl.DataFrame:
    """All rows of a sink."""
    table = str(folder / "out" / sink)
    return pl.read_delta(table) if DeltaTable.is_deltatable(table) else pl.DataFrame(schema=EMPTY[sink])


# ------------------------------------------------------------------------------------------------- calls


def watch_calls(http: httpx.Client, control: Control, events: Iterator[Any]) -> demo_screen.Rows:
    """Wait for the calls that the alarms led to; the chains that they have left, the best first."""
    heading("3  scenarios, called by policy", "alarms call a Spark job; its first call waits for Java")
    calls = answered(control, events)
    table = demo_screen.plain("call of", "alarms until", "state", "rows")
    for call in reversed([call for call in calls if call["unit"] == "rebuild"]):
        if call["state"] != "done":
            raise GhcmError(f"call {call['id']} {call['state']}", detail=str(call["feedback"]["error"]))
        sinks = call["feedback"]["sinks"]
        counted = ", ".join(several(sinks[name]["rows"], name.removesuffix("s")) for name in sorted(sinks))
        table.add_row(call["unit"], demo_screen.moment(call["parameters"]["until"]), call["state"], counted)
    if not calls:
        screen.print("nothing was alarming, so the policies have called nothing")
        return []
    screen.print(table)
    chains = rows_of(http, "chains", order="-score", limit=1000)
    for row in chains[:2]:
        screen.print(demo_screen.chain(row))
    if len(chains) > 2:
        say("", f"and {len(chains) - 2:,} more in the sink chains")
    if not chains:
        screen.print("no chain: nobody who was attacked attacks others later")
    return chains


def answered(control: Control, events: Iterator[Any]) -> list[Any]:
    """All calls by policies, once they are answered, the newest first. GhcmError if none is for so long."""
    begun = changed = time.monotonic()
    before: object = None
    with screen.status("Spark starts") as status:
        for event in events:
            listed: Any = control.ask("calls", program="traffic")
            calls: list[Any] = listed["calls"]
            check(event, "")
            if event["event"] == "job.complete":
                return calls
            over, running = [call for call in calls if call["ended"]], [c for c in calls if c["state"] == "running"]
            progress = f", {running[0]['feedback']['progress']:.0%}" if running else ""
            if (len(over), progress) != before:
                before, changed = (len(over), progress), time.monotonic()
            if time.monotonic() - changed > PATIENCE_SECONDS:
                raise GhcmError("the Spark job does not answer", hint="see state/logs/spark.log in .ghcm/demo.")
            seconds = time.monotonic() - begun
            status.update(f"{len(over)} of {len(calls)} calls answered{progress} ({seconds:.0f} s)")
    raise GhcmError("the daemon tells nothing more")


def look_next(daemon: PrivateDaemon, folder: Path, step: int) -> None:
    heading(f"{step}  where to look next", "")
    here = shown(folder)
    lines = (
        ("docs/traffic.md", "the case study: sources, statistics, rules and how well they do, how it grows"),
        ("make demo DATA=conn.log.gz", "the same on logs of your own, of Zeek, Argus or Suricata"),
        (f"{here}/out/", "what the monitor has found, as Parquet"),
        (f"{here}/traffic.ghcm", "the bundle: a zip with the generated code, which one can read"),
        (f"{here}/state/logs/", "what the processes said"),
        (f"{shown(HERE)}/traffic.py", "the same program in Python"),
        (f"ghcm explain --svg graph.svg {shown(HERE)}/traffic.istream", "the graph before and after the optimiser"),
    )
    for place, what in lines:
        say(f"{place}\n", f"    {what}")
    for unit, count in dead_letters(daemon.state.dead).items():
        screen.print(f"{count:,} records of {unit} came late or could not be read: see {here}/state/dead")


if __name__ == "__main__":
    try:
        main()
    except GhcmError as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)
