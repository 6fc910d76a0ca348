"""What the sinks of a storm hold at a moment: each number that is committed, once, and each answer on Kafka."""

import json
from collections import Counter
from pathlib import Path

import polars as pl

from ghcm.runtime.pubsub.kafka_connection import topic_name
from ghcm.runtime.pubsub.services import service_logins
from ghcm.tables.plain import PlainTable
from tests.kafka_server import records
from tests.system.storm.calls import FINAL


def answers_on_kafka(folder: Path) -> dict[str, set[bytes]]:
    """The final answers to each call as they stand on Kafka."""
    told: dict[str, set[bytes]] = {}
    for each in records(topic_name("ghcm:feedback:supervisor"), service_logins(folder)[0]):
        answer = json.loads(each.value)
        if answer["state"] in FINAL:
            told.setdefault(answer["id"], set()).add(each.value)
    return told


def numbers_in(folder: Path) -> list[int]:
    """The numbers in the committed files of the sink, each once."""
    table = folder / "out/all"
    found: list[int] = []
    for file in PlainTable(table).live():
        rows = (table / file.name).read_text().splitlines()
        if len(rows) != file.rows:
            raise ValueError(f"{file.name} has {len(rows)} rows, its name says {file.rows}")
        found += [json.loads(row)["number"] for row in rows]
    return once(found)


def heard_in(folder: Path) -> Counter[tuple[int, int, int]]:
    """What the function with state has told: key, how many numbers it had, and their sum."""
    table = folder / "out/heard"
    lines = (line for file in PlainTable(table).live() for line in (table / file.name).read_text().splitlines())
    rows = (json.loads(line) for line in lines)
    return Counter((row["key"], row["value"]["count"], row["value"]["sum"]) for row in rows)


def numbers_in_table(folder: Path) -> list[int]:
    """The numbers in the Delta table, each once."""
    table = folder / "out/table"
    return once(pl.read_delta(str(table))["number"].to_list()) if (table / "_delta_log").exists() else []


def once(numbers: list[int]) -> list[int]:
    if len(numbers) != len(set(numbers)):
        raise ValueError(f"{len(numbers) - len(set(numbers))} of {len(numbers)} rows are there twice")
    return numbers
