"""The language server: what editors ask, answered over the Language Server Protocol.

Requests are answered from the text as it is at that moment. The whole program is checked beside them, after each change
and a moment of quiet, and what is wrong is published.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import assert_never
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from ghcm.editor.completion import Kind, Proposal, complete
from ghcm.editor.document import Document
from ghcm.editor.hover import hover
from ghcm.editor.names import definition, path_to
from ghcm.errors import Diagnostic, ProgramError
from ghcm.language import ast
from ghcm.lowering import lower
from ghcm.version import __version__

__all__ = ["Session", "serve"]

QUIET = 0.02
"""Seconds without a change before the program is checked."""


class Session:
    """The documents that an editor has open, and the check of each that is under way."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.open: dict[str, Document] = {}
        self.checks: dict[str, asyncio.Task[None]] = {}

    def document(self, uri: str) -> tuple[Document, TextDocument]:
        """The program behind a URI as it is now, and its text with the client's positions."""
        text = self.server.workspace.get_text_document(uri)
        document = self.open.setdefault(uri, Document(Path(unquote(urlparse(uri).path)).name))
        if document.text != text.source:
            document.change(text.source)
        return document, text

    def check_soon(self, uri: str) -> None:
        """Check the program when nothing has changed for a moment; a check under way is of an older text."""
        if (earlier := self.checks.get(uri)) is not None:
            earlier.cancel()
        self.checks[uri] = asyncio.get_running_loop().create_task(self._check(uri))

    async def _check(self, uri: str) -> None:
        await asyncio.sleep(QUIET)
        document, text = self.document(uri)
        program, form, checked = document.program, list(document.mistakes()), document.text
        meaning = () if form else await asyncio.to_thread(_meaning, program)
        if document.text == checked:
            found = [_published(document, text, each) for each in (*form, *meaning)]
            self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, text.version))


def serve() -> LanguageServer:
    """A server that answers; `start_io` runs it."""
    server = LanguageServer("ghcm", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
    session = Session(server)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(given: lsp.DidOpenTextDocumentParams) -> None:
        session.check_soon(given.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(given: lsp.DidChangeTextDocumentParams) -> None:
        session.check_soon(given.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(given: lsp.DidCloseTextDocumentParams) -> None:
        session.open.pop(given.text_document.uri, None)
        if (check := session.checks.pop(given.text_document.uri, None)) is not None:
            check.cancel()

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
    place = document.place(text.offset_at_position(given.position))
    if place is None:
        return None
    for declaration in place.piece.declarations:
        path = path_to(declaration, place.offset)
        if len(path) > 1:
            span = definition(path, document.program, document.notes_of(place.piece.declarations))
            where = None if span is None else document.range_of(span)
            return None if where is None else lsp.Location(text.uri, _range(text, *where))
    return None


def _meaning(program: ast.Program) -> tuple[Diagnostic, ...]:
    """What is wrong with a program whose form is right."""
    try:
        lower(program)
    except ProgramError as error:
        return error.diagnostics
    return ()


def _published(document: Document, text: TextDocument, mistake: Diagnostic) -> lsp.Diagnostic:
    where = None if mistake.span is None else document.range_of(mistake.span)
    words = [mistake.message, *(each for each in (mistake.detail, mistake.hint and f"hint: {mistake.hint}") if each)]
    place = _range(text, *(where or (0, 0)))
    return lsp.Diagnostic(place, "\n".join(words), lsp.DiagnosticSeverity.Error, mistake.code, source="ghcm")


def _range(text: TextDocument, start: int, end: int) -> lsp.Range:
    return lsp.Range(text.client_position_at_offset(start), text.client_position_at_offset(end))


def _item(number: int, proposal: Proposal) -> lsp.CompletionItem:
    words = lsp.MarkupContent(lsp.MarkupKind.Markdown, proposal.words) if proposal.words else None
    return lsp.CompletionItem(
        proposal.text, kind=_kind(proposal.kind), detail=proposal.detail, documentation=words, sort_text=f"{number:04}"
    )


def _kind(kind: Kind) -> lsp.CompletionItemKind:
    match kind:
        case Kind.COLUMN:
            return lsp.CompletionItemKind.Field
        case Kind.OPERATOR:
            return lsp.CompletionItemKind.Method
        case Kind.FUNCTION:
            return lsp.CompletionItemKind.Function
        case Kind.NAME:
            return lsp.CompletionItemKind.Variable
        case Kind.RECORD:
            return lsp.CompletionItemKind.Struct
        case Kind.ARGUMENT:
            return lsp.CompletionItemKind.Property
        case Kind.WORD:
            return lsp.CompletionItemKind.Keyword
        case _:
            assert_never(kind)
