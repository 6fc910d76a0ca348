"""A Spark job on a cluster: two workers that share no folder with the driver, and files and tables in a store, which
Spark's readers come to by `s3a`.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tenacity import Retrying, retry_if_exception_type, retry_if_result, stop_after_delay, wait_fixed

from ghcm import driver as compiler
from ghcm import stores
from ghcm.places import Remote
from ghcm.runtime.sinks.sink import read
from tests.java_classes import small
from tests.java_packages import HADOOP, SPARK, fetched
from tests.object_store import KEYS, ObjectStore
from tests.redis_server import connected

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(900)]

PROGRAM = """program sales

record Sale { shop: string, amount: int }

sink totals = parquet("BUCKET/out/totals", mode = replace)
sink lines  = files("BUCKET/out/lines", format = json, mode = append)

responsive batch add_up() {
  sales = files("BUCKET/in/*.json", format = json).as(Sale)
    .union(files("BUCKET/in/*.csv", format = csv).as(Sale))
    .union(files("BUCKET/in/*.parquet", format = parquet).as(Sale))
    .union(table("BUCKET/older").as(Sale))
  sales.to(lines)
  sums = sales.map_to_pair(s => (s.shop, s.amount)).reduce_by_key((a, b) => a + b)
  sums.to(totals)
  sums.reply()
}
"""
AWS = (
    ("org.apache.hadoop", "hadoop-aws", HADOOP),
    ("software.amazon.s3.analyticsaccelerator", "analyticsaccelerator-s3", "1.3.1"),
)
SDK = (("software.amazon.awssdk", "s3-transfer-manager", "2.35.4"),)
"""What Hadoop's client for S3 needs of Amazon's, which is else a download of hundreds of megabytes."""

PATIENT: dict[str, Any] = {"stop": stop_after_delay(120), "wait": wait_fixed(0.2)}


def java(main: str, *words: str, folder: Path) -> subprocess.Popen[bytes]:
    """A process of Spark's cluster in a folder of its own, which knows keys and no store."""
    folder.mkdir()
    known = {name: value for name, value in os.environ.items() if not name.startswith("GHCM_")} | KEYS
    known |= {"SPARK_HOME": str(SPARK.parent), "SPARK_SCALA_VERSION": "2.13"}
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            ["java", *small().split(), "-Xmx256m", "-cp", f"{SPARK}/*", f"org.apache.spark.deploy.{main}",
             "--host", "127.0.0.1", *words],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=known,
        )  # fmt: skip


def end(processes: list[subprocess.Popen[bytes]]) -> None:
    """End them all."""
    for each in processes:
        each.kill()
        each.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The URL of a master with two workers."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        started = [java("master.Master", "--port", str(port), "--webui-port", "0", folder=tmp_path / "master")]
        stack.callback(end, started)
        for attempt in Retrying(retry=retry_if_exception_type(OSError), **PATIENT):
            with attempt:
                socket.create_connection(("127.0.0.1", port)).close()
        for name in ("one", "two"):
            room = ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(tmp_path / name / "work"))
            started.append(java("worker.Worker", *room, url, folder=tmp_path / name))
        logs = [tmp_path / name / "log" for name in ("one", "two")]
        for attempt in Retrying(retry=retry_if_result(lambda up: not up), **PATIENT):
            with attempt:
                up = all(b"Successfully registered" in log.read_bytes() for log in logs)
            attempt.retry_state.set_result(up)
        yield url


def test_a_job_on_a_cluster_reads_and_writes_a_store(cluster: str, store: ObjectStore, tmp_path: Path) -> None:
    bucket = store.bucket()
    expected = given(bucket)
    home = tmp_path / "driver"
    home.mkdir()
    (home / "sales.istream").write_text(PROGRAM.replace("BUCKET", str(bucket)))
    with zipfile.ZipFile(compiler.build(home / "sales.istream")) as archive:
        archive.extractall(home / "opened")
    done = submit(cluster, store, home)
    assert (done["sinks"]["lines"]["rows"], done["dead"]) == (sum(map(len, expected.values())), 3)
    totals = sorted((shop, sum(amounts)) for shop, amounts in expected.items())
    assert sorted(read(compiler.check(home / "sales.istream").sink("totals"), connected(tmp_path))) == totals
    assert sorted((row["key"], row["value"]) for row in done["reply"]) == totals
    ran = [log for name in ("one", "two") for log in (tmp_path / name / "work").glob("*/*/stderr")]
    assert {log.parents[2].parent.name for log in ran} == {"one", "two"}


def given(bucket: Remote) -> dict[str, list[int]]:
    """Files of each format with a line each that is no record, and a table; the amounts by shop."""
    lines = [json.dumps({"shop": f"s{number % 5}", "amount": number}) for number in range(1000)]
    (bucket / "in/a.json").write_bytes("\n".join([*lines, "no record"]).encode())
    (bucket / "in/b.csv").write_bytes(b'shop,amount\ns1,7\n"two\nlines",1\ns2,x\n')
    columns = {"shop": ["s0", None], "amount": [5, 5]}
    table, held = pa.table(columns), pa.BufferOutputStream()
    cast("Any", pq).write_table(table, held)
    (bucket / "in/c.parquet").write_bytes(held.getvalue().to_pybytes())
    older = pa.table({"shop": ["s2", "old"], "amount": [9, 1]})
    uri, options = stores.delta_client(f"{bucket}/older").values()
    deltalake.write_deltalake(uri, older, storage_options=options)
    amounts: dict[str, list[int]] = {"two\nlines": [1], "old": [1]}
    for number in range(1000):
        amounts.setdefault(f"s{number % 5}", []).append(number)
    amounts["s1"].append(7)
    amounts["s0"].append(5)
    amounts["s2"].append(9)
    return amounts


def submit(cluster: str, store: ObjectStore, home: Path) -> dict[str, Any]:
    """What the job prints as its result."""
    jars = ",".join(map(str, fetched(f"hadoop-aws-{HADOOP}", AWS, SDK).glob("*.jar")))
    line: list[str | Path] = [SPARK.parent / "bin" / "spark-submit", "--master", cluster, "--jars", jars]
    line += ["--py-files", home / "opened" / "spark" / "ghcm_spark.zip"]
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": small(),
        "spark.sql.shuffle.partitions": "2",
        "spark.executor.cores": "1",
    }
    for name, value in options.items():
        line += ["--conf", f"{name}={value}"]
    line += [home / "opened" / "spark" / "add_up.py", "--dead", home / "dead"]
    known = {**os.environ, **store.environment(), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(line, cwd=home, env=known, check=False, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
