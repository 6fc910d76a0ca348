"""`ghcm call --wait` prints every row of the answer, however many requests that takes."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest

from ghcm.cli.call import call

ROWS = [{"n": n} for n in range(2300)]
DONE: dict[str, object] = {
    "state": "done",
    "accepted": "2026-01-02T03:04:05Z",
    "ended": "2026-01-02T03:04:06Z",
    "engine": "native",
    "links": {"self": "/calls/1"},
    "data": None,
    "program": "shop",
    "rows": len(ROWS),
    "dead": 0,
}
FAILED: dict[str, object] = DONE | {"unit": "none", "data": list[object](), "rows": 0, "dead": 2}


@pytest.fixture
def server() -> Iterator[str]:
    """A server whose calls are done, with rows that it gives a thousand at a time."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(FAILED if "/units/none/" in self.path else DONE)

        def do_GET(self) -> None:
            path = urlsplit(self.path)
            if path.path.startswith("/calls/"):
                offset = int(parse_qs(path.query).get("offset", ["0"])[0])
                self.answer({"total": len(ROWS), "rows": ROWS[offset : offset + 1000]})
            else:
                self.answer({"units": []})

        def answer(self, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answers) as listening:
        thread = Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()
        thread.join()


def test_all_rows_are_printed_and_a_table_says_what_it_leaves_out(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call("shop.best", wait=True, csv=True, server=server)
    assert capsys.readouterr().out.split() == ["n", *(str(row["n"]) for row in ROWS)]
    call("shop.best", wait=True, json=True, server=server)
    assert json.loads(capsys.readouterr().out)["data"] == ROWS
    call("shop.best", wait=True, server=server)
    said = capsys.readouterr()
    assert said.out.split() == ["n", *(str(row["n"]) for row in ROWS[:1000])]
    assert "these are the first 1000" in said.err


def test_a_call_whose_records_have_failed_says_so(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    call("shop.none", wait=True, server=server)
    said = capsys.readouterr()
    assert "warning: there are no rows, and 2 records failed (ghcm dead shop --unit none)" in said.err
