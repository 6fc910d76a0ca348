"""The pages for people: to watch a program, and to read what can be asked; their files come from here alone.

Annotations are evaluated (no `from __future__ import annotations`), as FastAPI asks for.
"""

from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response

from ghcm.runtime.access.scopes import Action
from ghcm.supervisor.access.needs import Open, needs, open_to
from ghcm.supervisor.problems import PROBLEM
from ghcm.supervisor.sink_routes import Shown, tag_of, unchanged

_FOLDER = Path(__file__).parent / "dashboard"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load and do: nothing of what data could bring in."""

_DOCS_POLICY = _POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace("blob:", "data:")
"""Swagger UI writes styles into its elements, and has its icons in them."""

_MEDIA = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

_PARTS = ("watch.js", "watch.css", "sign-in.js", "icon.svg")
_DOCS_PARTS = ("swagger-ui-bundle.js", "swagger-ui.css")

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/html": {}}, "description": "The page."},
    304: {"description": "The reader has it."},
    404: PROBLEM | {"description": "There is no such program."},
}


def add(app: FastAPI, shown: Shown, looked: Callable[[], None]) -> None:
    """Add the pages and their files; `looked` is told that somebody begins to watch."""

    @app.get(
        "/programs/{program}/watch",
        tags=["status"],
        summary="A page to watch the program",
        response_class=Response,
        responses=_ANSWERS,
    )
    @needs(Action.READ)
    async def watch(program: str, request: Request) -> Response:
        shown.program(program)
        looked()
        return _file(request, _FOLDER / "watch.html")

    @app.get("/sign-in", include_in_schema=False)
    @open_to(Open.EVERYONE)
    async def sign_in(request: Request) -> Response:
        return _file(request, _FOLDER / "sign-in.html")

    @app.get("/watch/{name}", include_in_schema=False)
    @open_to(Open.EVERYONE)
    async def part(name: str, request: Request) -> Response:
        return _file(request, _FOLDER / _one_of(_PARTS, name))

    @app.get("/docs", include_in_schema=False)
    @open_to(Open.EVERYONE)
    async def docs(request: Request) -> Response:
        return _file(request, _FOLDER / "docs.html", _DOCS_POLICY)

    @app.get("/docs/docs.js", include_in_schema=False)
    @open_to(Open.EVERYONE)
    async def docs_script(request: Request) -> Response:
        return _file(request, _FOLDER / "docs.js")

    @app.get("/docs/{name}", include_in_schema=False)
    @open_to(Open.EVERYONE)
    async def docs_part(name: str, request: Request) -> Response:
        return _file(request, Path(str(files("fastapi_offline") / "static" / _one_of(_DOCS_PARTS, name))))


def _one_of(names: Sequence[str], name: str) -> str:
    """The name, if it is one of these; else there is nothing."""
    if name not in names:
        raise HTTPException(404)
    return name


def _file(request: Request, path: Path, policy: str = _POLICY) -> Response:
    data = path.read_bytes()
    tag = tag_of(data.hex(), policy)
    if (same := unchanged(request, tag)) is not None:
        return same
    headers = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": policy,
        "ETag": tag,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(data, headers=headers, media_type=_MEDIA[path.suffix])
