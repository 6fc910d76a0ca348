"""Settings: what a run needs to know that is no part of the program, from `ghcm.toml`, the environment and the
command line.

Later ones win: file, then `GHCM_*` variables, then arguments. Names follow the file: `[http] port` is
`GHCM_HTTP_PORT`, `commit_interval` is `GHCM_COMMIT_INTERVAL`; `GHCM_KAFKA` is `[kafka] bootstrap`. A program names
connections, never a password; the URLs of Redis and of databases and `[kafka]` may hold one and are never printed.
`redis` may name a file that has its URL.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, cast, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from ghcm.errors import GhcmError, sentence, suggest, without_password
from ghcm.places import Place, place
from ghcm.runtime.access.admission import Access, Oidc
from ghcm.runtime.durations import Seconds, seconds
from ghcm.runtime.limits import Limits, Quotas
from ghcm.runtime.pubsub.kafka_connection import Kafka
from ghcm.runtime.retry import Restarts, Retry
from ghcm.stores import no_place

FILE = "ghcm.toml"
"""Looked for in the working directory; GHCM_CONFIG names another."""

EMBEDDED = "embedded"

REDIS = "GHCM_REDIS"
"""The variable that tells a process its Redis. Arguments, and so the password in one, are read by all on a machine."""

_SECRET = {("kafka",), ("kafka", "password"), ("kafka", "key_password")}


def _redis(value: object) -> object:
    """The URL itself, or that in the file which `file:PATH` names."""
    if isinstance(value, str) and value.startswith("file:"):
        try:
            value = Path(value.removeprefix("file:")).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"the file that it names cannot be read: {sentence(error)}") from None
    if isinstance(value, str) and (value == EMBEDDED or re.match(r"(redis|rediss|unix)://", value)):
        return value
    raise ValueError(
        'expected "embedded", "redis://host:port/0" or "unix:///path/of/socket", or "file:" and the file with it'
    )


def _kept_at(value: object) -> object:
    if isinstance(value, str) and (why := no_place(value, "written")) is not None:
        raise ValueError(f"{why[0]}; {why[1].lower().removesuffix('.')}")
    return value


def _listed(value: object) -> object:
    """A list, or its parts with commas between them, as a variable has it."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


_Origin = Annotated[str, Field(pattern="^https?://[^/@]+$")]

_STRICT = ConfigDict(extra="forbid", frozen=True)


class Http(BaseModel):
    """`[http]`: where the Supervisor listens."""

    model_config = _STRICT
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """0: a free one."""
    certificate: Path | None = None
    """A file of PEM with the certificate for TLS, and those between it and its authority; None: no TLS."""
    key: Path | None = None
    """The file of PEM with its private key, without a password."""
    hosts: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    """Further names under which it is reached, as behind a proxy."""
    origins: Annotated[tuple[_Origin, ...], BeforeValidator(_listed)] = ()
    """Pages of other servers that may ask, as in "https://office.example"; none by default."""
    hsts: str = "max-age=31536000; includeSubDomains"
    """`Strict-Transport-Security`, for browsers that came by TLS; it is about all ports of the name. "": none."""
    header_bytes: Annotated[int, Field(ge=1000)] = 32_768
    """Bytes of the head of a request: its first line and headers."""
    header_time: Seconds = 10.0
    """How long it may take to come, and the handshake of TLS before it."""
    body_time: Seconds = 30.0
    """How long the body of a request may take to come."""
    send_time: Seconds = 60.0
    """How long who is being answered may take nothing of the answer."""
    keep_alive: Seconds = 5.0
    """How long a connection may wait for its next request."""
    connections: Annotated[int, Field(gt=0)] = 800
    """Connections that are answered at once; 32 more may be open."""
    address_connections: Annotated[int, Field(gt=0)] = 400
    """The same for one address, or for one network of IPv6 (/64)."""


