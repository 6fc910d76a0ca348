"""The page for the people on watch over a program: one document, one style sheet, one script, nothing from elsewhere.

Annotations are evaluated (no `from __future__ import annotations`), as FastAPI asks for.
"""

from pathlib import Path
from typing import Literal

from fastapi import FastAPI, Request, Response

from ghcm.supervisor.sink_routes import Shown, tag_of, unchanged

_FOLDER = Path(__file__).parent / "dashboard"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load and do: nothing of what data could bring in."""

_MEDIA = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def add(app: FastAPI, shown: Shown) -> None:
    """Add the page and its files."""

    @app.get(
        "/programs/{program}/watch", tags=["status"], summary="A page to watch the program", response_class=Response
    )
    async def watch(program: str, request: Request) -> Response:
        shown.program(program)
        return _file(request, "watch.html")

    @app.get("/watch/{name}", include_in_schema=False)
    async def part(name: Literal["watch.js", "watch.css", "icon.svg"], request: Request) -> Response:
        return _file(request, name)


def _file(request: Request, name: str) -> Response:
    data = (_FOLDER / name).read_bytes()
    tag = tag_of(data.hex())
    if (same := unchanged(request, tag)) is not None:
        return same
    headers = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": _POLICY,
        "ETag": tag,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(data, headers=headers, media_type=_MEDIA[Path(name).suffix])
