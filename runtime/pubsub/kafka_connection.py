"""Kafka clients: where the brokers are and how they are spoken to, the producer that the msg caches of a process share,
topics made where they are missing, and what is said when brokers are away or refuse.

kafka-python is imported when brokers are asked for. It logs nothing: its last words are the detail of our errors.
"""

import hashlib
import logging
import os
import re
import threading
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, Self, cast
from weakref import WeakValueDictionary

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from ghcm.errors import GhcmError

log = logging.getLogger("ghcm.pubsub")


class Kafka(BaseModel):
    """`[kafka]`: the brokers that carry calls (host:port, several with commas; empty: none do), and how to speak to
    them. Files are PEM; `cert_file` and `key_file` are for brokers that ask who the client is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    bootstrap: str = Field(default="", serialization_alias="bootstrap_servers")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    username: str | None = Field(default=None, serialization_alias="sasl_plain_username")
    password: SecretStr = Field(default=SecretStr(""), exclude=True)
    ca_file: str | None = Field(default=None, serialization_alias="ssl_cafile")
    cert_file: str | None = Field(default=None, serialization_alias="ssl_certfile")
    key_file: str | None = Field(default=None, serialization_alias="ssl_keyfile")
    key_password: SecretStr = Field(default=SecretStr(""), exclude=True)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.security_protocol.startswith("SASL") != (self.sasl_mechanism is not None):
            raise ValueError("sasl_mechanism goes with the security_protocol SASL_PLAINTEXT or SASL_SSL")
        if self.sasl_mechanism and not (self.username and self.password.get_secret_value()):
            raise ValueError("sasl_mechanism needs username and password (GHCM_KAFKA_PASSWORD)")
        return self

    def said(self) -> dict[str, str]:
        """What stands here by its name, passwords too: for jobs, to which it is handed inside of a process."""
        names = {"password": self.password, "key_password": self.key_password}
        secrets = {name: secret.get_secret_value() for name, secret in names.items()}
        return {name: value for name, value in {**self.model_dump(), **secrets}.items() if value}

    def variables(self) -> dict[str, str]:
        """What stands here as the environment has it, for processes that are started from here."""
        said = {f"GHCM_KAFKA_{name.upper()}": value for name, value in self.said().items()}
        return said | {"GHCM_KAFKA": said.pop("GHCM_KAFKA_BOOTSTRAP", "")}

    def check_files(self) -> None:
        """GhcmError where a file that clients need cannot be read."""
        for name in ("ca_file", "cert_file", "key_file") if "SSL" in self.security_protocol else ():
            if (file := getattr(self, name)) and not os.access(file, os.R_OK):
                hint = "see that the path is right, from where this runs, and who may read the file."
                raise GhcmError(f'{name} of [kafka], "{file}", cannot be read', code="GHCM-739", hint=hint)

    def options(self, seconds: float) -> dict[str, Any]:
        """What a client is opened with, which takes at most so many seconds. GhcmError where a file is missing."""
        self.check_files()
        given = self.model_dump(by_alias=True, exclude_none=True)
        given["sasl_plain_password"] = self.password.get_secret_value()
        given["ssl_password"] = self.key_password.get_secret_value()  # None would ask the terminal for it
        return given | {"bootstrap_timeout_ms": int(seconds * 1000), "reconnect_backoff_max_ms": 1000}


class _Heard(logging.Handler):
    """What the clients of this process say, each on a thread of its own."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._last_words = WeakValueDictionary[str, deque[str]]()

    def of(self, client: str) -> deque[str]:
        """The last words of clients of this name, as long as somebody holds them."""
        return self._last_words.setdefault(f"kafka-io-{client}", deque(maxlen=20))

    def emit(self, record: logging.LogRecord) -> None:
        said, kept = record.getMessage(), self._last_words.get(record.threadName or "")
        # That it has failed, how it connects, or that others have the processor, are no reasons.
        if kept is not None and not re.search("ootstrap|in the clear|event loop", said):
            kept.append(said[:300])