class Spark(BaseModel):
    """`[spark]`: where batch units run."""

    model_config = _STRICT
    master: str = "local[*]"
    memory: str = "1g"
    """Heap of the driver, which in local mode does all the work."""
    home: Path | None = None
    """A Spark installation; None: that of the pyspark package."""


class S3(BaseModel):
    """`[s3]`: the stores behind `s3://`; keys stand in the environment, or in a file."""

    model_config = _STRICT
    endpoint: Annotated[str, Field(pattern="^https?://[^/@]+/?$")] | None = None
    """The URL of a server that speaks S3; None: Amazon's."""
    region: str | None = None
    credentials: Path | None = None
    """A file as Amazon's tools have it; None: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or theirs."""
    profile: str | None = None
    """Which keys of the file."""


class Log(BaseModel):
    """`[log]`: what the processes write."""

    model_config = _STRICT
    format: Literal["text", "json"] = "text"
    """`json`: an object a line, with the ids of the call and the trace that it is about."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """From where on; `debug` has a line for each call that went well."""


class Keep(BaseModel):
    """`[keep]`: how long what is over stays."""

    model_config = _STRICT
    calls: Seconds = 24 * 3600.0
    """Calls that have their answer."""
    answers: Annotated[float, BeforeValidator(seconds), Field(ge=1)] = 600.0
    """The rows of replies, those of calls in Redis, and versions there that were replaced."""
    jobs: Seconds = 30 * 24 * 3600.0
    """Jobs that have ended, with their bundles, snapshots and logs; what is needed to resume a program always stays."""
    letters: Seconds = 30 * 24 * 3600.0
    """Dead letters: of a program that runs each, of one that runs no more all, from the last of them."""
    letters_bytes: Annotated[int, Field(ge=1)] = 1_000_000_000
    """Dead letters of each unit; the oldest go first."""
    log_bytes: Annotated[int, Field(ge=1000)] = 10_000_000
    """The size from which a log is begun anew; the one before it stays beside it."""
    snapshots: Annotated[int, Field(ge=1)] = 2
    """Snapshots of each unit."""


class Settings(BaseModel):
    """All settings with their defaults. Paths are relative to the working directory."""

    model_config = _STRICT
    state: Path = Path(".ghcm")
    profile: Literal["embedded", "services"] = "embedded"
    """`services`: those of `ghcm services up` are what `redis` and `kafka` stand for where they are not said."""
    redis: Annotated[str, BeforeValidator(_redis), Field(repr=False)] = EMBEDDED
    sql: Annotated[dict[str, str], Field(repr=False)] = {}
    """URLs of databases by the names that programs use; `${NAME}` in one stands for a variable of the environment."""
    kafka: Kafka = Kafka()
    trusted: Path | None = None
    """A file of public keys, or a folder of such: a daemon takes only bundles that one of them has signed."""
    snapshots: Annotated[str, BeforeValidator(_kept_at)] | None = None
    """A folder or a URL for the snapshots of streams; None: in the state directory."""
    commit_interval: Seconds = 1.0
    call_timeout: Seconds = 3600.0
    """How long a call without a deadline of its own may take; one over HTTP to a stream unit a minute at most."""
    patience: Seconds = 30.0
    """How long a server that is away is waited for."""
    http: Http = Http()
    access: Access = Access()
    oidc: Oidc = Oidc()
    spark: Spark = Spark()
    s3: S3 = S3()
    limits: Limits = Limits()
    retry: Retry = Retry()
    units: dict[Annotated[str, Field(pattern="^[^/]+/[^/]+$")], Retry] = {}
    """What differs from `[retry]` for calls of single units, by "PROGRAM/UNIT"."""
    quotas: Quotas = Quotas()
    keep: Keep = Keep()
    restarts: Restarts = Restarts()
    log: Log = Log()

    def snapshots_at(self, state: Path) -> Place:
        """Where the snapshots of jobs are whose state is there."""
        return state / "snapshots" if self.snapshots is None else place(Path.cwd(), self.snapshots)

    def retry_of(self, program: str, unit: str) -> Retry:
        """The retry policy of the calls of a unit."""
        own = self.units.get(f"{program}/{unit}", Retry())
        return self.retry.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})

    def tokens_at(self, state: Path) -> Path:
        """The file of tokens of a daemon whose state is there."""
        return self.access.tokens or state / "tokens.json"

    @property
    def embedded(self) -> bool:
        """Whether GHCM starts a private Redis."""
        return self.redis == EMBEDDED

    @property
    def redis_url(self) -> str | None:
        """The Redis that is given; None where a private one is started."""
        return None if self.embedded else self.redis

    @property
    def standing(self) -> str:
        """What serves logs and places, for people; empty where the settings name it all."""
        brokers = self.kafka.bootstrap
        if self.profile == "services":
            return f"profile: services (Kafka at {brokers}, Redis at {without_password(self.redis)})"
        served = f"places are served by a private Redis, calls by Kafka at {brokers}"
        embedded = served if brokers else "logs and places are served by a private Redis"
        return f"profile: embedded ({embedded})" if self.embedded else ""

    def served(self) -> Self:
        """These with what their profile stands for, which processes that are started from here are told. GhcmError
        where that does not run.
        """
        if self.profile == "embedded" or (not self.embedded and self.kafka.bootstrap):
            return self
        from ghcm.runtime.pubsub.services import service_logins

        kafka, redis = service_logins(self.state / "services")
        brokers = self.kafka if self.kafka.bootstrap else kafka
        os.environ.update(brokers.variables())
        return self.model_copy(update={"redis": redis if self.embedded else self.redis, "kafka": brokers})

    def shown(self) -> dict[str, object]:
        """The settings as they may be printed."""
        settings: dict[str, object] = self.model_dump(mode="json")
        settings["redis"] = self.redis if self.embedded else without_password(self.redis)
        return settings | {"sql": {name: re.sub("//.*@|[?].*", _bare, url) for name, url in self.sql.items()}}


def _bare(secret: re.Match[str]) -> str:
    return "//" if secret[0].startswith("//") else ""


def load_settings(
    arguments: Mapping[str, object] | None = None,
    *,
    directory: Path = Path(),
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings of a run. `arguments` are those given on the command line, by name (`{"http": {"port": 0}}`; None
    values are not given). GhcmError lists every bad value with the file, variable or argument it stands in, what was
    found and what is expected.
    """
    variables = os.environ if environment is None else environment
    _refuse_password((arguments or {}).get("redis"))
    path = Path(variables.get("GHCM_CONFIG", directory / FILE))
    sources: list[tuple[str, dict[str, object]]] = [
        ("the arguments", _given(arguments or {})),
        ("the environment", _from_environment(variables)),
        (f'"{path}"', _from_file(path, required="GHCM_CONFIG" in variables)),
    ]
    merged: dict[str, object] = {}
    for _, values in reversed(sources):
        merged = _merge(merged, values)
    try:
        settings = Settings.model_validate(merged)
    except ValidationError as error:
        raise _bad(error.errors(include_url=False), sources) from None
    if environment is None:  # where the clients of stores look, also in child processes that stand elsewhere
        given = {
            "s3": settings.s3.model_dump(exclude_none=True),
            "http": settings.http.model_dump(include={"certificate", "key"}, exclude_none=True),
            "access": settings.access.model_dump(include={"tokens"}, exclude_none=True),
        }
        for table, values in given.items():
            os.environ.update({f"GHCM_{table}_{name}".upper(): _absolute(value) for name, value in values.items()})
    return settings


