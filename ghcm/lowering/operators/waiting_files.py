"""Files that are waited for: which of their options go together, and what the clock of such files is."""

from __future__ import annotations

from ghcm.codes import Code
from ghcm.lowering.drafting import Step
from ghcm.spg.ops import Format

COMPRESSED = (".gz", ".zst", ".zstd")
"""Endings of the names of packed files."""


def waited(step: Step, path: str, format_: Format, compression: str) -> tuple[bool, bool]:
    """Whether files are followed, and whether they are tailed too; what cannot be is reported."""
    tail = step.given.flag("tail", False)
    follow = step.given.flag("follow", tail)
    if tail and not follow:
        step.report(
            Code.BAD_FORMAT,
            "files that are tailed are followed too",
            step.given.span("follow"),
            detail="A log that is renamed has a new file in its place, which is read as well.",
            hint="tail = true alone says both.",
        )
    if tail:
        _check_growing(step, path, format_, compression)
    return follow or tail, tail


def clock_of(step: Step, *, follow: bool, tail: bool) -> str:
    """Whether event time "restarts" in each file or "continues"; it continues where files are waited for."""
    clock = step.given.choice("clock", ("restarts", "continues"), "continues" if follow else "restarts")
    if follow and clock == "restarts":
        step.report(
            Code.BAD_FORMAT,
            f"files that are {'tailed' if tail else 'followed'} have one clock, which continues",
            step.given.span("clock"),
            detail="How many files will come is not known, and each of them would hold event time back.",
            hint="Sources with clocks of their own can be joined by union.",
        )
    return clock


def _check_growing(step: Step, path: str, format_: Format, compression: str) -> None:
    """Report files that can only be read when they are whole."""
    whole = "follow = true reads each file once, when it is whole."
    if format_.name in ("parquet", "arrow"):
        message, detail = f"files of {format_.name} cannot be tailed", "They can be read only when they are whole."
        step.report(Code.BAD_FORMAT, message, step.given.span("tail"), detail=detail, hint=whole)
    elif compression in ("gzip", "zstd") or (compression == "ending" and path.endswith(COMPRESSED)):
        said = step.given.span("compression") if compression != "ending" else step.given.span("path")
        message, detail = "packed files cannot be tailed", "Where a line ends is known only when they are unpacked."
        step.report(Code.BAD_FORMAT, message, said, detail=detail, hint=whole)
