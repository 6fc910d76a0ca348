"""Decodes bytes as a source does, in pieces, and as the reference does, for tests to compare."""

from __future__ import annotations

from threading import Event

from ghcm.functions import Failure
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.chunks import Lines
from ghcm.runtime.formats.decoder import open_decoder
from ghcm.runtime.sources.source import Source
from ghcm.spg.connectors import Format
from ghcm.spg.reference.decoding import Bad, decoded
from ghcm.types import Struct

__all__ = ["by_reference", "decode", "drain", "drain_batches"]

Letters = list[tuple[str, str]]


def decode(format_: Format, schema: Struct, pieces: list[bytes]) -> tuple[list[Row], Letters]:
    """Rows and (detail, raw text) of dead letters."""
    lines = Lines(open_decoder(format_, schema), "f", "p")
    rows: list[Row] = []
    dead: Letters = []

    def letter(reason: Failure, detail: str, text: str) -> None:
        assert reason is Failure.BAD_RECORD
        dead.append((detail, text))

    for number, piece in enumerate([*pieces, b""]):
        batch = lines.add(piece, number == len(pieces), letter)
        rows += batch.rows() if batch is not None else []
    assert lines.offset == sum(map(len, pieces))
    return rows, dead


def by_reference(format_: Format, schema: Struct, data: bytes) -> tuple[list[Row], Letters]:
    """The same of the reference."""
    found = list(decoded(data, "f", format_, schema))
    dead = [(each.detail, each.text) for each in found if isinstance(each, Bad)]
    return [each for each in found if not isinstance(each, Bad)], dead


def drain(source: Source, position: object = None) -> tuple[list[Row], Letters]:
    """What a source that ends gives behind a position: rows and (detail, raw text) of dead letters."""
    batches, dead = drain_batches(source, position)
    return [row for batch in batches for row in batch.rows()], dead


def drain_batches(source: Source, position: object = None) -> tuple[list[Batch], Letters]:
    """As `drain`, in batches, each of one partition."""
    woken = Event()
    batches: list[Batch] = []
    dead: Letters = []
    source.open(position, woken.set)
    while not source.ended:
        woken.clear()
        batch = source.poll(8192, lambda _, detail, text: dead.append((detail, text)))
        if batch is not None:
            batches.append(batch)
        elif not source.ended:
            assert woken.wait(60)
    source.close()
    return batches, dead
