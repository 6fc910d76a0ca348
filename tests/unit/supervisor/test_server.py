"""What one connection, an address and all of them may take of the server, and that others are answered meanwhile."""

import errno
import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPSConnection
from pathlib import Path

import psutil
import pytest

from ghcm.runtime.pubsub.envelope import Instruction
from ghcm.supervisor import server as server_module
from ghcm.supervisor.server import address_of, server
from tests.certificates import certificate
from tests.unit.supervisor import serving as serving_module
from tests.unit.supervisor.serving import CALLS, Served, serving

FEW = {
    "connections": 60,
    "address_connections": 20,
    "header_bytes": 2000,
    "header_time": 0.3,
    "send_time": 0.2,
    "keep_alive": 1,
}
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
OTHER = "127.0.0.2"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop"), http=FEW) as served:
        yield served


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One that waits long for heads of requests."""
    with serving(tmp_path_factory.mktemp("patient"), http=FEW | {"header_time": 600}) as served:
        yield served


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The settings of TLS."""
    return dict(zip(("certificate", "key"), map(str, certificate(tmp_path_factory.mktemp("keys"))), strict=True))


def over_tls(shop: Served, keys: dict[str, str]) -> int:
    """The status of a request over TLS."""
    trusting = ssl.create_default_context(cafile=keys["certificate"])
    connection = HTTPSConnection("127.0.0.1", shop.port, timeout=60, context=trusting)
    with closing(connection):
        connection.request("GET", "/programs")
        return connection.getresponse().status


