"""Whom commands ask over HTTP, and to whom they show their token."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from ghcm.cli.server import server_of
from ghcm.errors import GhcmError


@pytest.fixture
def elsewhere() -> Iterator[tuple[HTTPServer, list[str | None]]]:
    """A server that sends whoever asks to another path, but hangs up on "/ends" and has HTML at "/page"; and the tokens
    that it has seen."""
    seen: list[str | None] = []

    class Away(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/ends":
                return
            if self.path == "/page":
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"<html>")
                return
            seen.append(self.headers["Authorization"])
            self.send_response(307)
            self.send_header("Location", "http://localhost:1/other")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Away) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server, seen
        server.shutdown()
        thread.join()


def test_a_token_comes_from_a_file_and_goes_to_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: tuple[HTTPServer, list[str | None]]
) -> None:
    (tmp_path / "token").write_text("ghcm_0_x\n")
    monkeypatch.setenv("GHCM_TOKEN_FILE", str(tmp_path / "token"))
    server, seen = elsewhere
    asked = server_of(f"http://127.0.0.1:{server.server_address[1]}", None)
    with pytest.raises(GhcmError, match="HTTP 307"):
        asked.ask("/programs", timeout=30)
    assert seen == ["Bearer ghcm_0_x"]
    assert "ghcm_0_x" not in repr(asked)


def test_a_server_here_is_asked_without_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, elsewhere: tuple[HTTPServer, list[str | None]]
) -> None:
    server, seen = elsewhere
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("GHCM_TOKEN", "ghcm_0_x")
    with pytest.raises(GhcmError, match="does not answer"):
        server_of("http://localhost:1", None).ask("/programs", timeout=30)
    assert seen == []


def test_a_server_elsewhere_is_not_asked_without_tls() -> None:
    with pytest.raises(GhcmError, match="has no TLS"):
        server_of("http://lake.example:8000", None)
    assert server_of("https://lake.example:8000/", None).url == "https://lake.example:8000"


@pytest.mark.parametrize("url", ["lake:8000", "https://", "ftp://lake", "https://lake/programs"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(GhcmError, match="is no address of a server"):
        server_of(url, None)


def test_a_file_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GHCM_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(GhcmError, match="none"):
        server_of("https://lake.example", None)
    monkeypatch.delenv("GHCM_TOKEN_FILE")
    monkeypatch.setenv("GHCM_CA", str(tmp_path / "none"))
    with pytest.raises(GhcmError, match="GHCM_CA"):
        server_of("https://lake.example", None)


def test_a_server_that_hangs_up_and_one_of_others_are_told_apart(
    elsewhere: tuple[HTTPServer, list[str | None]],
) -> None:
    asked = server_of(f"http://127.0.0.1:{elsewhere[0].server_address[1]}", None)
    with pytest.raises(GhcmError, match="does not answer"):
        asked.ask("/ends", timeout=30)
    with pytest.raises(GhcmError, match="is no Supervisor"):
        asked.ask("/page", timeout=30)
