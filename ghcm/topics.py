"""What users read where a topic of Kafka cannot be used, whichever client of it has found out."""

from ghcm.errors import GhcmError

_WORDS = {
    "missing": (
        'there is no topic "{topic}" in {where}',
        "correct its name, or make it: kafka-topics.sh --create --topic {topic} --partitions 4",
    ),
    "user": ("{where} ends the connection of this user", "correct username and password of [kafka]."),
    "rights": ('{where} does not allow the use of "{topic}"', "give this user the rights of docs/kafka.md."),
    "tls": ("{where} cannot be spoken to by TLS", "see security_protocol, ca_file and cert_file of [kafka]."),
    "large": (
        '{where} takes no message as large as one for "{topic}"',
        "raise max.message.bytes of the topic, or write smaller records; those of this version rest until then.",
    ),
    "away": ("{where} cannot be reached", "start it (ghcm services up starts one), or correct GHCM_KAFKA and [kafka]."),
    "refused": ('{where} refused a request for "{topic}"', "see the log of the broker."),
}


def no_kafka() -> GhcmError:
    """There are no brokers to ask."""
    hint = "start one: ghcm services up, then ghcm run --profile services; or name yours in GHCM_KAFKA."
    return GhcmError("there is no Kafka", code="GHCM-739", hint=hint)


def trouble(why: str, brokers: str, topic: str, detail: str) -> GhcmError:
    """What the user of a topic reads of an error of Kafka. `why`: "missing", "user" (or password), "rights", "tls",
    "large" (a message), "away", or "refused" for any other.
    """
    message, hint = (text.format(where=f"Kafka at {brokers}", topic=topic) for text in _WORDS[why])
    return GhcmError(message, code="GHCM-739", detail=detail[:300], hint=hint)


def gone(message: str, detail: str) -> GhcmError:
    """A topic no longer holds messages that are to be read."""
    hint = "lost = earliest goes on with the oldest messages that are there."
    return GhcmError(message, code="GHCM-742", detail=detail, hint=hint)
