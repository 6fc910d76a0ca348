"""HDFS as a file system of Arrow, by a client that needs neither Java nor libraries of Hadoop.

Others see a file of HDFS while it is written, so a file is written under a hidden name and gets its own when it is
whole. Which user asks, and what a name without a port means, is Hadoop's: `HADOOP_USER_NAME`, `HADOOP_CONF_DIR`, or a
ticket of Kerberos.
"""

import posixpath
import socket
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import UnsupportedOperation
from typing import Any

from ghcm.errors import GhcmError

_OPEN = ".ghcm-open-"
"""How the names of files begin that are not whole yet."""
_COPIED, _CONNECT_S = 8 << 20, 5
_FOLDER_RIGHTS = 0o755


def hdfs(address: str) -> Any:
    """The file system of a name node (`host:port`), or of a name that Hadoop's settings know. GhcmError where the
    client is not installed.
    """
    from pyarrow import fs

    try:
        from hdfs_native import Client
    except ImportError:
        hint = "pip install 'ghcm[hdfs]'"
        raise GhcmError("hdfs:// needs a package that is not installed", code="GHCM-621", hint=hint) from None
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():  # the client would try for three minutes before it says this
        socket.create_connection((host, int(port)), _CONNECT_S).close()
    handler: Any = type("Hdfs", (_Answers, fs.FileSystemHandler), {})
    return fs.PyFileSystem(handler(address, Client(f"hdfs://{address}")))


class _Answers:
    """What Arrow asks of a file system. It raises OSError where the servers refuse."""

    def __init__(self, address: str, client: Any) -> None:
        self._address = address
        self._client = client

    def get_type_name(self) -> str:
        return "hdfs"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[Any]:
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: Any) -> list[Any]:
        try:
            with _told():
                found = [*map(_described, self._client.list_status(selector.base_dir, selector.recursive))]
        except FileNotFoundError:
            if selector.allow_not_found:
                return []
            raise
        return [each for each in found if each.path != selector.base_dir and not each.base_name.startswith(_OPEN)]

    def create_dir(self, path: str, recursive: bool) -> None:
        with _told():
            self._client.mkdirs(path, _FOLDER_RIGHTS, recursive)

    def delete_dir(self, path: str) -> None:
        self._delete(path, recursive=True)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        from pyarrow import fs

        for each in self.get_file_info_selector(fs.FileSelector(path, allow_not_found=missing_dir_ok)):
            self._delete(each.path, recursive=True)

    def delete_root_dir_contents(self) -> None:
        self.delete_dir_contents("/")

    def delete_file(self, path: str) -> None:
        self._delete(path, recursive=False)

    def move(self, src: str, dest: str) -> None:
        with _told():
            self._client.rename(src, dest, True)

    def copy_file(self, src: str, dest: str) -> None:
        with _told():
            source, target = self._client.read(src), self._create(dest)
            while data := source.read(_COPIED):
                target.write(data)
            target.close()

    def open_input_stream(self, path: str) -> Any:
        return self.open_input_file(path)

    def open_input_file(self, path: str) -> Any:
        from pyarrow import PythonFile

        with _told():
            return PythonFile(self._client.read(path), mode="r")

    def open_output_stream(self, path: str, metadata: object) -> Any:
        from pyarrow import PythonFile

        with _told():
            return PythonFile(self._create(path), mode="w")

    def open_append_stream(self, path: str, metadata: object) -> Any:
        raise UnsupportedOperation(f'"hdfs://{self._address}{path}" is written as a whole, and not added to')

    def _create(self, path: str) -> Any:
        folder, name = posixpath.split(path)
        hidden = posixpath.join(folder, f"{_OPEN}{uuid.uuid4().hex}-{name}")
        return _Whole(self._client, self._client.create(hidden), hidden, path)

    def _delete(self, path: str, *, recursive: bool) -> None:
        with _told():
            if not self._client.delete(path, recursive):
                raise FileNotFoundError(2, "there is no such file", f"hdfs://{self._address}{path}")

    def _info(self, path: str) -> Any:
        from pyarrow import fs

        try:
            with _told():
                return _described(self._client.get_file_info(path))
        except FileNotFoundError:
            return fs.FileInfo(path, fs.FileType.NotFound)


class _Whole:
    """A file that is written and gets its name when it is closed. It is no file of `io`: those are closed, too, when
    they are given up.
    """

    def __init__(self, client: Any, file: Any, hidden: str, path: str) -> None:
        self._client = client
        self._file = file
        self._hidden = hidden
        self._path = path
        self.closed = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        with _told():
            return int(self._file.write(data))

    def flush(self) -> None:
        """Nothing: nobody sees the file before it is closed."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with _told():
                self._file.close()
                self._client.rename(self._hidden, self._path, True)


def _described(status: Any) -> Any:
    from pyarrow import fs

    if status.isdir:
        return fs.FileInfo(status.path, fs.FileType.Directory)
    moment = status.modification_time * 1_000_000
    return fs.FileInfo(status.path, fs.FileType.File, size=status.length, mtime_ns=moment)


@contextmanager
def _told() -> Generator[None]:
    """Raise as OSError what servers have said, without the lines of their code."""
    try:
        yield
    except RuntimeError as error:
        raise OSError(str(error).partition("\\n\\t")[0].partition("\n\t")[0]) from None
