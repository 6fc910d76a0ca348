"""What a Redis keeps through a loss of power: the private one is brought to disk from here, of others it is said.

The private server writes its append-only file before it answers and never syncs it: whoever needs a write to last syncs
the file, once for all that was written before. What other servers do is their owners' business.
"""

from dataclasses import dataclass
from pathlib import Path

import redis

from ghcm.durable import sync
from ghcm.errors import GhcmError, without_password
from ghcm.runtime.pubsub.redis_connection import commands

_SECONDS = 2.0

_FILE, _FOLDER = "appendonly.aof", "appendonlydir"
"""Redis 6 has one file, later versions have several in a folder."""

Entries = frozenset[tuple[str, int, int]]
"""Files and folders with their numbers, and the times of folders."""


@dataclass(frozen=True, slots=True)
class Persistence:
    """How a server says that it keeps what it answers; `folder` is where its files are, None where it does not say."""

    appends: bool
    syncs: str
    saves: bool
    folder: Path | None = None

    @property
    def ours(self) -> bool:
        """Whether syncing its append-only file is left to those who write."""
        return self.appends and self.syncs == "no" and self.folder is not None and _files(self.folder)[0] != []

    @property
    def weakness(self) -> str:
        """What a loss of power or a restart takes from such a server; empty where it takes nothing."""
        if not self.appends:
            since = "everything since its last RDB file" if self.saves else "all that is in it"
            return f"it has no append-only file, so that a restart loses {since}"
        match self.syncs:
            case "always":
                return ""
            case "everysec":
                return "it syncs its append-only file once a second, so that a loss of power takes the last two seconds"
            case _:
                return "it never syncs its append-only file, so that a loss of power takes the last half minute"


def persistence(client: redis.Redis) -> Persistence | None:
    """What the server says of itself; None where it does not tell users like this one."""
    try:
        found: dict[str, str] = {
            **commands(client).config_get("append*"),
            **commands(client).config_get("dir"),
            **commands(client).config_get("save"),
        }
    except redis.ResponseError:
        return None
    if "appendonly" not in found:
        return None
    return Persistence(
        found["appendonly"] == "yes", found.get("appendfsync", ""), bool(found.get("save")), Path(found.get("dir", "/"))
    )


def weaknesses(url: str) -> list[str]:
    """What the server at `url` may lose of what jobs and calls leave there, for people; none where it does not tell, or
    is away: whoever needs it says that.
    """
    try:
        with redis.Redis.from_url(url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS) as client:  # pyright: ignore[reportUnknownMemberType]
            found = persistence(client)
    except (redis.RedisError, ValueError):
        return []
    if found is None or not found.weakness:
        return []
    wanted = "appendonly yes and appendfsync always"
    return [f"Redis at {without_password(url)}: {found.weakness} of sinks, replies and calls; set {wanted} there"]


def sync_folder(client: redis.Redis, folder: Path, known: Entries = frozenset()) -> Entries:
    """Bring to disk what the server with its files in the folder has answered; returns what tells these files from
    later ones. With that of the last time as `known`, a folder is left alone while its files are the same. GhcmError
    where its disk is full: then it may have answered what it could not write.
    """
    if commands(client).info("persistence")["aof_last_write_status"] != "ok":
        message, hint = "the private Redis cannot write to its disk", "free some room there."
        raise GhcmError(message, code="GHCM-731", detail=f"Its files are in {folder}.", hint=hint)
    try:
        try:
            return _synced(folder, known)
        except FileNotFoundError:  # the server has replaced one by a shorter one meanwhile
            return _synced(folder, known)
    except OSError as error:
        message = f'the files of the private Redis in "{folder}" cannot be brought to disk: {error.strerror}'
        raise GhcmError(message, code="GHCM-731", hint="see that disk, and the log redis.") from error


def _synced(folder: Path, known: Entries) -> Entries:
    files, folders = _files(folder)
    found = frozenset(_entry(each) for each in (*files, *folders))
    for each in files if found == known else (*files, *folders):
        sync(each)
    return found


def _files(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files, and the folders that hold them, innermost first."""
    several = folder / _FOLDER
    found, folders = (list(several.iterdir()), [several, folder]) if several.is_dir() else ([folder / _FILE], [folder])
    return [file for file in found if file.exists()], folders


def _entry(path: Path) -> tuple[str, int, int]:
    """What changes with an entry of a folder: the numbers of files come again, its own time does not."""
    found = path.stat()
    return path.name, found.st_ino, found.st_mtime_ns if path.is_dir() else 0
