"""Programs that are handed to a server elsewhere, followed and ended there: over HTTP, with a token whose scope is
`submit`.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from ghcm.cli.server import Server

_UPLOAD_SECONDS = 300
_ROUND = 30
_SPARE_SECONDS = 30


def submit(server: Server, bundle: Path, *, again: str, beside: bool, directory: Path | None) -> dict[str, Any]:
    """The job that a bundle has become, with its `changes` where it was there; a folder is sent as a file."""
    words = {
        "again": None if again == "unsaid" else again,
        "beside": "true" if beside else None,
        "directory": directory,
    }
    query = urlencode({name: value for name, value in words.items() if value is not None})
    headers = {"Content-Type": "application/octet-stream"}
    return server.ask(f"/programs?{query}", _bytes_of(bundle), method="POST", timeout=_UPLOAD_SECONDS, headers=headers)


def await_running(server: Server, job: dict[str, Any]) -> dict[str, Any]:
    """The job once it runs or is over."""
    while job["state"] in ("submitted", "starting"):
        here = f"/programs/{quote(job['program'])}/job?wait={_ROUND}"
        job = {**job, **server.ask(here, timeout=_ROUND + _SPARE_SECONDS)}
    return job


def stop(server: Server, program: str, grace: float | None) -> dict[str, Any]:
    """The job that was stopped, and what became of its `calls`."""
    query = "" if grace is None else f"?grace={grace:g}"
    return server.ask(f"/programs/{quote(program)}{query}", method="DELETE", timeout=(grace or 0) + _UPLOAD_SECONDS)


def _bytes_of(bundle: Path) -> bytes:
    if not bundle.is_dir():
        return bundle.read_bytes()
    with tempfile.TemporaryDirectory(prefix="ghcm-") as folder:
        return Path(shutil.make_archive(f"{folder}/bundle", "zip", bundle)).read_bytes()