def connect(shop: Served, address: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", shop.port), timeout=60, source_address=(address, 0))


def rest(connection: socket.socket) -> bytes:
    """What comes until the server ends the connection."""
    parts = [b""]
    with suppress(ConnectionResetError):
        while part := connection.recv(1 << 20):
            parts.append(part)
    return b"".join(parts)


def ended(connections: list[socket.socket]) -> int:
    """How many of these the server has ended."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN)
    return len(poll.poll(0))


def is_served(connection: socket.socket) -> bool:
    """Whether the server, which is in this process, has the other end of it."""
    return any(each.raddr == connection.getsockname() for each in psutil.Process().net_connections())


def test_slow_connections_give_way_to_others_of_their_address(patient: Served) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(patient)) for _ in range(300)]
        for connection in slow:
            with suppress(OSError):
                connection.sendall(b"G")
        assert patient.post(f"{CALLS}?wait=60", {"item": "tea"}).json["state"] == "done"
        assert ended(slow) >= 300 - 52


def test_slow_connections_of_many_addresses_give_way_to_others(patient: Served) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(patient, f"127.0.1.{number % 200 + 1}")) for number in range(300)]
        assert patient.post(f"{CALLS}?wait=60", {"item": "tea"}).json["state"] == "done"
        assert ended(slow) >= 300 - 92


def test_whoever_has_too_many_requests_answered_gets_no_more_but_its_state(patient: Served) -> None:
    patient.store.calls.accept(Instruction("open", "shop", "total", {"item": "tea"}))
    waits = f"GET {CALLS}/open?wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connect(patient)).sendall(waits)
        while (refused := patient.get("/programs")).status == 200:
            pass
        assert (refused.status, refused.json["code"]) == (503, "GHCM-335")
        assert (refused.headers["retry-after"], refused.headers["connection"]) == ("1", "close")
        assert patient.get("/health").status == 200
        assert patient.get("/ready").json.get("code") != "GHCM-335"
        with connect(patient, OTHER) as other:
            other.sendall(b"GET /programs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert rest(other).startswith(b"HTTP/1.1 200 ")
        patient.store.calls.cancel("open")
        while patient.get("/programs").status != 200:
            pass


def test_a_connection_beyond_all_limits_is_told_so_and_ended(patient: Served) -> None:
    patient.store.calls.accept(Instruction("beyond", "shop", "total", {"item": "tea"}))
    waits = f"GET {CALLS}/beyond?wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with ExitStack() as stack:
        held = [stack.enter_context(connect(patient)) for _ in range(20)]
        for connection in held:
            connection.sendall(waits)
        while patient.get("/programs").status == 200:
            pass
        # Those beyond wait for a request, and so give way to each other.
        more = [stack.enter_context(connect(patient)) for _ in range(100)]
        assert patient.get("/health").status == 200
        assert ended(more) >= 100 - 32
        assert ended(held) == 0
    patient.store.calls.cancel("beyond")


@pytest.mark.parametrize("more", [1, 100_000])
def test_a_head_that_is_too_large_is_refused(patient: Served, more: int) -> None:
    with connect(patient) as connection:
        connection.sendall(HEALTH + b"X: " + b"x" * (2000 - len(HEALTH) - 3) + b"y" * more)
        answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 431 ") and b"GHCM-331" in answer and b"2,000 bytes" in answer


def test_a_head_that_is_large_is_taken_and_so_are_many_at_once_and_a_body(patient: Served) -> None:
    large = HEALTH + b"X: " + b"x" * (2000 - len(HEALTH) - 7) + b"\r\n\r\n"
    assert len(large) == 2000
    body = b'{"item":' + b" " * 30_000 + b'"tea"}'
    head = f"POST {CALLS}?wait=60 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    post = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    with connect(patient) as connection:
        connection.sendall(large + (HEALTH + b"\r\n") * 100 + post + HEALTH + b"Connection: close\r\n\r\n")
        answer = rest(connection)
    assert answer.count(b"HTTP/1.1 200 ") == 103 and answer.count(b'{"status":"ok"}') == 102


def test_a_head_that_comes_too_slowly_is_refused(shop: Served) -> None:
    with connect(shop) as connection:
        sent = iter(HEALTH + b"X: " + b"x" * 1900)
        while not select.select([connection], [], [], 0.01)[0]:
            with suppress(OSError):  # it was ended just now
                connection.send(bytes([next(sent)]))
        answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 408 ") and b"GHCM-333" in answer


def test_so_is_the_head_of_a_later_request_behind_the_answer_to_the_one_before(shop: Served) -> None:
    shop.store.calls.accept(Instruction("slow", "shop", "total", {"item": "tea"}))
    waits = f"GET {CALLS}/slow?wait=1 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with connect(shop) as connection:
        connection.sendall(waits)
        connection.sendall(b"GET /h")
        answer = rest(connection)
    first, _, second = answer.partition(b"HTTP/1.1 408 ")
    assert first.startswith(b"HTTP/1.1 200 ") and first.endswith(b"}") and b"GHCM-333" in second
    shop.store.calls.cancel("slow")


@pytest.mark.parametrize("asked", [b"", HEALTH + b"\r\n"])
def test_a_connection_that_says_nothing_is_ended(shop: Served, asked: bytes) -> None:
    with connect(shop) as connection:
        connection.sendall(asked)
        assert rest(connection).count(b"HTTP/1.1 ") == len(asked[:1])


def test_the_rest_of_a_body_that_was_refused_is_not_waited_for(shop: Served) -> None:
    head = f"POST {CALLS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n".encode()
    with connect(shop) as connection:
        connection.sendall(head)
        assert connection.recv(65536).startswith(b"HTTP/1.1 4")
        with pytest.raises(OSError, match=r"reset|pipe"):
            while not select.select([connection], [], [], 0.01)[0] or connection.recv(65536):
                connection.send(b"x")
            while True:
                connection.send(b"x")


def chunked(shop: Served, *parts: bytes) -> bytes:
    """What a call is answered whose body comes in these parts, until the server ends the connection or has answered."""
    head = (
        f"POST {CALLS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    )
    with connect(shop) as connection:
        with suppress(OSError):  # it may answer and hang up before all is said
            connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
            for part in parts:
                connection.sendall(part)
        return rest(connection)


def test_a_body_in_chunks_of_a_byte_is_taken(patient: Served) -> None:
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in b'{"item": "tea"}' + b" " * 10_000)
    assert chunked(patient, body, b"0\r\n\r\n").startswith(b"HTTP/1.1 202 ")


@pytest.mark.parametrize(
    "endless", [b"0\r\n" + b"a: b\r\n" * 100_000, b"0\r\na: " + b"b" * 1_000_000, b"1;" + b"a" * 1_000_000]
)
def test_what_comes_without_end_beside_a_body_is_not_taken(patient: Served, endless: bytes) -> None:
    before = patient.calls()
    assert chunked(patient, b'f\r\n{"item": "tea"}\r\n', endless, b"\r\n \r\n0\r\n\r\n") == b""
    assert patient.calls() == before


def test_headers_behind_a_body_are_none(tmp_path: Path) -> None:
    with serving(tmp_path, access={"required": True}) as shop:
        token = shop.token("call:shop")["Authorization"]
        late = f"0\r\nAuthorization: {token}\r\n\r\n".encode()
        assert chunked(shop, b'f\r\n{"item": "tea"}\r\n', late).startswith(b"HTTP/1.1 401 ")


def test_who_takes_nothing_of_an_answer_is_not_waited_for(shop: Served, caplog: pytest.LogCaptureFixture) -> None:
    page = len(shop.get("/openapi.json").body)
    asked = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # or the system takes it all for us
        connection.connect(("127.0.0.1", shop.port))
        connection.sendall(asked * (30_000_000 // page))
        assert select.select([connection], [], [], 60)[0]  # the first of it has come
        while is_served(connection):
            pass
        assert 0 < len(rest(connection)) < 30_000_000
    assert shop.get("/health").status == 200
    assert not [each for each in caplog.records if each.name == "uvicorn.error"]  # strangers would fill the log


def test_nothing_is_spoken_that_others_could_read_later(tmp_path: Path, keys: dict[str, str]) -> None:
    with serving(tmp_path, http=FEW | keys | {"header_time": 600}) as shop, connect(shop) as connection:
        trusting = ssl.create_default_context(cafile=keys["certificate"])
        with trusting.wrap_socket(connection, server_hostname="localhost") as secured:
            assert secured.version() == "TLSv1.3"
        config = server(shop.supervisor, "", 0, shop.supervisor.settings.http).config
        config.load()
        assert config.ssl is not None and config.ssl.minimum_version >= ssl.TLSVersion.TLSv1_2
        ciphers = {each["name"]: each for each in config.ssl.get_ciphers()}
        assert [name for name in ciphers if not name.startswith(("TLS_", "ECDHE-", "DHE-"))] == []
        assert [
            name for name, each in ciphers.items() if each["strength_bits"] < 128 or each["digest"] in ("md5", "sha1")
        ] == []


def test_connections_without_a_handshake_give_way_to_others(tmp_path: Path, keys: dict[str, str]) -> None:
    with serving(tmp_path, http=FEW | keys | {"header_time": 600}) as shop, ExitStack() as stack:
        for addresses, most in ((1, 20), (200, 60)):
            bare = [stack.enter_context(connect(shop, f"127.0.1.{n % addresses + 1}")) for n in range(300)]
            for connection in bare:
                with suppress(OSError):
                    connection.sendall(b"\x16\x03")
            assert over_tls(shop, keys) == 200
            assert ended(bare) >= 300 - most


def test_a_handshake_that_takes_too_long_is_ended(tmp_path: Path, keys: dict[str, str]) -> None:
    with serving(tmp_path, http=FEW | keys | {"header_time": 2}) as shop, connect(shop) as connection:
        connection.sendall(b"\x16\x03")
        rest(connection)
        with connect(shop) as other:
            other.sendall(b"GET / HTTP/1.1\r\n\r\n")
            rest(other)
        assert over_tls(shop, keys) == 200


class _Aborting(socket.socket):
    """Of the connections to it every second is gone before it is taken, as accept(2) then says."""

    _taken = 0

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        found = super().accept()
        self._taken += 1
        if self._taken % 2:
            found[0].close()
            raise OSError(errno.ECONNABORTED, "aborted")
        return found


def test_a_connection_that_is_gone_before_it_is_taken_keeps_no_others_waiting(
    tmp_path: Path, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_module, "_listener", lambda: _Aborting(fileno=listener().detach()))
    monkeypatch.setattr(server_module, "_PAUSE_SECONDS", 600)
    with serving(tmp_path, http=FEW | keys) as shop:
        for _ in range(3):
            with connect(shop) as gone:
                rest(gone)
            assert over_tls(shop, keys) == 200


def listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def test_an_address_is_one_whatever_its_form() -> None:
    assert address_of(("10.0.0.1", 1)) == address_of(("::ffff:10.0.0.1", 1)) == "10.0.0.1"
    assert address_of(("2001:db8::1", 1)) == address_of(("2001:db8::ff", 2)) == "2001:db8::/64"
    assert address_of(("fe80::1%eth0", 1)) == "fe80::/64"
