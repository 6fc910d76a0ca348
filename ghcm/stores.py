"""Object stores: their clients, by one connection for all who ask, and what they say when they fail.

Who may ask and where stands in the environment, which `[s3]` of `ghcm.toml` fills (`GHCM_S3_ENDPOINT`,
`GHCM_S3_REGION`, `GHCM_S3_CREDENTIALS`, `GHCM_S3_PROFILE`): so all processes of a run have the same connection, and
none has a key in its arguments. Arrow's file systems come with `pyarrow`, repeat what a server fails to do and let the
interpreter go meanwhile; `deltalake` has clients of its own, which take the same connection.
"""

import configparser
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from ghcm.errors import GhcmError
from ghcm.hdfs import hdfs

SCHEMES = ("s3", "gs", "abfs", "abfss", "hdfs")
"""How the URLs begin that are places in stores."""

_ATTEMPTS, _DELTA_ATTEMPTS = 6, 9
"""About a quarter of a minute, by how long each client waits in between."""
_CONNECT_S, _SILENT_S, _REQUEST_S = 5, 10, 30
"""How long to wait for a connection, for the next byte, and for `deltalake` to have a whole answer."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_DENIED = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN|EXPIRED_TOKEN|InvalidAccessKeyId|"
    r"SignatureDoesNotMatch|HTTP status 40[13]|40[13] (Forbidden|Unauthorized)|necessary privileges|"
    r"valid authentication|AccessControlException"
)
_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|NoSuchBucket")
_MISSING = re.compile(
    r"NO_SUCH_KEY|NoSuchKey|RESOURCE_NOT_FOUND|Status\(NOT_FOUND|HTTP status 404|404 Not Found|Path does not exist"
)
_AWAY = re.compile(
    r"NETWORK_CONNECTION|REQUEST_TIMEOUT|SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|THROTTLING|curlCode|"
    r"Status\(UNAVAILABLE|SafeModeException|StandbyException|RetriableException|"
    r"HTTP status (5\d\d|429)|\b(5\d\d|429) [A-Z]|error sending request|error decoding response|[Tt]imed? ?out|"
    r"after \d+ retries|[Cc]onnection (reset|closed|refused)"
)


def scheme_of(path: str) -> str | None:
    """What a URL begins with; None for a path of this machine.

    >>> scheme_of("s3://lake/flows/*.json"), scheme_of("flows/*.json")
    ('s3', None)
    """
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", path)
    return found[1] if found else None


def no_place(path: str, doing: str) -> tuple[str, str] | None:
    """Why a program cannot read or write there, message and detail; None where it can."""
    if (scheme := scheme_of(path)) is None:
        return None
    user, _, host = path.split("/")[2].rpartition("@")
    if ":" in user or (user and not scheme.startswith("abfs")):
        return "a URL of a program holds no key", "Keys stand in the environment, or in a file that ghcm.toml names."
    if scheme in SCHEMES and host:
        return None
    known = ", ".join(f"{each}://" for each in SCHEMES)
    detail = f"A place is a path of this machine, or begins with {known} and a bucket."
    return f'"{path}" is no place that can be {doing}', detail


def file_system(url: str) -> tuple[Any, str]:
    """The file system of Arrow that a URL is in, and its path there."""
    scheme, _, rest = url.partition("://")
    host, inside = urlsplit(f"//{rest.partition('/')[0]}"), rest.partition("/")[2]
    match scheme:
        case "s3":
            return _s3(_connection()), rest
        case "gs":
            return _of_url(f"gs://{host.netloc}?retry_limit_seconds={_REQUEST_S}"), rest  # else a quarter of an hour
        case "abfs" | "abfss":
            return _azure((host.hostname or "").partition(".")[0], _azure_key()), f"{host.username}/{inside}"
        case _:
            return _hdfs(host.netloc), f"/{inside}"


def delta_client(url: str) -> dict[str, Any]:
    """A table as `deltalake` takes it. A commit is put there only if there is none yet of its number, so that of two
    that commit at once one comes second.
    """
    scheme, _, rest = url.partition("://")
    options = {"max_retries": str(_DELTA_ATTEMPTS), "retry_timeout": f"{_REQUEST_S}s"}
    options |= {"timeout": f"{_REQUEST_S}s", "connect_timeout": f"{_CONNECT_S}s"}
    if scheme == "s3":
        it = _connection()
        options |= {"aws_conditional_put": "etag", "aws_region": it.region}
        keys = {"aws_access_key_id": it.key, "aws_secret_access_key": it.secret, "aws_session_token": it.token}
        options |= {name: value for name, value in {**keys, "aws_endpoint_url": it.endpoint}.items() if value}
        options |= {"aws_allow_http": "true"} if (it.endpoint or "").startswith("http://") else {}
    elif (key := _azure_key()) and scheme.startswith("abfs"):
        options["azure_storage_account_key"] = key
    return {"table_uri": f"{scheme}://{quote(rest, safe='/@:')}", "storage_options": options}


def hadoop_settings(scheme: str, *, keys: bool) -> dict[str, str]:
    """The connection to a store as Hadoop's client for it takes it, with or without the keys."""
    if scheme == "s3":
        it = _connection()
        found = {"access.key": it.key, "secret.key": it.secret, "session.token": it.token} if keys else {}
        found |= {"endpoint.region": it.region}
        if it.endpoint:
            secure = str(it.endpoint.startswith("https")).lower()
            found |= {"endpoint": it.endpoint, "path.style.access": "true", "connection.ssl.enabled": secure}
        return {f"fs.s3a.{name}": value for name, value in found.items() if value}
    key = _azure_key() if keys and scheme.startswith("abfs") else None
    return {"fs.azure.account.key": key} if key else {}


