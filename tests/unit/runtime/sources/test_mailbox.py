"""What a thread beside the loop has to say comes to the loop, whatever it is; no lost wake-up holds it back."""

from __future__ import annotations

import socket
from threading import Event

import pytest

from ghcm.runtime.sources.source import Mailbox
from ghcm.runtime.sources.tcp import SocketSource
from ghcm.runtime.worker import Worker
from ghcm.spg.connectors import Format, Socket
from ghcm.types import Field, String, Struct

LINE = Struct((Field("value", String()),))


class Panic(BaseException):
    """As that of Polars: no Exception."""


def panic() -> None:
    raise Panic("no thread could be made")


def test_whatever_ends_a_thread_is_raised_in_the_loop() -> None:
    for error, raised in ((ValueError("odd"), ValueError), (Panic("panic"), RuntimeError)):
        woken = Event()
        mailbox: Mailbox[int] = Mailbox(3)

        def read(mailbox: Mailbox[int] = mailbox, error: BaseException = error) -> None:
            mailbox.put(1)
            raise error

        mailbox.feed("test", read, woken.set)
        found: list[int] = []
        with pytest.raises(raised, match=str(error)):
            while True:
                assert woken.wait(60)
                woken.clear()
                while (thing := mailbox.take()) is not None:
                    found.append(thing)
        assert found == [1]


def test_a_panic_in_a_job_is_told_to_the_loop() -> None:
    told: list[Exception] = []
    done = Event()

    def post(call: object) -> None:
        assert callable(call)
        call()
        done.set()

    worker = Worker("test", post)
    worker.submit(panic, lambda _: None, told.append)
    assert done.wait(60)
    assert [str(error) for error in told] == ["Panic: no thread could be made"]
    done.clear()
    worker.submit(lambda: None, lambda _: None, told.append)
    assert done.wait(60)
    worker.close()


class Connection:
    """Gives a line that is longer than what is taken from a mailbox at once, then nothing for ever."""

    def __init__(self) -> None:
        self.pieces = [b"x" * (64 << 10)] * 4 + [b"y\n"]
        self.all_put, self.over = Event(), Event()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def settimeout(self, seconds: float | None) -> None:
        pass

    def shutdown(self, how: int) -> None:
        self.over.set()

    def recv(self, size: int) -> bytes:
        if self.pieces:
            return self.pieces.pop(0)
        self.all_put.set()
        assert self.over.wait(60)
        return b""


def test_a_long_line_is_given_though_nobody_wakes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = Connection()

    def connect(address: tuple[str, int], timeout: float) -> Connection:
        return connection

    monkeypatch.setattr(socket, "create_connection", connect)
    source = SocketSource(Socket("localhost", 1, Format("text")), LINE, "p")
    source.open(None, lambda: None)
    assert connection.all_put.wait(60)
    batch = source.poll(10, lambda _reason, _detail, _text: None)
    assert batch is not None
    assert [len(str(row[0])) for row in batch.rows()] == [(4 * 64 << 10) + 1]
    source.close()
