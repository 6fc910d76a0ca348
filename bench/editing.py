"""How long an editor waits for the language server on a program of 1,000 lines, while somebody types in it."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from bench.compiling import written
from bench.table import Row

__all__ = ["measure"]

URI = "file:///large.istream"


def measure(changes: int) -> list[Row]:
    """After each of so many changes: completion, hover, definition and, at last, the mistakes of the whole program."""
    waits = asyncio.run(_session(changes))
    return [_row(name, seconds) for name, seconds in waits.items()]


def _row(name: str, seconds: list[float]) -> Row:
    figure = f"median {statistics.median(seconds) * 1e3:.0f} ms, worst {max(seconds) * 1e3:.0f} ms"
    return Row("editor", name, figure, "aim: 100 ms", f"{len(seconds)} changes, 1,000 lines")


async def _session(changes: int) -> dict[str, list[float]]:
    client = LanguageClient("bench", "1")
    published: asyncio.Queue[int | None] = asyncio.Queue()

    def publish(params: lsp.PublishDiagnosticsParams) -> None:
        published.put_nowait(params.version)

    client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(publish)

    await client.start_io(  # pyright: ignore[reportUnknownMemberType]
        sys.executable, "-m", "ghcm.cli", "language-server"
    )
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    lines = written(1000).split("\n")
    item = lsp.TextDocumentItem(URI, "istream", 0, "\n".join(lines))
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    await published.get()
    waits: dict[str, list[float]] = {}
    places = [number for number, line in enumerate(lines) if "rows.filter(e => e.name" in line]
    record = next(number for number, line in enumerate(lines) if line.startswith("record Event"))
    for version in range(1, changes + 1):
        place = places[version % len(places)]
        in_filter = (place, lines[place].index("e.name"), "e.size > 1 and ")
        # Now and then a change that reaches every unit: the record that all of them read gets a field.
        in_record = (record, lines[record].index("at:"), f"extra{version}: int, ")
        await _change(client, lines, in_record if version % 10 == 0 else in_filter, place, version, waits, published)
    await client.shutdown_async(None)
    client.exit(None)
    await cast(Any, client).stop()
    return waits


async def _change(
    client: LanguageClient,
    lines: list[str],
    typed: tuple[int, int, str],
    asked_in: int,
    version: int,
    waits: dict[str, list[float]],
    published: asyncio.Queue[int | None],
) -> None:
    line, column, text = typed
    lines[line] = lines[line][:column] + text + lines[line][column:]
    start = lsp.Position(line, column)
    change = lsp.TextDocumentContentChangePartial(lsp.Range(start, start), text)
    identifier = lsp.VersionedTextDocumentIdentifier(version, URI)
    changed = time.perf_counter()
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))
    document = lsp.TextDocumentIdentifier(URI)
    cursor = lsp.Position(asked_in, lines[asked_in].index("e => e.") + len("e => e."))
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        "completion": lambda: client.text_document_completion_async(lsp.CompletionParams(document, cursor)),
        "hover": lambda: client.text_document_hover_async(lsp.HoverParams(document, cursor)),
        "definition": lambda: client.text_document_definition_async(lsp.DefinitionParams(document, cursor)),
    }
    for name, ask in asked.items():
        before = time.perf_counter()
        if await ask() is None:
            raise SystemExit(f"no answer to {name}")
        waits.setdefault(name, []).append(time.perf_counter() - before)
    while await published.get() != version:
        pass
    waits.setdefault("mistakes of the whole program, after the last key", []).append(time.perf_counter() - changed)
