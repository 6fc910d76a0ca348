"""What a thread beside the loop has to say comes to the loop, whatever it is; no lost wake-up holds it back."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from threading import Event

import pytest

from ghcm.errors import GhcmError
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


def read(port: int, wake: Callable[[], None]) -> SocketSource:
    source = SocketSource(Socket("127.0.0.1", port, Format("text")), LINE, "p")
    source.open(None, wake)
    return source


def polled(source: SocketSource) -> list[object]:
    batch = source.poll(10, lambda _reason, _detail, _text: None)
    return [] if batch is None else [row[0] for row in batch.rows()]


def test_a_line_longer_than_what_is_read_at_once_is_given_when_its_end_has_come() -> None:
    woken, line = Event(), "x" * (1 << 20)
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = read(server.getsockname()[1], woken.set)
        with server.accept()[0] as peer:
            peer.sendall(f"{line}\n".encode())
            assert woken.wait(60)
            assert polled(source) == [line]
        source.close()


def test_what_breaks_a_connection_is_told_behind_what_came_before() -> None:
    woken = Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = read(server.getsockname()[1], woken.set)
        with server.accept()[0] as peer:
            peer.sendall(b"none\n")
            assert woken.wait(60)  # it has connected
            woken.clear()
            assert polled(source) == ["none"]
            peer.sendall(b"one\n")
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # so that it is no plain end
        assert woken.wait(60)
        woken.clear()
        assert polled(source) == ["one"]
        with pytest.raises(GhcmError, match="Connection reset"):  # it is there already, or wakes
            assert polled(source) == []
            assert woken.wait(60)
            polled(source)
        source.close()