def environment() -> dict[str, str]:
    """The variables by which processes on other machines find the store that this one does; they have keys of their
    own.
    """
    found = {name: os.environ.get(name, "") for name in ("GHCM_S3_ENDPOINT", "AWS_ENDPOINT_URL", "GHCM_S3_REGION")}
    return {name: value for name, value in found.items() if value}


def understood(error: Exception, url: str) -> Exception:
    """What a client says as FileNotFoundError, PermissionError (the key may not), or ConnectionError (which may pass:
    it was tried several times already); anything else as it is.
    """
    of_client = isinstance(error, OSError) or type(error).__module__.partition(".")[0] in ("deltalake", "_internal")
    if not of_client or isinstance(error, PermissionError | ConnectionError):
        return error
    if isinstance(error, FileNotFoundError) and error.filename:
        return error
    said = " ".join(_COLOUR.sub("", str(error)).split())
    if _NO_BUCKET.search(said):
        return FileNotFoundError(2, "there is no such bucket", url)
    if _DENIED.search(said):
        return PermissionError(13, "the store refuses the key, or that it does this", url)
    if _MISSING.search(said):
        return FileNotFoundError(2, "there is no such object", url)
    if _AWAY.search(said):
        return ConnectionError(f"the store does not answer, or fails: {said[:300]}")
    return error


@contextmanager
def asking(url: str) -> Generator[None]:
    """Raise what a client of a store raises as it is `understood`."""
    try:
        yield
    except Exception as error:
        plain = understood(error, url)
        if plain is error:
            raise
        raise plain from error


def hint_for(error: Exception, url: str) -> str:
    """What a user can do about what `understood` has given of a place."""
    s3 = url.startswith("s3:")
    match error:
        case PermissionError() if s3:
            keys = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or credentials in [s3] of ghcm.toml"
            return f"see {keys}, and what this key may do there."
        case PermissionError():
            return "see who asks (docs/places.md), and what that user may do there."
        case FileNotFoundError():
            return f"see that bucket and name are right{', and endpoint and region in [s3] of ghcm.toml' * s3}."
        case _:
            return f"see that the store runs, and {'endpoint in [s3] of ghcm.toml' if s3 else 'its address'}."


class _S3(NamedTuple):
    endpoint: str | None
    region: str
    key: str | None
    secret: str | None
    token: str | None


def _connection() -> _S3:
    """The connection to stores that speak S3. Without keys its clients look for the role of this machine."""
    asked = os.environ.get
    endpoint = asked("GHCM_S3_ENDPOINT") or asked("AWS_ENDPOINT_URL")
    region = asked("GHCM_S3_REGION") or asked("AWS_REGION") or asked("AWS_DEFAULT_REGION") or "us-east-1"
    keys = asked("AWS_ACCESS_KEY_ID"), asked("AWS_SECRET_ACCESS_KEY"), asked("AWS_SESSION_TOKEN")
    named = asked("GHCM_S3_CREDENTIALS")
    if named or not keys[0]:
        file = Path(named or asked("AWS_SHARED_CREDENTIALS_FILE") or Path.home() / ".aws" / "credentials")
        keys = _keys(file, asked("GHCM_S3_PROFILE") or asked("AWS_PROFILE") or "default", needed=bool(named))
    return _S3(endpoint, region, *keys)


def _keys(file: Path, profile: str, *, needed: bool) -> tuple[str | None, str | None, str | None]:
    """The keys of a profile in a file of credentials. GhcmError where they are needed and not there."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(file.read_text(encoding="utf-8"))
        found = parser[profile]
        return found["aws_access_key_id"], found["aws_secret_access_key"], found.get("aws_session_token")
    except (OSError, KeyError, ValueError, configparser.Error) as error:
        if not needed:
            return None, None, None
        why = error.strerror if isinstance(error, OSError) else f'it has no keys of the profile "{profile}"'
        hint = f"it is a text of the lines [{profile}], aws_access_key_id = ..., aws_secret_access_key = ..."
        raise GhcmError(f'the credentials "{file}" cannot be read: {why}', code="GHCM-621", hint=hint) from None


class _Clients(dict[tuple[object, ...], Any]):
    """The file systems of this process. They hold keys: where functions travel to another process, these do not."""

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()


_clients = _Clients()


def forget() -> None:
    """Have the next who asks connect anew, as whoever the environment then says."""
    _clients.clear()


def _s3(connection: _S3) -> Any:
    from pyarrow import fs

    if (found := _clients.get(connection)) is None:
        scheme, _, address = (connection.endpoint or "").rpartition("://")
        make: Any = fs.S3FileSystem  # its stubs are older than it is
        found = _clients[connection] = make(
            access_key=connection.key,
            secret_key=connection.secret,
            session_token=connection.token,
            region=connection.region,
            endpoint_override=address.rstrip("/") or None,
            scheme=scheme or None,
            connect_timeout=_CONNECT_S,
            request_timeout=_SILENT_S,
            allow_delayed_open=True,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        )
    return found


def _azure_key() -> str | None:
    return os.environ.get("AZURE_STORAGE_ACCOUNT_KEY")


def _azure(account: str, key: str | None) -> Any:
    from pyarrow import fs

    if (found := _clients.get((account, key))) is None:
        found = _clients[account, key] = fs.AzureFileSystem(account_name=account, account_key=key)
    return found


def _hdfs(address: str) -> Any:
    if (found := _clients.get(("hdfs", address))) is None:
        found = _clients["hdfs", address] = hdfs(address)
    return found


def _of_url(root: str) -> Any:
    from pyarrow import fs

    if (found := _clients.get((root,))) is None:
        found = _clients[root,] = fs.FileSystem.from_uri(root)[0]
    return found
