"""All benchmarks in one run: `python -m bench [--text FOLDER]`. Two cores and nothing else running, or the figures say
little.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import (
    calls,
    chains,
    charts,
    commits,
    compiling,
    doors,
    eager,
    editing,
    endurance,
    expansion,
    flat_state,
    latency,
    live,
    live_calls,
    lookups,
    nexmark,
    nexmark_joins,
    scenarios,
    sistream1,
    startup,
    state,
    techniques,
    topics,
    words,
)
from bench.table import Row, show

ALERTS = Path(__file__).parents[2] / "shared" / "data" / "ids_cptc2017_suricata"


NAMES = [
    "words",
    "live",
    "live_calls",
    "latency",
    "calls",
    "start",
    "compile",
    "editor",
    "charts",
    "scenarios",
    "topics",
    "chains",
    "techniques",
    "expansion",
    "state",
    "doors",
    "lookups",
]
BY_NAME_ALONE = ["nexmark", "nexmark_joins", "flat_state", "endurance", "sistream1", "eager", "commits"]
CONTESTANTS = {
    "words": tuple(words.WORDS),
    "nexmark": (*nexmark.QUERIES, *nexmark.KINDS),
    "scenarios": scenarios.NAMES,
    "doors": doors.FORMATS,
    "eager": eager.NAMES,
    "sistream1": sistream1.NAMES,
    "nexmark_joins": nexmark_joins.QUERIES,
}
"""Of the benchmarks that can be run for some of theirs alone."""


def main() -> None:
    """Run what was asked for and print one table."""
    options = _options()
    benchmarks: dict[str, Callable[[], list[Row]]] = {
        "words": lambda: words.measure(options.text, options.repeat, options.runs, options.of or tuple(words.WORDS)),
        "live": lambda: live.measure(options.flows, options.copies, options.runs),
        "live_calls": lambda: live_calls.measure(options.flows, options.seconds),
        "latency": lambda: latency.measure(options.seconds, options.runs, options.flink),
        "calls": lambda: calls.measure(options.seconds, 20),
        "start": lambda: startup.measure(5),
        "compile": lambda: compiling.measure(options.runs),
        "editor": lambda: editing.measure(100),
        "charts": lambda: charts.measure(50),
        "scenarios": lambda: scenarios.measure(options.alerts, options.runs, options.of or scenarios.NAMES),
        "doors": lambda: doors.measure(options.rows or 10_000_000, options.runs, options.of or doors.FORMATS),
        "lookups": lookups.measure,
        "topics": lambda: topics.measure(options.runs),
        "chains": lambda: chains.measure(options.runs),
        "techniques": lambda: techniques.measure(options.runs),
        "expansion": lambda: expansion.measure(options.runs),
        "state": state.measure,
        "eager": lambda: eager.measure(options.rows or 24_000_000, options.runs, options.of or eager.NAMES),
        "nexmark": lambda: nexmark.measure(
            options.events, options.runs, _chosen(nexmark.QUERIES, options.of), _chosen(nexmark.KINDS, options.of)
        ),
        "sistream1": lambda: sistream1.measure(options.rows or 48_000_000, options.runs, options.of or sistream1.NAMES),
        "commits": lambda: commits.measure(options.commits),
        "nexmark_joins": lambda: nexmark_joins.measure(
            options.events, options.runs, options.flink, options.of or nexmark_joins.QUERIES
        ),
        "flat_state": lambda: flat_state.measure(options.events),
        "endurance": lambda: endurance.measure(options.calls),
    }
    show(row for name in options.only or NAMES for row in benchmarks[name]())


def _chosen(names: Sequence[str], of: Sequence[str] | None) -> Sequence[str]:
    """Those of these names that were asked for, all where none was."""
    return [name for name in names if name in (of or ())] or names


def _options() -> argparse.Namespace:
    """What the command line says. SystemExit where it cannot be."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "only",
        nargs="*",
        choices=[*NAMES, *BY_NAME_ALONE, []],
        metavar="NAME",
        help=f"{', '.join(NAMES)}; all by default; {', '.join(BY_NAME_ALONE)}",
    )
    arguments.add_argument("--text", type=Path, help="a folder of .txt or .txt.gz files; generated text by default")
    arguments.add_argument("--repeat", type=int, default=20, help="how often the text is repeated")
    arguments.add_argument("--flows", type=Path, help="a folder of Zeek's conn logs; by default that of shared/data")
    arguments.add_argument("--copies", type=int, default=40, help="how often the logs are repeated, over other hosts")
    arguments.add_argument("--alerts", type=Path, default=ALERTS, help="the folder of alerts_compact.csv.gz")
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument(
        "--events", type=int, default=10_000_000, help="of NEXMark, 46 of 50 are bids; of flat_state"
    )
    arguments.add_argument("--flink", type=Path, help="where apache-flink-libraries is, for nexmark_joins and latency")
    arguments.add_argument("--seconds", type=float, default=20, help="of load at each rate of calls")
    arguments.add_argument(
        "--rows",
        type=int,
        help="of each format for doors (10 million), of sistream1 (48 million), of eager (24 million)",
    )
    arguments.add_argument(
        "--of",
        type=lambda names: names.split(","),
        metavar="NAME,NAME",
        help="the contestants of scenarios, sistream1 and eager, formats of doors and nexmark (json, parquet), queries "
        "of nexmark and nexmark_joins, or kinds of words (regex, split), by their names in bench/; all by default",
    )
    arguments.add_argument("--commits", type=int, default=3600, help="how many there are, one a second")
    arguments.add_argument("--calls", type=int, default=100_000, help="how many there are for endurance")
    options = arguments.parse_args()
    for name in (options.only or NAMES) if options.of else ():
        there = CONTESTANTS.get(name, ())
        if missing := [each for each in options.of if each not in there]:
            arguments.error(f"--of: {name} has no {', '.join(missing)}; it has {', '.join(there) or 'none to choose'}")
    return options


if __name__ == "__main__":
    main()
