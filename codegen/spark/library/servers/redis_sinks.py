"""Redis: hashes of rows as JSON by key, and the forms that other applications read."""

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType

from ghcm.codegen.spark.library.files.records import BROKEN, json_text, with_records
from ghcm.codegen.spark.library.job import Job, Refused, Step, Written, letters, parted
from ghcm.codegen.spark.library.sql import named
from ghcm.codegen.spark.library.types import from_arrow, plain, plain_columns, record_columns, record_type, type_of
from ghcm.fence import write_redis as write_commands
from ghcm.tables.redis_forms import Form
from ghcm.values import compact, key_writer, own_writer


def redis_client(url: str) -> Any:
    """A connection to Redis."""
    import redis

    return redis.Redis.from_url(url)  # pyright: ignore[reportUnknownMemberType]


def write_redis(
    job: Job, rows: DataFrame, sink: str, prefix: str, element: DataType, key: str, key_type: DataType, *, mode: str
) -> None:
    """Write rows into a hash by key: `upsert` keeps the latest of each, `replace` swaps the whole. Readers see nothing
    before all rows are there.
    """
    client, call, done = redis_version(job, sink, prefix)
    if done is None:
        staging = f"{prefix}:@staging:{call}" if mode == "upsert" else f"{prefix}:{call}"
        client.unlink(staging)
        parts = stage(job, rows, staging, element, key, key_type, None)
        done = json.dumps({"rows": sum(parts), "time": time.time_ns() // 1000})
        commit_redis(client, job, prefix, staging, call, done, mode)
    job.sinks[sink] = {"version": call, "rows": json.loads(done)["rows"]}


redis_form = Form


def write_redis_form(
    job: Job, rows: DataFrame, sink: str, prefix: str, element: DataType, key: str, key_type: DataType, form: Form
) -> None:
    """Write rows under keys of their own, in a form that other applications read."""
    client, call, done = redis_version(job, sink, prefix)
    if done is None:
        if client.hget(f"{prefix}:@progress", call) is None:
            staging = f"{prefix}:@staging:{call}"
            client.unlink(staging)
            parts = stage(job, rows, staging, element, key, key_type, form)
            noted = {"rows": sum(parts), "parts": parts, "writer": "spark"}
            client.hset(f"{prefix}:@prepared", call, json.dumps(noted))
        prepared = json.loads(client.hget(f"{prefix}:@prepared", call))
        done = json.dumps({"rows": prepared["rows"], "time": time.time_ns() // 1000})
        form.publish(
            lambda step: step(client), partial(write_commands, client, job.fence), prefix, call, done, prepared["parts"]
        )
    job.sinks[sink] = {"version": call, "rows": json.loads(done)["rows"]}


def redis_version(job: Job, sink: str, prefix: str) -> tuple[Any, str, Any]:
    """A connection, the version that a sink is about to have, and what is noted of it where it is committed already."""
    call, url = job.context["call"], redis_url(job)
    job.at = Written(sink, url.rpartition("@")[2])
    client = redis_client(url)
    done = client.hget(f"{prefix}:@versions", call)
    job.repeated = job.repeated or done is not None
    if done is None:
        job.progress(len(job.sinks) / (len(job.sinks) + 2), f"writing {sink}")
    return client, call, done


def stage(
    job: Job, rows: DataFrame, name: str, element: DataType, key: str, key_type: DataType, form: Form | None
) -> list[int]:
    """Write rows into a hash that nobody reads yet; how many, by partition."""
    job.asked.append(rows)
    taken = rows.selectExpr(named(plain(key, key_type), "@key"), named(plain_columns(element), "@row"))
    write = redis_writer(redis_url(job), name, key_type, element, form)
    counts = taken.mapInArrow(write, "part int, rows bigint").collect()
    parts = [0] * (1 + max((each["part"] for each in counts), default=-1))
    for each in counts:
        parts[each["part"]] += each["rows"]
    return parts


def commit_redis(client: Any, job: Job, prefix: str, staging: str, call: str, done: str, mode: str) -> None:
    """Make staged rows visible; what is repeated after a crash changes nothing."""
    former, fence, kept_s = client.get(f"{prefix}:@latest"), job.fence, round(job.context.get("kept", 600))
    if mode == "upsert":
        rows = client.hscan_iter(staging, count=1000)
        while batch := dict(islice(rows, 1000)):
            write_commands(client, fence, partial(_fill, key=prefix, rows=batch))
    kept = mode == "upsert" and client.exists(staging)

    def show(pipe: Any) -> None:
        if kept:
            pipe.rename(staging, f"{prefix}:@call:{call}")
            pipe.expire(f"{prefix}:@call:{call}", kept_s)
        if mode == "replace" and former is not None and former.decode() != call:
            pipe.expire(f"{prefix}:{former.decode()}", kept_s)
        pipe.set(f"{prefix}:@latest", call)
        pipe.hset(f"{prefix}:@versions", call, done)

    write_commands(client, fence, show)


def _fill(pipe: Any, key: str, rows: dict[Any, Any]) -> None:
    pipe.hset(key, mapping=rows)


def redis_writer(
    url: str, name: str, key_type: DataType, element: DataType, form: Form | None
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that writes batches of keys and rows in Spark's Python workers and gives how many it wrote."""
    key, record = type_of(key_type, nullable=True), record_type(element)
    key_of, row_of, key_text, row_json = from_arrow(key), from_arrow(record), key_writer(key), own_writer(record)

    def as_json(row: tuple[Any, ...]) -> str:
        return compact(row_json(row))

    text_of = as_json if form is None else form.text_writer(record)

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        client, task, written = redis_client(url), context.partitionId() if context is not None else 0, 0
        for batch in batches:
            keys, rows = (column.to_pylist(maps_as_pydicts="strict") for column in batch.columns)
            texts = zip(map(key_text, map(key_of, keys)), map(text_of, map(row_of, rows)), strict=True)
            staged = iter(texts) if form is None else form.staged(texts, task, written)
            while part := dict(islice(staged, 1000)):
                client.hset(name, mapping=part)
            written += len(keys)
            counts = [pyarrow.array([task], pyarrow.int32()), pyarrow.array([len(keys)], pyarrow.int64())]
            yield pyarrow.record_batch(counts, names=["part", "rows"])
        client.close()

    return write


def read_redis(job: Job, step: Step, sink: str, prefix: str, *, mode: str) -> DataFrame:
    """The records of a Redis sink: its latest complete version, or the one that the call names."""
    client = redis_client(redis_url(job))
    version = job.context.get("versions", {}).get(sink)
    noted = None if version is None else client.hget(f"{prefix}:@versions", version)
    if version is not None and noted is None:
        raise Refused("GHCM-732", f'"{prefix}" has no version "{version}"')
    if mode == "replace":
        latest = client.get(f"{prefix}:@latest")
        version = version or (latest.decode() if latest is not None else None)
        name = None if version is None else f"{prefix}:{version}"
    else:
        name = prefix
    # A dictionary: of a hash that grows meanwhile, fields may come twice.
    held = {} if name is None else dict(client.hscan_iter(name, count=1000))
    if noted is not None and json.loads(noted)["rows"] and not client.exists(name):  # it may have gone just now
        raise Refused("GHCM-732", f'"{prefix}" has version "{version}" no longer')
    texts = [(text.decode("utf-8", "replace"),) for text in held.values()]
    lines = job.spark.createDataFrame(texts, "`@text` string")
    lines = with_records(lines, step.input, json_text(record_type(step.input), own=True))
    rows = parted(job, lines, BROKEN, lambda failed: letters(job, failed, step, "`@text`"), None)
    return rows.selectExpr(*record_columns(step.input))


def redis_url(job: Job) -> str:
    """Where Redis is, for steps that need it."""
    url = job.context.get("redis")
    if not url:
        raise Refused(
            "GHCM-720", "this run has no Redis", "", "give its URL: --redis, or GHCM_REDIS where GHCM runs it."
        )
    return str(url)
