"""The language server over its real protocol: a process of its own, spoken to as an editor does."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

pytestmark = pytest.mark.system

URI = "file:///work/visits.istream"
PROGRAM = """program visits

# 😀 characters of two UTF-16 units stand before the places that are asked for
record Visit { at: timestamp, page: string, bytes: int? }

sink lake = parquet("out/lake", mode = append)

stream watch {
  visits = files("visits.jsonl", format = json).as(Visit).event_time(v => v.at, disorder = 5s)
  totals = visits.map_to_pair(v => ("😀" + v.page, 1)).reduce_by_key((a, b) => a + b)
  visits.filter(v => v.bytes is not null).to(lake)
}

responsive stream most(n: int = 3) {
  watch.totals.read().top(n, by = p => p.value).reply()
}
"""


class Editor:
    """A client with one open document."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.version = 0
        self.text = ""
        self.published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

        def publish(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

        client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(publish)

    def open(self, text: str) -> None:
        self.text = text
        item = lsp.TextDocumentItem(URI, "istream", self.version, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def insert(self, before: str, typed: str) -> lsp.Position:
        """Type something in front of a text, and where the cursor is then."""
        start = self.text.index(before)
        self.text = self.text[:start] + typed + self.text[start:]
        self.version += 1
        place = self.position(start)
        change = lsp.TextDocumentContentChangePartial(lsp.Range(place, place), typed)
        identifier = lsp.VersionedTextDocumentIdentifier(self.version, URI)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))
        return self.position(start + len(typed))

    def at(self, text: str, inside: str) -> lsp.Position:
        """Where `inside` stands in the first `text` of the document."""
        return self.position(self.text.index(text) + text.index(inside))

    def position(self, offset: int) -> lsp.Position:
        line = self.text.count("\n", 0, offset)
        before = self.text[self.text.rfind("\n", 0, offset) + 1 : offset]
        return lsp.Position(line, len(before.encode("utf-16-le")) // 2)

    async def mistakes(self) -> list[lsp.Diagnostic]:
        """What is published about the text as it is now."""
        while True:
            found = await self.published.get()
            if found.version == self.version:
                return list(found.diagnostics)

    async def hover(self, place: lsp.Position) -> str:
        found = await self.client.text_document_hover_async(lsp.HoverParams(lsp.TextDocumentIdentifier(URI), place))
        assert found is not None
        assert isinstance(found.contents, lsp.MarkupContent)
        return found.contents.value

    async def complete(self, place: lsp.Position) -> list[str]:
        asked = lsp.CompletionParams(lsp.TextDocumentIdentifier(URI), place)
        found = await self.client.text_document_completion_async(asked)
        assert isinstance(found, lsp.CompletionList)
        return [each.label for each in found.items]

    async def definition(self, place: lsp.Position) -> str:
        """The text that the place is defined as."""
        asked = lsp.DefinitionParams(lsp.TextDocumentIdentifier(URI), place)
        found = await self.client.text_document_definition_async(asked)
        assert isinstance(found, lsp.Location)
        lines = self.text.split("\n")
        start, end = found.range.start, found.range.end
        line = lines[start.line].encode("utf-16-le")
        return f"{start.line}:{line[start.character * 2 : end.character * 2].decode('utf-16-le')}"


@asynccontextmanager
async def editor() -> AsyncIterator[Editor]:
    client = LanguageClient("test", "1")
    opened = Editor(client)
    await client.start_io(sys.executable, "-m", "ghcm.cli", "language-server")
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    try:
        yield opened
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await cast(Any, client).stop()


def run(script: Callable[[Editor], Awaitable[None]]) -> None:
    async def session() -> None:
        async with editor() as opened:
            await script(opened)

    asyncio.run(asyncio.wait_for(session(), 120))


def test_mistakes_are_published_where_they_are_and_withdrawn() -> None:
    async def script(opened: Editor) -> None:
        opened.open(PROGRAM)
        assert await opened.mistakes() == []
        opened.insert(".page, 1", ".home")
        (mistake,) = await opened.mistakes()
        assert mistake.code == "GHCM-207"
        assert 'no field "home"' in mistake.message
        assert mistake.range.start == opened.at('"😀" + v.home', "home")

    run(script)


def test_many_mistakes_are_published_and_withdrawn_with_the_document() -> None:
    async def script(opened: Editor) -> None:
        opened.open(PROGRAM + "".join(f"sink s{n} = parquet(nowhere{n})\n" for n in range(300)))
        assert len(await opened.mistakes()) == 300
        opened.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(URI)))
        assert list((await opened.published.get()).diagnostics) == []
        opened.open(PROGRAM)
        assert await opened.mistakes() == []

    run(script)


def test_types_and_meanings_are_shown() -> None:
    async def script(opened: Editor) -> None:
        opened.open(PROGRAM)
        assert "bytes: int?" in await opened.hover(opened.at("v.bytes is", "bytes"))
        assert "totals: Table<string, int>" in await opened.hover(opened.at("totals =", "totals"))
        assert "keeps the records" in await opened.hover(opened.at("visits.filter", "filter"))
        assert "page: string" in await opened.hover(opened.at("as(Visit)", "Visit"))

    run(script)


def test_columns_operators_and_arguments_are_proposed_while_typing() -> None:
    async def script(opened: Editor) -> None:
        opened.open(PROGRAM)
        columns = await opened.complete(opened.insert(" is not null).to", " > 0 and v."))
        assert columns[:3] == ["at", "page", "bytes"]
        opened.insert(" is not null).to", "page.length() > 3 and v.bytes")
        place = opened.insert("}\n\nresponsive", "  visits.")
        operators = await opened.complete(place)
        assert "filter" in operators
        assert "changes" not in operators
        assert "reply" in operators
        opened.insert("\n\nresponsive", "\n\nstream more {\n  ")
        assert await opened.complete(opened.insert("\n\nresponsive", "memory([Visit { ")) == [
            "at: ",
            "page: ",
            "bytes: ",
        ]

    run(script)


def test_names_lead_to_their_declarations() -> None:
    async def script(opened: Editor) -> None:
        opened.open(PROGRAM)
        assert await opened.definition(opened.at("v.bytes is", "bytes")) == "3:bytes"
        assert await opened.definition(opened.at("watch.totals", "totals")) == "9:totals"
        assert await opened.definition(opened.at("to(lake)", "lake")) == "5:lake"
        assert await opened.definition(opened.at("visits.map_to_pair", "visits")) == "8:visits"
        assert await opened.definition(opened.at("top(n", "n,"[0])) is not None

    run(script)
