"""`ghcm language-server`: answers editors over standard input and output."""

from __future__ import annotations

from typing import Annotated

import typer

Textmate = Annotated[bool, typer.Option("--textmate", help="Print the TextMate grammar (JSON) and end.")]


def command(textmate: Textmate = False) -> None:
    """Serve an editor: mistakes while typing, types, completion, definitions.

    Speaks the Language Server Protocol over standard input and output; an editor starts it.
    """
    if textmate:
        import json

        from ghcm.editor.textmate import textmate as grammar

        typer.echo(json.dumps(grammar(), indent=2))
        return
    from ghcm.editor.server import serve

    serve().start_io()
