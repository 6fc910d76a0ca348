"""The language server: what editors ask, answered over the Language Server Protocol.

Requests are answered from the text as it is at that moment. The whole program is checked beside them, in another
process, after each change and a moment of quiet, and what is wrong is published.
"""

import asyncio
import gc
import logging
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.workspace import ServerTextPosition, TextDocument

from ghcm.editor.checking import Checker, Mistake
from ghcm.editor.completion import Proposal, complete
from ghcm.editor.document import Document
from ghcm.editor.hover import definition, found_at, hover
from ghcm.version import __version__

QUIET = 0.01
"""Seconds without a change before the program is checked."""

log = logging.getLogger(__name__)


class Session:
    """The documents that an editor has open, and the check of each that is under way."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.checker = Checker()
        self.open: dict[str, Document] = {}
        self.changed: set[str] = set()
        self.checks: dict[str, asyncio.Task[None]] = {}

    def document(self, uri: str) -> tuple[Document, TextDocument]:
        """The program behind a URI as it is now, and its text with the client's positions."""
        text = self.server.workspace.get_text_document(uri)
        document = self.open.get(uri)
        if document is None:
            document = self.open[uri] = Document(unquote(urlparse(uri).path))
            document.change(text.source)
            # The trees stay until they change: a search for garbage that walks through them would hold up an answer.
            gc.collect()
            gc.freeze()
        elif document.text != text.source:
            document.change(text.source)
        return document, text

    def check_soon(self, uri: str) -> None:
        """Check the program when nothing has changed for a moment."""
        self.changed.add(uri)
        if uri not in self.checks:
            self.checks[uri] = asyncio.get_running_loop().create_task(self._check(uri))

    def close(self, uri: str) -> None:
        """Forget a document; an editor shows no mistakes of a file that is not open."""
        self.open.pop(uri, None)
        self.changed.discard(uri)
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    async def _check(self, uri: str) -> None:
        """Check until what has been published is about the text as it is."""
        try:
            while uri in self.changed:
                self.changed.discard(uri)
                await asyncio.sleep(QUIET)
                if uri not in self.changed and uri in self.server.workspace.text_documents:
                    await self._check_now(uri)
        except ConnectionError as error:
            log.error("%s: %s", uri, error)
        finally:
            del self.checks[uri]

    async def _check_now(self, uri: str) -> None:
        text = self.server.workspace.get_text_document(uri)
        checked, version = text.source, text.version
        check = asyncio.create_task(self.checker.check(uri, checked))
        await asyncio.sleep(0)
        # While the checker works: what is asked next finds the text parsed.
        self.document(uri)
        found = await check
        if text.source == checked and uri in self.open:
            range_of = _ranges(text)
            published = [_published(each, range_of(each.start, each.end)) for each in found]
            self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, published, version))


def serve() -> LanguageServer:
    """A server that answers; `start_io` runs it."""
    server = LanguageServer("ghcm", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
    session = Session(server)

    @server.feature(lsp.INITIALIZED)
    async def initialized(_: lsp.InitializedParams) -> None:
        await session.checker.start()

    @server.feature(lsp.SHUTDOWN)
    async def shut_down(_: None) -> None:
        await session.checker.close()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(given: lsp.DidOpenTextDocumentParams) -> None:
        session.check_soon(given.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(given: lsp.DidChangeTextDocumentParams) -> None:
        session.check_soon(given.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(given: lsp.DidCloseTextDocumentParams) -> None:
        session.close(given.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(given: lsp.HoverParams) -> lsp.Hover | None:
        document, text = session.document(given.text_document.uri)
        words = hover(document, text.offset_at_position(given.position))
        return None if words is None else lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, words))

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["."]))
    def completed(given: lsp.CompletionParams) -> lsp.CompletionList:
        document, text = session.document(given.text_document.uri)
        found = complete(document, text.offset_at_position(given.position))
        return lsp.CompletionList(False, [_item(number, each) for number, each in enumerate(found)])

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(given: lsp.DefinitionParams) -> lsp.Location | None:
        document, text = session.document(given.text_document.uri)
        return _definition(document, text, given)

    return server


def _definition(document: Document, text: TextDocument, given: lsp.DefinitionParams) -> lsp.Location | None:
    found = found_at(document, text.offset_at_position(given.position))
    span = None if found is None else definition(found[0], document.program, found[1])
    where = None if span is None else document.range_of(span)
    return None if where is None else lsp.Location(text.uri, _ranges(text)(*where))


def _published(mistake: Mistake, where: lsp.Range) -> lsp.Diagnostic:
    return lsp.Diagnostic(where, mistake.words, lsp.DiagnosticSeverity.Error, mistake.code, source="ghcm")


def _ranges(text: TextDocument) -> Callable[[int, int], lsp.Range]:
    """The ranges in the client's units between offsets of a text."""
    lines = text.lines or ("",)
    starts = [0, *accumulate(len(each) for each in lines[:-1])]

    def position(offset: int) -> lsp.Position:
        line = bisect_right(starts, offset) - 1
        return text.position_codec.position_to_client_units(lines, ServerTextPosition(line, offset - starts[line]))

    return lambda start, end: lsp.Range(position(start), position(end))


def _item(number: int, proposal: Proposal) -> lsp.CompletionItem:
    words = lsp.MarkupContent(lsp.MarkupKind.Markdown, proposal.words) if proposal.words else None
    return lsp.CompletionItem(
        proposal.text,
        kind=lsp.CompletionItemKind[proposal.kind.value],
        detail=proposal.detail,
        documentation=words,
        sort_text=f"{number:04}",
    )
