"""Mistakes with brokers, databases, tables, disks and settings, made for real: what is said, where, and what to do."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition

from ghcm.errors import GhcmError
from ghcm.runtime.daemon import control
from ghcm.runtime.pubsub.kafka_connection import Kafka
from ghcm.runtime.sources.kafka import reading
from tests.conftest import Golden
from tests.delta_logs import forget
from tests.kafka_server import kafka, new_topic, send
from tests.redis_server import connected, shared_server
from tests.system.kafka_runs import admin
from tests.system.mistakes import GOLDEN, READING, ROWS, WRITING, Try
from tests.system.running import clean_environment

pytestmark = pytest.mark.system

TABLE = 'table("visits")'

MISTAKES: dict[str, Callable[[Try], str]] = {
    "kafka_not_configured": lambda attempt: attempt.read('kafka("visits")'),
    "kafka_down": lambda attempt: attempt.read('kafka("visits")', kafka=Kafka(bootstrap="127.0.0.1:1")),
    "redis_not_there": lambda attempt: attempt.write(LATEST),
    "redis_down": lambda attempt: attempt.write(LATEST, url="redis://127.0.0.1:1/0"),
    "redis_wrong_password": lambda attempt: attempt.write(
        LATEST, url=attempt.redis("~* +@all").replace("right", "wrong")
    ),
    "redis_no_rights": lambda attempt: attempt.write(LATEST, url=attempt.redis("~* +@read +@connection")),
    "sql_unknown_connection": lambda attempt: attempt.read(VISITS, sql={"lakes": "sqlite:///lake.db"}),
    "sql_no_url": lambda attempt: attempt.read(VISITS, sql={"lake": "the lake"}),
    "sql_password_not_said": lambda attempt: attempt.read(
        VISITS, sql={"lake": "postgresql://me:${LAKE_PASSWORD}@db/lake"}
    ),
    "sql_no_driver": lambda attempt: attempt.read(VISITS, sql={"lake": "mysql+nobody://me@db/lake"}),
    "sql_server_away": lambda attempt: attempt.read(VISITS, sql={"lake": "postgresql://me@127.0.0.1:1/lake"}),
    "sql_sink_away": lambda attempt: attempt.write(VISITS, sql={"lake": "postgresql://me@127.0.0.1:1/lake"}),
    "sql_no_database": lambda attempt: attempt.read(VISITS, sql={"lake": attempt.postgres.url("lake")}),
    "sql_no_table": lambda attempt: attempt.read(VISITS, sql={"lake": attempt.database}),
    "sql_wrong_query": lambda attempt: attempt.read(
        'sql("lake", query = "select page seconds visits")', sql={"lake": attempt.database}
    ),
    "settings_not_there": lambda attempt: attempt.command("ps", GHCM_CONFIG="ghmc.toml"),
}


def mistake(make: Callable[[Try], str]) -> Callable[[Try], str]:
    """A mistake: how it is made, and by whose name its golden file is called."""
    MISTAKES[make.__name__] = make
    return make


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_MADE_S", 0.2)
    monkeypatch.setattr(control, "_PREDECESSOR_S", 0.1)


@pytest.fixture
def attempt(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Try]:
    yield Try(tmp_path, request.getfixturevalue)


# --- Kafka -----------------------------------------------------------------------------------------------------------


@mistake
def kafka_wrong_topic(attempt: Try) -> str:
    attempt.names[kafka().bootstrap] = "<kafka>"
    return attempt.read('kafka("vists")', kafka=kafka())


@mistake
def kafka_tls_refused(attempt: Try) -> str:
    attempt.names[kafka().bootstrap] = "<kafka>"
    return attempt.read('kafka("visits")', kafka=Kafka(bootstrap=kafka().bootstrap, security_protocol="SSL"))


@mistake
def kafka_no_certificate(attempt: Try) -> str:
    settings = Kafka(bootstrap=kafka().bootstrap, security_protocol="SSL", ca_file="certificates/ca.pem")
    return attempt.read('kafka("visits")', kafka=settings)


@mistake
def kafka_retention_passed(attempt: Try) -> str:
    topic = new_topic([b'{"page": "/", "seconds": 1}'])
    attempt.names[topic] = "visits"
    text = READING.replace("SOURCE", f'kafka("{topic}", start = earliest)')
    attempt.run_until(1, text, kafka=kafka())
    send(topic, [b"{}"] * 3)
    admin().delete_records([TopicPartition(topic, 0, 3)])[TopicPartition(topic, 0)].result(30)
    return attempt.run(text, kafka=kafka())


# --- Redis -----------------------------------------------------------------------------------------------------------

LATEST = 'redis("visits:latest", key = v => v.page)'


@mistake
def redis_key_of_another(attempt: Try) -> str:
    url = str(connected(attempt.base).url)
    attempt.names[str(shared_server().folder)] = "<redis>"
    with shared_server().connect() as client:
        client.select(int(url.rpartition("=")[2]))
        client.set("visits:/", "of another application")
    return attempt.write('redis("visits:{page}", form = list)', url=url)


# --- databases -------------------------------------------------------------------------------------------------------

VISITS = 'sql("lake", "visits")'


@mistake
def sql_wrong_password(attempt: Try) -> str:
    if not attempt.postgres.ask("postgres", "select 1 from pg_roles where rolname = 'lodger'"):
        attempt.postgres.guard("lodger", "right")
    return attempt.read(VISITS, sql={"lake": attempt.postgres.url("postgres", "lodger", "wrong")})


@mistake
def sql_no_rights(attempt: Try) -> str:
    attempt.ask_database(
        "drop role if exists reader", "create role reader login", "create table visits (page text, seconds bigint)"
    )
    url = re.sub("//.*@", "//reader@", attempt.database)
    try:
        return attempt.read(VISITS, sql={"lake": url})
    finally:
        attempt.ask_database("drop role reader")


@mistake
def sql_table_of_another_schema(attempt: Try) -> str:
    attempt.ask_database("create table visits (page text, seconds text)")
    return attempt.write(VISITS, sql={"lake": attempt.database})


@mistake
def sql_row_breaks_a_rule(attempt: Try) -> str:
    attempt.ask_database(
        "create table visits (page text not null, seconds bigint not null constraint short check (seconds < 10))"
    )
    return attempt.write(VISITS, sql={"lake": attempt.database})


# --- tables ----------------------------------------------------------------------------------------------------------


@mistake
def table_not_there(attempt: Try) -> str:
    (attempt.base / "visits").mkdir()
    return attempt.read(TABLE)


@mistake
def table_without_a_column(attempt: Try) -> str:
    attempt.table(rows=ROWS.rename_columns(["page", "secs"]))
    return attempt.read(TABLE)


@mistake
def table_with_another_type(attempt: Try) -> str:
    attempt.table(rows=pa.table({"page": ["/"], "seconds": ["1"]}))
    return attempt.read(TABLE)


@mistake
def table_version_gone(attempt: Try) -> str:
    attempt.table()
    return attempt.read('table("visits", at = 7)')


@mistake
def table_needs_another_reader(attempt: Try) -> str:
    features = {"readerFeatures": ["variantType"], "writerFeatures": ["variantType"]}
    attempt.table({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}})
    return attempt.read(TABLE)


@mistake
def table_log_damaged(attempt: Try) -> str:
    path = attempt.table()
    deltalake.write_deltalake(str(path), ROWS, mode="append")
    (path / "_delta_log" / f"{1:020d}.json").write_text('{"add": ')
    return attempt.read(TABLE)


@mistake
def table_commit_missing(attempt: Try) -> str:
    path = attempt.table()
    for _ in range(2):
        deltalake.write_deltalake(str(path), ROWS, mode="append")
    (path / "_delta_log" / f"{1:020d}.json").unlink()
    return attempt.read(TABLE)


@mistake
def table_file_missing(attempt: Try) -> str:
    path = attempt.table()
    [file] = path.glob("*.parquet")
    attempt.names[file.name] = "part-1.parquet"
    file.unlink()
    return attempt.read(TABLE)


@mistake
def table_file_damaged(attempt: Try) -> str:
    path = attempt.table()
    [file] = path.glob("*.parquet")
    attempt.names[file.name] = "part-1.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    return attempt.read(TABLE)


@mistake
def table_rows_replaced(attempt: Try) -> str:
    text = READING.replace("SOURCE", 'table("visits", follow = true)')
    path = attempt.table()
    attempt.run_until(2, text)
    deltalake.write_deltalake(str(path), ROWS, mode="overwrite")
    return attempt.run(text)


@mistake
def table_log_cleaned_up(attempt: Try) -> str:
    text = READING.replace("SOURCE", 'table("visits", follow = true)')
    path = attempt.table()
    attempt.run_until(2, text)
    for _ in range(3):
        deltalake.write_deltalake(str(path), ROWS, mode="append")
    forget(path, 3)
    return attempt.run(text)


@mistake
def sink_into_a_table_of_another_schema(attempt: Try) -> str:
    attempt.table(rows=pa.table({"page": ["/"], "seconds": ["1"]}))
    return attempt.write('parquet("visits", mode = append)')


@mistake
def sink_into_a_partitioned_table(attempt: Try) -> str:
    attempt.table(partition_by=["page"])
    return attempt.write('parquet("visits", mode = append)')


@mistake
def sink_into_files_of_others(attempt: Try) -> str:
    (attempt.base / "visits").mkdir()
    (attempt.base / "visits" / "mine.json").write_text("{}")
    return attempt.write('files("visits", format = json, mode = append)')


@mistake
def sink_where_a_file_is(attempt: Try) -> str:
    (attempt.base / "visits").write_text("")
    return attempt.write('parquet("visits", mode = append)')


# --- files, disks, commands and settings -----------------------------------------------------------------------------


@mistake
def file_is_not_packed(attempt: Try) -> str:
    (attempt.base / "visits.csv.gz").write_text("page,seconds\n/,1\n")
    return attempt.read('files("visits.csv.gz", format = csv)')


@mistake
def file_of_another_format(attempt: Try) -> str:
    (attempt.base / "visits.parquet").write_text("page,seconds\n/,1\n")
    return attempt.read('files("visits.parquet", format = parquet)')


@mistake
def disk_full(attempt: Try) -> str:
    words = ("run", "big.istream")
    (attempt.base / "big.istream").write_text(
        'program big\nsink out = parquet("out", mode = append)\n'
        "stream watch {\n  generate(rows = 3_000_000).to(out)\n}\n"
    )
    limited = ["sh", "-c", 'ulimit -f 6000; exec "$@"', "sh", sys.executable, "-m", "ghcm.cli", *words]
    done = subprocess.run(
        limited, cwd=attempt.base, capture_output=True, text=True, check=False, env=clean_environment()
    )
    return attempt.told(words, "", done.stderr, done.returncode)


@mistake
def run_waits_for_a_database(attempt: Try) -> str:
    (attempt.base / "visits.csv").write_text("page,seconds\n/,12\n")
    (attempt.base / "visits.istream").write_text(WRITING.replace("SINK", VISITS))
    folder, words, said = attempt.postgres.folder, ("run", "visits.istream"), ""
    url = attempt.database.replace(str(folder), str(folder / "later"))
    with subprocess.Popen(
        [sys.executable, "-m", "ghcm.cli", *words],
        cwd=attempt.base,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(GHCM_SQL_LAKE=url),
    ) as process:
        assert process.stderr is not None
        while "hint:" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        (folder / "later").symlink_to(folder)
        output, rest = process.communicate(timeout=120)
    (folder / "later").unlink()
    return attempt.told(words, output, said + rest, process.returncode)


@mistake
def run_without_its_redis(attempt: Try) -> str:
    (attempt.base / "visits.istream").write_text(WRITING.replace("SINK", LATEST))
    return attempt.command("run", "visits.istream", GHCM_REDIS="redis://me:secret@127.0.0.1:1/0")


@mistake
def run_with_a_wrong_password_of_redis(attempt: Try) -> str:
    url = attempt.redis("~* +@all").replace("right", "wrong")
    (attempt.base / "visits.istream").write_text(WRITING.replace("SINK", LATEST))
    return attempt.command("run", "visits.istream", GHCM_REDIS=url)


@mistake
def services_not_running(attempt: Try) -> str:
    (attempt.base / "visits.istream").write_text(READING.replace("SOURCE", 'kafka("visits")'))
    return attempt.command("run", "visits.istream", "--profile", "services")


@mistake
def port_in_use(attempt: Try) -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        attempt.names[str(taken.getsockname()[1])] = "8000"
        with pytest.raises(GhcmError) as told:
            control.listen(*taken.getsockname())
        return attempt.named(f"{told.value}")


@mistake
def settings_no_toml(attempt: Try) -> str:
    (attempt.base / "ghcm.toml").write_text("state = here\n")
    return attempt.command("ps")


@mistake
def settings_unknown(attempt: Try) -> str:
    (attempt.base / "ghcm.toml").write_text('[kafka]\nbootsrap = "kafka:9092"\n')
    return attempt.command("ps")


@mistake
def settings_without_password(attempt: Try) -> str:
    (attempt.base / "ghcm.toml").write_text(
        '[kafka]\nbootstrap = "kafka:9092"\nsecurity_protocol = "SASL_SSL"\nsasl_mechanism = "PLAIN"\nusername = "me"\n'
    )
    return attempt.command("ps")


# --- what is said ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_explained(name: str, attempt: Try, golden: Golden) -> None:
    said = MISTAKES[name](attempt)
    assert not re.search("Traceback|GHCM-7[09][019]", said), "a mistake of ours"
    assert not re.search("secret|wrong@", said)
    assert re.search(r"(?m)^ *= hint: \S", said) or name.startswith("settings"), "there is always something to do"
    golden(GOLDEN / f"{name}.txt", f"{said}\n")


def test_every_golden_file_has_its_mistake() -> None:
    of_guarded_brokers = {"kafka_wrong_password", "kafka_no_rights"}  # see test_kafka_source
    assert {path.stem for path in GOLDEN.iterdir()} == {*MISTAKES, *of_guarded_brokers}
