"""`compose.yaml`: the services in containers are those that `ghcm services up` starts as processes."""

import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from ghcm.runtime.pubsub import services
from ghcm.runtime.pubsub.embedded import embedded_command
from ghcm.runtime.settings import load_settings

ROOT = Path(__file__).parents[4]
TEXT = (ROOT / "compose.yaml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
BROKER = ROOT / "runtime" / "pubsub" / "broker.properties"

ELSEWHERE = re.compile(r"listener|quorum|sasl|security|log\.dirs")
"""What is another thing in a container: who may come in, where from, and where data lies."""


def _published(name: str) -> tuple[str, str]:
    """The port of this machine, which nobody else reaches, and the one in the container."""
    ((address, outside, inside),) = (each.split(":") for each in COMPOSE["services"][name]["ports"])
    assert address == "127.0.0.1"
    return outside, inside


def _options(words: list[str]) -> dict[str, str]:
    names = [index for index, word in enumerate(words) if word.startswith("--")]
    return {words[index].removeprefix("--"): words[index + 1] for index in names}


def test_the_same_servers_in_the_same_versions() -> None:
    assert COMPOSE["services"].keys() == services.ADDRESSES.keys()
    image, version = COMPOSE["services"]["kafka"]["image"].split(":")
    assert image == "apache/kafka"
    assert f'name="kafka_2.13" rev="{version}"' in BROKER.with_suffix(".xml").read_text()
    assert services.JARS.name == f"kafka-{version}"
    for each in COMPOSE["services"].values():
        assert each["healthcheck"]["test"]
        assert {volume.split(":")[0] for volume in each["volumes"]} <= COMPOSE["volumes"].keys()


def test_the_broker_has_the_same_settings() -> None:
    lines = BROKER.read_text().replace("\\\n", "").splitlines()
    ours = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    given = COMPOSE["services"]["kafka"]["environment"]  # each is a property, as the image's own page says
    theirs = {name.removeprefix("KAFKA_").lower().replace("_", "."): str(value) for name, value in given.items()}
    assert all(name.startswith("KAFKA_") for name in given)
    same = {name: value for name, value in theirs.items() if not ELSEWHERE.search(name)}
    assert same == {name: value for name, value in ours.items() if not ELSEWHERE.search(name)}
    (where,) = (volume.split(":")[1] for volume in COMPOSE["services"]["kafka"]["volumes"])
    assert theirs["log.dirs"] == where


def test_redis_keeps_as_much(tmp_path: Path) -> None:
    words = shlex.split(COMPOSE["services"]["redis"]["command"])
    ours, theirs = _options(embedded_command(tmp_path, 1)), _options(words)
    assert words[0] == "redis-server"
    assert theirs == {name: ours[name] for name in theirs}
    assert theirs.keys() >= {"appendonly", "appendfsync", "maxmemory-policy"}


def test_clients_find_them_as_the_file_says(tmp_path: Path) -> None:
    said = re.search(r"^#\s+export (.*)$", TEXT, re.MULTILINE)
    assert said is not None
    environment = dict(word.split("=", 1) for word in said[1].split())
    settings = load_settings(directory=tmp_path, environment=environment)
    kafka = COMPOSE["services"]["kafka"]["environment"]
    outside, inside = _published("kafka")
    assert settings.kafka.bootstrap == f"127.0.0.1:{outside}"
    assert kafka["KAFKA_ADVERTISED_LISTENERS"] == f"PLAINTEXT://127.0.0.1:{outside}"
    assert f"PLAINTEXT://:{inside}," in kafka["KAFKA_LISTENERS"]
    outside, inside = _published("redis")
    assert (settings.redis, inside) == (f"redis://127.0.0.1:{outside}/0", "6379")