def _refuse_password(redis: object) -> None:
    """GhcmError for an argument with a password, which everybody on this machine can read."""
    if isinstance(redis, str) and re.search(r"//[^/]*:[^/]*@|[?&]password=", redis):
        raise GhcmError(
            "a password in an argument is read by everybody on this machine",
            code="GHCM-621",
            detail=f"--redis has the URL of {without_password(redis)} with a password.",
            hint="put the URL into a file and say --redis file:PATH, or into GHCM_REDIS.",
        )


def _absolute(value: object) -> str:
    return str(value.absolute() if isinstance(value, Path) else value)


def _from_file(path: Path, *, required: bool) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if not required:
            return {}
        hint = "correct GHCM_CONFIG, or unset it"
        raise GhcmError(f'there is no settings file "{path}"', code="GHCM-621", hint=hint) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = 'correct the file; texts stand in quotes: state = "folder".'
        raise GhcmError(f'"{path}" is no valid TOML', code="GHCM-621", detail=f"{error}.", hint=hint) from None
    except OSError as error:
        hint = "let the user of this process read it, or name another file in GHCM_CONFIG."
        raise GhcmError(f'"{path}" cannot be read: {error.strerror}', code="GHCM-621", hint=hint) from None


def _from_environment(variables: Mapping[str, str]) -> dict[str, object]:
    """`GHCM_<NAME>`, and `GHCM_<TABLE>_<NAME>` for the tables."""
    found: dict[str, object] = {}
    for name, field in Settings.model_fields.items():
        inner = field.annotation
        if get_origin(inner) is dict or (isinstance(inner, type) and issubclass(inner, BaseModel)):
            prefix = f"GHCM_{name.upper()}_"
            table = {
                key.removeprefix(prefix).lower(): text for key, text in variables.items() if key.startswith(prefix)
            }
            if name == "kafka" and "GHCM_KAFKA" in variables:
                table["bootstrap"] = variables["GHCM_KAFKA"]
            if table:
                found[name] = table
        elif f"GHCM_{name.upper()}" in variables:
            found[name] = variables[f"GHCM_{name.upper()}"]
    return found


