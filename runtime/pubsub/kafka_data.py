"""Kafka clients for data: opened by the same `[kafka]` as those of msg caches, and which of their errors end the work.

These clients connect again by themselves, so that brokers that are away are waited for. It is imported where topics are
read or written; the client is large.
"""

import re
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError

from ghcm.errors import GhcmError, sentence
from ghcm.runtime.pubsub.kafka_connection import Kafka
from ghcm.topics import no_kafka, trouble


def _codes(names: str) -> frozenset[int]:
    return frozenset(getattr(KafkaError, name) for name in names.split())


UNKNOWN = _codes("UNKNOWN_TOPIC_OR_PART _UNKNOWN_TOPIC _UNKNOWN_PARTITION")
"""A topic or partition is not there, or is not known yet to the broker that was asked."""

_AWAY = _codes(
    "_ALL_BROKERS_DOWN _TRANSPORT _RESOLVE _SSL _TIMED_OUT _TIMED_OUT_QUEUE _MSG_TIMED_OUT _WAIT_COORD _WAIT_CACHE "
    "_RETRY REQUEST_TIMED_OUT LEADER_NOT_AVAILABLE NOT_LEADER_FOR_PARTITION BROKER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE "
    "NETWORK_EXCEPTION COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR NOT_ENOUGH_REPLICAS "
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND KAFKA_STORAGE_ERROR UNKNOWN_LEADER_EPOCH FENCED_LEADER_EPOCH OFFSET_NOT_AVAILABLE"
)
_USER = _codes("_AUTHENTICATION SASL_AUTHENTICATION_FAILED UNSUPPORTED_SASL_MECHANISM")
_RIGHTS = _codes(
    "TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED "
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
)
_BY_TLS = re.compile("SSL_HANDSHAKE|handshake|certificate")
_FENCED = _codes("_FENCED PRODUCER_FENCED INVALID_PRODUCER_EPOCH")
_ANEW = _codes(
    "CONCURRENT_TRANSACTIONS INVALID_TXN_STATE INVALID_PRODUCER_ID_MAPPING UNKNOWN_PRODUCER_ID "
    "OUT_OF_ORDER_SEQUENCE_NUMBER _PURGE_QUEUE _PURGE_INFLIGHT"
)
"""A client cannot go on, but another can begin anew."""
_LARGE = _codes("MSG_SIZE_TOO_LARGE INVALID_MSG_SIZE RECORD_LIST_TOO_LARGE")


def client_options(settings: Kafka, heard: Callable[[KafkaError], None]) -> dict[str, Any]:
    """What a client is opened with; `heard` is told of connections that fail, whenever the client is asked something.
    GhcmError where there is no Kafka.
    """
    if not settings.bootstrap:
        raise no_kafka()
    settings.check_files()
    given = {
        "bootstrap.servers": settings.bootstrap,
        "security.protocol": settings.security_protocol,
        "sasl.mechanism": settings.sasl_mechanism,
        "sasl.username": settings.username,
        "sasl.password": settings.password.get_secret_value() if settings.password else None,
        "ssl.ca.location": settings.ca_file,
        "ssl.certificate.location": settings.cert_file,
        "ssl.key.location": settings.key_file,
        "ssl.key.password": settings.key_password.get_secret_value() or None,
    }
    pauses = {"reconnect.backoff.max.ms": 1000, "socket.connection.setup.timeout.ms": 10_000}
    options = {name: value for name, value in given.items() if value is not None}
    return {**options, **pauses, "error_cb": heard, "log_level": 0}


def passes(error: KafkaError) -> bool:
    """Whether its cause may pass: brokers are away, or move."""
    return error.code() in _AWAY | UNKNOWN or _cut(error)


def _cut(error: KafkaError) -> bool:
    """Whether a connection was lost on which the user was just being told, of which the client says that it failed."""
    return error.code() in _USER and "Broker transport failure" in error.str()


def heals(error: KafkaError) -> bool:
    """Whether another attempt, with a new client, may succeed."""
    return error.code() not in _FENCED and (passes(error) or error.retriable() or error.code() in _ANEW)


def says_why(error: KafkaError) -> bool:
    """Whether a message that did not arrive says more by it than that its client has given up."""
    return not heals(error) and error.code() not in _FENCED


def another_writes(topic: str) -> GhcmError:
    """Another process has the name of this one and goes on in its place."""
    hint = "run a job in one daemon only."
    return GhcmError(f'another process writes to "{topic}" in place of this one', code="GHCM-757", hint=hint)


def explained(settings: Kafka, error: KafkaError, topic: str) -> GhcmError:
    """What the error means for whoever uses the topic, and what to do."""
    if error.code() in _FENCED:
        return another_writes(topic)
    kinds = {"missing": UNKNOWN, "user": _USER, "rights": _RIGHTS, "large": _LARGE, "away": _AWAY}
    why = "away" if _cut(error) else next((why for why, codes in kinds.items() if error.code() in codes), "refused")
    detail = re.sub(r" [(]after \d+ms in state \w+[)]|ipv[46]#", "", error.str())
    if "SSL" in settings.security_protocol and _BY_TLS.search(error.str()):
        why, detail = "tls", "It ends the connection when TLS begins." if "Disconnected" in detail else detail
    return trouble(why, settings.bootstrap, topic, sentence(detail))
