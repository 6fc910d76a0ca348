"""Where a graph begins: sources, and what is read of sinks and tables."""

from __future__ import annotations

from dataclasses import dataclass

from ghcm.expr import Expr
from ghcm.spg.connectors import Connector


@dataclass(frozen=True, slots=True)
class Source:
    """Records from outside, decoded to the task's element. A record that cannot be decoded is a dead letter
    (`bad_record`) that holds the raw text."""

    connector: Connector


@dataclass(frozen=True, slots=True)
class ReadSink:
    """The records of a sink: its latest complete version, or the one that the instruction names; bounded."""

    sink: str


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A consistent copy of a named table of a stream unit: its pairs; bounded. `key`, if given, is an expression
    without record: only that key."""

    unit: str
    task: str
    key: Expr | None
