"""The HTTP server in front of the Supervisor: uvicorn, with its options, and limits of connections that it lacks.

A connection that says nothing, too little or too much is ended here, before anybody reads a request of it.
"""

import asyncio
import errno
import logging
import math
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv6Address, IPv6Network
from typing import Any, ClassVar

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from ghcm.runtime.settings import Http
from ghcm.supervisor import problems
from ghcm.supervisor.app import Supervisor
from ghcm.supervisor.problems import Problem

log = logging.getLogger("ghcm.supervisor")

_ALWAYS_ANSWERED = (b"/health", b"/ready")
"""However many others are: whoever watches the server would take it for dead."""

_SPARE = 32
"""Connections beyond the limit, for those who ask that, and to tell others why they are refused."""

_ALL = ""

_PAUSE_SECONDS = 1.0
"""How long to wait where there is no room for a connection."""

_GONE = frozenset(
    {
        errno.ECONNABORTED,
        errno.EPROTO,
        errno.EPERM,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.ENONET,
        errno.ENOPROTOOPT,
        errno.EOPNOTSUPP,
    }
)
"""What accept(2) says of one connection that came to nothing: whoever makes many of these keeps no others waiting."""

_NO_HTTP = Problem(400, "GHCM-324", "the request is no HTTP", hint="send what RFC 9112 says, with one length.")

_TOO_MANY = Problem(
    503,
    "GHCM-335",
    "there are too many connections",
    detail="[http] connections and address_connections say how many are answered at once.",
    hint="ask again in a moment, and close those that are not needed.",
)


def server(supervisor: Supervisor, host: str, port: int, http: Http) -> uvicorn.Server:
    """Its server, with TLS where `http` says so. It listens there, or on the sockets that it is run with."""
    return _Server(http, _config(supervisor, host, port, http), supervisor.end_waits)


def _config(app: ASGIApp, host: str, port: int, http: Http) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=type("Connection", (_Connection,), {"room": _Room(app, http)}),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # whoever sends them could say that he asks from anywhere
        lifespan="on",
        ssl_certfile=http.certificate,
        ssl_keyfile=http.key,
        timeout_keep_alive=math.ceil(http.keep_alive),
        timeout_graceful_shutdown=5,
    )