def _cause(last_words: Iterable[str]) -> str:
    """What tells most of why a connection was lost: attempts that follow say less, and time runs out for all."""
    said = list(last_words)
    reasons = (
        each for tells in (r"\[SSL|uthentic", "^(?!.*timed out)") for each in reversed(said) if re.search(tells, each)
    )
    return next(reasons, "".join(said[-1:]))


_heard, _numbers = _Heard(), count(1)
logging.getLogger("kafka.net").addHandler(_heard)
logging.getLogger("kafka").addHandler(logging.NullHandler())
logging.getLogger("kafka").propagate = False


@dataclass(eq=False)
class Brokers:
    """Those of these settings; an operation takes at most `patience` seconds. For several threads."""

    settings: Kafka
    patience: float
    made: set[str] = field(default_factory=set[str])
    """Topics that are known to be there."""
    _producer: Any = None
    _admin: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _asking: threading.Lock = field(default_factory=threading.Lock)
    _name: str = field(default_factory=lambda: f"ghcm-{os.getpid()}-{next(_numbers)}")

    def __post_init__(self) -> None:
        self._last_words = _heard.of(self._name)

    def client(self, kind: Any, seconds: float, **more: Any) -> Any:
        """A client of kafka-python, opened within so many seconds; one that cannot be leaves no thread behind."""
        return _opened(kind, self.settings.options(seconds) | {"client_id": self._name} | more)

    @contextmanager
    def admin(self, seconds: float | None = None) -> Generator[Any]:
        """A client that manages topics and groups, opened within so many seconds. GhcmError for what Kafka says
        within.
        """
        from kafka import KafkaAdminClient

        with self.told(), closing(self.client(KafkaAdminClient, seconds or self.patience)) as admin:
            yield admin

    def ask(self) -> None:
        """Return once Kafka has answered a question over a connection that is kept. GhcmError where it does not."""
        from kafka import KafkaAdminClient

        with self.told(), self._asking:
            if self._admin is None:
                more = {"request_timeout_ms": int(self.patience * 1000)}
                self._admin = self.client(KafkaAdminClient, self.patience, **more)
            try:
                self._admin.describe_cluster()
            except Exception:
                self._end_asking()
                raise

    def _end_asking(self) -> None:
        admin, self._admin = self._admin, None
        if admin is not None:
            admin.close()

    def send(self, topic: str, how: tuple[int, int], data: bytes, key: str | None = None, why: str = "") -> None:
        """Return once the record is stored; GhcmError if it cannot be. The topic is made as `make` does."""
        self.make(topic, *how)
        headers = [("why", why.encode(errors="backslashreplace"))] if why else []
        with self.told(topic):
            sending = self._sender().send(topic, data, key and key.encode(), headers=headers)
            sending.get(timeout=self.patience)

    def leave(self, topic: str, *record: Any, **more: Any) -> None:
        """As `send`; what Kafka will never take is in the log alone, for nothing may wait for that."""
        try:
            self.send(topic, *record, **more)
        except GhcmError as error:
            if may_pass(error):
                raise
            log.error('"%s" gets nothing: %s', topic, error)

    def make(self, topic: str, partitions: int, keep: int, seconds: float | None = None) -> None:
        """Make a topic that keeps what it holds for so many seconds, unless it is there. GhcmError if it may not be."""
        from kafka.errors import BrokerResponseError, TopicAlreadyExistsError

        if topic in self.made:
            return
        kept = {"retention.ms": str(keep * 1000), "segment.ms": str(max(60, keep // 10) * 1000)}
        kept["message.timestamp.type"] = "LogAppendTime"  # brokers refuse what a clock sends that is an hour ahead
        with self.admin(seconds) as admin:
            try:
                admin.create_topics({topic: {"num_partitions": partitions, "configs": kept}}, wait_for_metadata=True)
            except TopicAlreadyExistsError:
                pass
            except BrokerResponseError as error:
                if admin.describe_topics([topic])[0]["error_code"]:
                    message = f'Kafka neither shows nor makes the topic "{topic}" for this user'
                    how = " ".join(f"--config {name}={value}" for name, value in kept.items())
                    hint = f"have it made: kafka-topics.sh --create --topic {topic} --partitions {partitions} {how}"
                    raise GhcmError(message, code="GHCM-739", detail=f"{type(error).__name__}.", hint=hint) from error
        self.made.add(topic)

    @contextmanager
    def told(self, topic: str = "") -> Generator[None]:
        """GhcmError for what Kafka says within; then that topic may be there no more."""
        from kafka.errors import KafkaError

        try:
            yield
        except KafkaError as error:
            self.made.discard(topic)
            what, detail, hint = "refused a request", f"{error}"[:300], "see the log of the broker."
            if error.retriable:
                what, detail = "cannot be reached", _cause(self._last_words) or detail
                hint = "start it (ghcm services up starts one), or correct GHCM_KAFKA and [kafka]."
            if "AuthorizationFailed" in f"{type(error).__name__} {detail}":
                what, hint = "does not allow that", "give this user the rights that docs/services.md lists."
            if "[SSL" in detail:
                what, hint = "cannot be spoken to by TLS", "see security_protocol, ca_file and cert_file of [kafka]."
            if self.settings.sasl_mechanism and re.search("uthentic|socket disconnected", detail):
                what, hint = "ends the connection of this user", "correct username and password of [kafka]."
            message = f"Kafka at {self.settings.bootstrap} {what}"
            raise GhcmError(message, code="GHCM-739", detail=detail, hint=hint) from error

    def close(self) -> None:
        """Close what is kept."""
        with self._asking:
            self._end_asking()
        with self._lock:
            if self._producer is not None:
                self._producer.close(timeout=1)
                self._producer = None

    def _sender(self) -> Any:
        from kafka import KafkaProducer

        with self._lock:
            if self._producer is None:
                limits = ("delivery_timeout_ms", "request_timeout_ms", "max_block_ms")
                # What comes twice is harmless, and an idempotent producer refuses all that follows some errors.
                more: dict[str, Any] = {"acks": "all", "enable_idempotence": False}
                more |= dict.fromkeys(limits, int(self.patience * 1000))
                self._producer = self.client(KafkaProducer, self.patience, **more)
            return self._producer


def may_pass(error: Exception) -> bool:
    """Whether Kafka may take later what it has not taken now."""
    return isinstance(error, GhcmError) and getattr(error.__cause__, "retriable", False)


def _opened(kind: Any, options: dict[str, Any]) -> Any:
    from kafka.net.compat import KafkaNetClient

    begun: list[Any] = []

    def begin(**more: Any) -> Any:
        begun.append(cast("Any", KafkaNetClient)(**more))
        # Brokers would make topics with too few partitions; the option of that name comes to nothing.
        begun[0]._manager.cluster.config["allow_auto_create_topics"] = False
        return begun[0]

    try:
        return kind(**options, kafka_client=begin)
    except Exception:
        for client in begun:
            client.close()
        raise


def topic_name(name: str) -> str:
    """The name that Kafka has for a cache, an address or a consumer: its own where Kafka allows it, else with a hash,
    so that no two become one.

    >>> topic_name("traffic.rebuild"), topic_name("ghcm:cache:a:b")
    ('traffic.rebuild', 'ghcm-cache-a-b-3fcc50d74e17')
    """
    if re.fullmatch(r"(?!.*-[0-9a-f]{12}$)[A-Za-z0-9_-][A-Za-z0-9._-]{0,239}", name):
        return name
    return f"{re.sub('[^A-Za-z0-9._-]', '-', name)[:220]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
