"""Topics of Kafka, whichever client asks for them: which a pattern means, where reading may begin, and what users read
where one cannot be used.
"""

import re
from collections.abc import Iterable, Mapping

from ghcm.errors import GhcmError

PASSED_OVER = "%s: reading goes on with the oldest that are there. %s"
"""What a log says of messages that are gone, with the message and the detail of the error that this would be."""
OLD = "They were older than the topic keeps them."

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
    "too large": (
        '{where} takes no message as large as one for "{topic}"',
        "raise max.message.bytes of the topic, or write smaller records.",
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
    "large" (a message, which rests) or "too large" (one that does not), "away", or "refused" for any other.
    """
    message, hint = (text.format(where=f"Kafka at {brokers}", topic=topic) for text in _WORDS[why])
    return GhcmError(message, code="GHCM-739", detail=detail[:300], hint=hint)


def gone(message: str, detail: str) -> GhcmError:
    """A topic no longer holds messages that are to be read."""
    hint = "lost = earliest goes on with the oldest messages that are there."
    return GhcmError(message, code="GHCM-742", detail=detail, hint=hint)


def _not_there(message: str, detail: str) -> GhcmError:
    """A topic has never held what reading is to begin with."""
    hint = "correct start; with lost = earliest the oldest messages that are there are the first."
    return GhcmError(message, code="GHCM-742", detail=detail, hint=hint)


def gone_from(topic: str, partition: int, offset: int, detail: str) -> GhcmError:
    """A topic no longer holds the messages of a partition that begin with an offset."""
    return gone(f'the messages of topic "{topic}", partition {partition}, from offset {offset} on are gone', detail)


def matched(pattern: str, topics: Iterable[str]) -> list[str]:
    """Those that a pattern means: it matches their names as a whole, and they are none of Kafka's own."""
    return [each for each in topics if not each.startswith("__") and re.fullmatch(pattern, each)]


def unmatched(pattern: str, brokers: str) -> GhcmError:
    """There is no topic that a pattern means."""
    message = f'no topic in Kafka at {brokers} matches "{pattern}"'
    detail = "Topics of Kafka itself, whose names begin with two underscores, are left out."
    hint = "correct the pattern, or make the topic that it begins with; others are found as they come."
    return GhcmError(message, code="GHCM-739", detail=detail, hint=hint)


def started(
    topic: str, offsets: Mapping[int, int], limits: Mapping[int, tuple[int, int]]
) -> tuple[dict[int, int], list[GhcmError]]:
    """The `offsets` with which partitions of a topic can begin, and what is wrong with the others. `limits`: by
    partition the oldest that there is, and the one behind the newest.
    """
    found: dict[int, int] = {}
    errors: list[GhcmError] = []
    for partition, offset in offsets.items():
        if partition not in limits:
            message = f'topic "{topic}" has no partition {partition}, where reading is to begin'
            errors.append(_not_there(message, ""))
            continue
        low, high = limits[partition]
        if low <= offset <= high:
            found[partition] = offset
        elif offset < low:
            errors.append(gone_from(topic, partition, offset, f"It holds offsets {low} to {high}. {OLD}"))
        else:
            message = (
                f'topic "{topic}", partition {partition}, has not come to offset {offset}, where reading is to begin'
            )
            errors.append(_not_there(message, f"The next message there will have offset {high}."))
    return found, errors