class _Server(uvicorn.Server):
    """With limits of handshakes of TLS: uvicorn sees nothing of a connection before the end of its own."""

    def __init__(self, http: Http, config: uvicorn.Config, end_waits: Callable[[], None]) -> None:
        super().__init__(config)
        self._http, self._end_waits = http, end_waits
        self._listening: list[asyncio.Task[None]] = []
        self._shaking: dict[asyncio.Task[None], str] = {}

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        if self.config.ssl is None or sockets is None:
            await super().startup(sockets)
            return
        await super().startup([])
        self._listening = [asyncio.create_task(self._listen(each), name="listen") for each in sockets]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen no more, and end what is open: who waits is told how his call stands, before that is too late."""
        asyncio.get_running_loop().call_later(3, self._end_waits)  # so that two seconds of the grace are left to answer
        for task in (*self._listening, *self._shaking):
            task.cancel()
        await asyncio.gather(*self._listening, *self._shaking, return_exceptions=True)
        await super().shutdown(sockets)

    async def _listen(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        while True:
            try:
                connection, client = await asyncio.get_running_loop().sock_accept(listener)
            except OSError as error:
                if error.errno in _GONE:
                    await asyncio.sleep(0)
                    continue
                log.error("no connection can be taken just now: %s", error)
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            address = address_of(client)
            same = [task for task, of in self._shaking.items() if of == address]
            full = len(self._shaking) >= self._http.connections
            if full or len(same) >= self._http.address_connections:
                oldest = next(iter(self._shaking)) if full else same[0]
                del self._shaking[oldest]
                oldest.cancel()
            task = asyncio.create_task(self._shake_hands(connection), name="handshake")
            self._shaking[task] = address
            task.add_done_callback(partial(self._shaken, connection))

    async def _shake_hands(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError):  # the other one's mistake
            await asyncio.get_running_loop().connect_accepted_socket(
                self._protocol, connection, ssl=self.config.ssl, ssl_handshake_timeout=self._http.header_time
            )

    def _shaken(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._shaking.pop(task, None)
        if task.cancelled():
            connection.close()

    def _protocol(self) -> asyncio.Protocol:
        made = self.config.http_protocol_class
        return made(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)  # type: ignore[call-arg]


_FRAMING = 8
"""Bytes of a body in chunks for each byte that it holds: chunks of one byte take five more."""


class _Connection(HttpToolsProtocol):
    """One connection, with limits of the head of each request, of what comes with its body and is none, and of the time
    that an answer takes to be fetched.
    """

    room: ClassVar["_Room"]
    address: str = _ALL
    _head: int = 0
    """Bytes of the head that is being read."""
    _in_head: bool = True
    _framing: int = 0
    """Bytes of lengths of chunks, of what stands beside these, and of headers behind the last that may still come."""
    _slow: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None
    _answering: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or refuse to."""
        super().connection_made(transport)
        self.address = address_of(self.client)
        if self.room.enter(self):
            self._expect_head()
        else:
            self._refuse(_TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self.room.leave(self)
        for timer in (self._slow, self._stuck):
            if timer is not None:
                timer.cancel()
        self.pipeline.clear()
        self._give_up()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has come, of a head no more than it may have."""
        if self.transport.is_closing():
            return
        more, most = b"", self.room.http.header_bytes
        if self._in_head:
            data, more = data[: most - self._head], data[most - self._head :]
            self._head += len(data)
        else:
            self._framing -= len(data)
        super().data_received(data)
        if not self._in_head and self._framing < 0:
            self.transport.close()
        elif more and self._head == most:
            message = f"the head of the request is too large: the limit is {most:,} bytes"
            self._refuse(Problem(431, "GHCM-331", message, hint="send shorter headers, or a shorter address."))
        elif more:
            self.data_received(more)
        elif self._head and self._slow is None:
            self._expect_head()

    def on_message_begin(self) -> None:
        """Note that a head has begun, perhaps behind the end of another request."""
        self._head = max(self._head, 1)
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header of the head; those behind a body would come when its request has been looked at."""
        if self._in_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._framing += _FRAMING * len(body)
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Have the request answered, unless too many are."""
        self._head, self._in_head, self._framing = 0, False, self.room.http.header_bytes
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None
        free = self.room.begin(self) or self.url.partition(b"?")[0] in _ALWAYS_ANSWERED
        self.app: Any = partial(self._answer, self.room.app if free else _too_many)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect the head of the next request."""
        self._in_head = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Be there for others, unless more requests wait for their answers."""
        super().on_response_complete()
        if self.cycle.response_complete:
            self.room.end(self)
            if not self._in_head:  # nobody waits for the rest of the body
                self._expect_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request."""
        self._refuse(_NO_HTTP)

    def pause_writing(self) -> None:
        """Have who asked fetch what he is answered."""
        super().pause_writing()
        self._expect_fetching()

    def resume_writing(self) -> None:
        """Go on."""
        if self._stuck is not None:
            self._stuck.cancel()
        super().resume_writing()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    async def _answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Have a request answered; who has hung up is told no more, and that is no error."""

        async def told(message: Message) -> None:
            try:
                await send(message)
            except RuntimeError:
                if not self.transport.is_closing():
                    raise
                self._give_up()

        await app(scope, receive, told)

    def _give_up(self) -> None:
        """Tell who answers that nobody listens; uvicorn tells the last request that came, whichever is answered."""
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def _expect_head(self) -> None:
        self._slow = self.loop.call_later(self.room.http.header_time, self._too_slow)

    def _too_slow(self) -> None:
        if self.room.answers(self):  # the answer to an earlier request goes first
            self._expect_head()
        elif self._head:
            message = f"the head of the request did not come within {self.room.http.header_time:g} s"
            self._refuse(Problem(408, "GHCM-333", message, hint="send it at once."))
        else:
            self.transport.close()

    def _expect_fetching(self, before: float = math.inf) -> None:
        left = self.transport.get_write_buffer_size()
        if left < before:
            self._stuck = self.loop.call_later(self.room.http.send_time, self._expect_fetching, left)
        else:
            self.transport.abort()

    def _refuse(self, problem: Problem) -> None:
        """End the connection, and say why where no other answer is under way."""
        if not self.room.answers(self):
            answer = problems.response(problem)
            lines = [STATUS_LINE[problem.status], b"connection: close\r\n"]
            lines += [b"%s: %s\r\n" % header for header in answer.raw_headers]
            self.transport.write(b"".join((*lines, b"\r\n", bytes(answer.body))))
        self.transport.close()


@dataclass(slots=True)
class _Room:
    """The connections of the server of an app: each waits for a request, or for what it is answered."""

    app: ASGIApp
    http: Http
    _open: Counter[str] = field(default_factory=Counter[str])
    _answered: Counter[str] = field(default_factory=Counter[str])
    _waiting: dict[_Connection, None] = field(default_factory=dict[_Connection, None])
    """Those that wait for a request, the one that has waited longest first."""
    _busy: set[_Connection] = field(default_factory=set[_Connection])

    def enter(self, connection: _Connection) -> bool:
        """Let a connection in, in the place of the one that has waited longest where there are too many; False if all
        are being answered.
        """
        for key, most in self._limits(connection):
            if self._open[key] >= most + _SPARE:
                oldest = next((each for each in self._waiting if key in (_ALL, each.address)), None)
                if oldest is None:
                    return False
                self.leave(oldest)
                oldest.transport.abort()
        _count(self._open, connection, 1)
        self._waiting[connection] = None
        return True

    def begin(self, connection: _Connection) -> bool:
        """Note that a connection has a request; whether it is to be answered, or there are too many."""
        if connection not in self._waiting:
            return True
        free = all(self._answered[key] < most for key, most in self._limits(connection))
        del self._waiting[connection]
        self._busy.add(connection)
        _count(self._answered, connection, 1)
        return free

    def end(self, connection: _Connection) -> None:
        """Note that a connection has all its answers."""
        if connection in self._busy:
            self._busy.remove(connection)
            _count(self._answered, connection, -1)
            self._waiting[connection] = None

    def leave(self, connection: _Connection) -> None:
        """Forget a connection, if it is one of these."""
        self.end(connection)
        if connection in self._waiting:
            del self._waiting[connection]
            _count(self._open, connection, -1)

    def answers(self, connection: _Connection) -> bool:
        """Whether a connection waits for answers."""
        return connection in self._busy

    def _limits(self, connection: _Connection) -> tuple[tuple[str, int], ...]:
        return (connection.address, self.http.address_connections), (_ALL, self.http.connections)


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    answer = problems.response(_TOO_MANY)
    answer.headers["Connection"] = "close"
    await answer(scope, receive, send)


def _count(counter: Counter[str], connection: _Connection, change: int) -> None:
    for key in (_ALL, connection.address):
        counter[key] += change
        if not counter[key]:
            del counter[key]


def address_of(client: tuple[str, int] | None) -> str:
    """Who has a connection: an address, of IPv6 a network, any address of which is his."""
    host = "" if client is None else client[0].partition("%")[0]
    if ":" not in host:
        return host
    return str(IPv6Address(host).ipv4_mapped or IPv6Network((host, 64), strict=False))
