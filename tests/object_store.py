"""The object store of the tests: a server process that speaks S3, and a bad line to it."""

import os
import socket
import struct
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from ghcm.places import Remote

KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "secret-of-the-tests"}


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """A running server."""

    endpoint: str
    process: subprocess.Popen[bytes]

    def client(self, service: str = "s3") -> Any:
        """A client that is not ours."""
        import boto3

        key, secret = KEYS.values()
        keys = {"aws_access_key_id": key, "aws_secret_access_key": secret}
        return boto3.client(service, "us-east-1", endpoint_url=self.endpoint, **keys)

    def bucket(self) -> Remote:
        """A new bucket."""
        name = f"b{uuid.uuid4().hex[:12]}"
        self.client().create_bucket(Bucket=name)
        return Remote(f"s3://{name}")

    def keys(self, bucket: Remote) -> list[str]:
        """The keys of a bucket, but for what stands for folders."""
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=bucket.name)
        found = [each["Key"] for page in pages for each in page.get("Contents", [])]
        return [key for key in found if not key.endswith("/")]

    def ask_for_keys(self, wanted: bool) -> None:
        """Serve only who has the keys of a user, or anybody."""
        headers = {"Content-Type": "text/plain"}
        request = Request(f"{self.endpoint}/moto-api/reset-auth", b"0" if wanted else b"inf", headers, method="POST")
        with urlopen(request, timeout=10):
            pass

    def environment(self, endpoint: str | None = None, **keys: str) -> dict[str, str]:
        """What a process needs to come here."""
        return {"GHCM_S3_ENDPOINT": endpoint or self.endpoint, **KEYS, **keys}


@cache
def shared_store() -> ObjectStore:
    """The server of this session."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env={**os.environ, **KEYS})
    endpoint = f"http://127.0.0.1:{port}"
    for attempt in Retrying(retry=retry_if_exception_type(OSError), stop=stop_after_delay(60), wait=wait_fixed(0.1)):
        with attempt, urlopen(f"{endpoint}/moto-api/", timeout=10):
            pass
    return ObjectStore(endpoint, process)


def stop_shared_store() -> None:
    """End the server of this session, if one was asked for."""
    if shared_store.cache_info().currsize:
        process = shared_store().process
        process.kill()
        process.wait()
        shared_store.cache_clear()


class BadLine(ThreadingHTTPServer):
    """A server between a store and whoever asks it. `fault` says of a request (method, path) what becomes of it: an
    answer of that status, "reset", or "" for what the store answers.
    """

    daemon_threads = True

    def __init__(self, to: ObjectStore, fault: Callable[[str, str], str | int]) -> None:
        super().__init__(("127.0.0.1", 0), _Line)
        self.store = to
        self.fault = fault
        self.faults = 0
        self.endpoint = f"http://127.0.0.1:{self.server_address[1]}"
        Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever asks may have gone."""

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Line(BaseHTTPRequestHandler):
    server: BadLine
    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = b"".join(self._chunks())
        fault = self.server.fault(self.command, self.path)
        self.server.faults += fault != ""
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        if isinstance(fault, int):
            self._answer(fault, {}, b"")
            return
        with closing(HTTPConnection(self.server.store.endpoint.removeprefix("http://"), timeout=30)) as connection:
            connection.request(self.command, self.path, body, dict(self.headers))
            found = connection.getresponse()
            status, headers, content = found.status, dict(found.getheaders()), found.read()
        self._answer(status, headers, content)

    def _chunks(self) -> Iterator[bytes]:
        """A body of chunks, as it comes."""
        while size := int((head := self.rfile.readline()).split(b";")[0], 16):
            yield head + self.rfile.read(size + 2)
        yield head
        while (line := self.rfile.readline()).strip():
            yield line
        yield line

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(body))
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on

    def log_message(self, format: str, *arguments: object) -> None: ...