def _given(arguments: Mapping[str, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in arguments.items():
        table = _table(value)
        found[name] = value if table is None else _given(table)
    return {name: value for name, value in found.items() if value is not None and value != {}}


def _merge(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    merged = dict(below)
    for name, value in above.items():
        old, new = _table(merged.get(name)), _table(value)
        merged[name] = value if old is None or new is None else _merge(old, new)
    return merged


def _table(value: object) -> Mapping[str, object] | None:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def _bad(errors: list[ErrorDetails], sources: list[tuple[str, dict[str, object]]]) -> GhcmError:
    lines = [_line(error, sources) for error in errors]
    count = "a setting is" if len(lines) == 1 else f"{len(lines)} settings are"
    return GhcmError(f"{count} wrong", code="GHCM-621", detail="\n            ".join(lines), hint=_hint(errors))


def _line(error: ErrorDetails, sources: list[tuple[str, dict[str, object]]]) -> str:
    path = tuple(str(part) for part in error["loc"])
    source = next((name for name, values in sources if _holds(values, path)), "the settings")
    name = f"GHCM_{'_'.join(path).upper()}" if source == "the environment" else ".".join(path)
    hidden = path[0] in ("redis", "sql") or path in _SECRET or path == ("s3", "endpoint")
    found = "" if hidden else f"; found {error['input']!r}"
    expected = error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        expected, found = "there is no such setting", ""
    return f"{name} in {source}: {expected[:1].lower()}{expected[1:]}{found}"


def _holds(values: object, path: tuple[str, ...]) -> bool:
    for part in path:
        table = _table(values)
        if table is None or part not in table:
            return False
        values = table[part]
    return True


def _hint(errors: list[ErrorDetails]) -> str:
    for error in errors:
        if error["type"] == "extra_forbidden":
            table, *inner = map(str, error["loc"])
            known: object = Settings.model_fields[table].annotation if inner else Settings
            if isinstance(known, type) and issubclass(known, BaseModel):
                return suggest((inner or [table])[-1], known.model_fields)
    return ""
