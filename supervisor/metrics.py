"""What Prometheus is told, put together when it asks: calls, jobs, processes, the store, units of engines and sinks.

Counters of answered calls begin with this process, as Prometheus expects; those of engines with theirs.
"""

import asyncio
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import prometheus_client
import psutil
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from ghcm.runtime.daemon.protocol import Document
from ghcm.runtime.histogram import Histogram
from ghcm.runtime.jobs.store import Store
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.spg.ops import To
from ghcm.supervisor.catalogue import KnownProgram
from ghcm.supervisor.health import Part, Seen

MEDIA_TYPE = prometheus_client.CONTENT_TYPE_LATEST

_OVERLAP_US = 60_000_000
"""How much later than its end an answer may come to be seen in the store."""

_BUCKETS = (
    *(0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5),
    *(1, 2.5, 5, 10, 30, 60, 300, 1800),
)


@dataclass(eq=False)
class Metrics(Collector):
    """All of them, for one event loop."""

    store: Store
    refused: Mapping[str, int]
    _begun: int = field(default_factory=now_us)
    _last: int = 0
    _counted: dict[str, int] = field(default_factory=dict[str, int])
    _rows: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    _families: list[Metric] = field(default_factory=list[Metric])
    _measuring: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        unit = ("program", "unit")
        self._answers = prometheus_client.Counter(
            "ghcm_calls", "Calls that have their answer.", (*unit, "state"), registry=registry
        )
        self._seconds = prometheus_client.Histogram(
            "ghcm_call_seconds", "From a call to its answer.", unit, registry=registry, buckets=_BUCKETS
        )
        registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """What was found at the last look."""
        return self._families

    async def measured(self, programs: Iterable[KnownProgram], seen: Seen, parts: Iterable[Part]) -> bytes:
        """Everything, in the format of Prometheus."""
        async with self._measuring:  # what was counted is for one thread at a time
            return await asyncio.to_thread(self._text, list(programs), seen, parts)

    def _text(self, known: list[KnownProgram], seen: Seen, parts: Iterable[Part]) -> bytes:
        self._count_answers()
        self._families = [
            *_parts(parts),
            *self._calls(known),
            *_processes(known, seen),
            *self._store(),
            *_units(known, seen.units),
            self._sinks(known, seen.units),
        ]
        return prometheus_client.generate_latest(self._registry)

    def _count_answers(self) -> None:
        last = self._begun
        for call in self.store.calls.ended_since(max(self._begun, self._last - _OVERLAP_US)):
            ended = call.ended or 0
            last = max(last, ended)
            if call.id in self._counted:
                continue
            self._counted[call.id] = ended
            self._answers.labels(call.program, call.unit, call.state.value).inc()
            self._seconds.labels(call.program, call.unit).observe((ended - call.accepted) / 1e6)
            for name, sink in call.feedback.sinks.items():
                self._rows[call.program, call.unit, name] += sink.rows
        self._last = max(last, self._last)
        self._counted = {id: ended for id, ended in self._counted.items() if ended > self._last - _OVERLAP_US}

    def _calls(self, programs: Iterable[KnownProgram]) -> Iterator[Metric]:
        waiting = GaugeMetricFamily("ghcm_calls_open", "Calls without an answer.", labels=("program", "unit"))
        for known in programs:
            for unit in known.units:
                waiting.add_metric((known.program.name, unit), self.store.calls.open_calls(known.program.name, unit))
        yield waiting
        refused = CounterMetricFamily("ghcm_calls_refused", "Calls that were too many.", labels=("reason",))
        for reason, count in self.refused.items():
            refused.add_metric((reason,), count)
        yield refused
        jobs = GaugeMetricFamily("ghcm_jobs", "Jobs by their state.", labels=("state",))
        for state, count in Counter(job.state.value for job in self.store.jobs.find()).items():
            jobs.add_metric((state,), count)
        yield jobs

    def _store(self) -> Iterator[Metric]:
        path = self.store.database.path
        size = GaugeMetricFamily("ghcm_store_bytes", "Files of the store of jobs and calls.", labels=("file",))
        for file in (path, path.with_name(f"{path.name}-wal")):
            with suppress(FileNotFoundError):
                size.add_metric((file.name,), file.stat().st_size)
        yield size
        free = shutil.disk_usage(path.parent).free
        yield GaugeMetricFamily("ghcm_disk_free_bytes", "Room on the disk of the state.", value=free)

    def _sinks(self, programs: Iterable[KnownProgram], units: Mapping[str, Any]) -> Metric:
        """Rows by program, unit and sink: of streams as their engine counts them, of calls as their answers say."""
        rows = Counter(self._rows)
        for known in programs:
            standing = units.get(known.job.id, {})
            for unit in known.program.units:
                tasks = standing.get(unit.name, {}).get("tasks", {})
                for task in unit.tasks:
                    if isinstance(task.op, To) and task.id in tasks:
                        rows[known.program.name, unit.name, task.op.sink] += tasks[task.id]["in"]
        family = CounterMetricFamily("ghcm_sink_rows", "Rows given to sinks.", labels=("program", "unit", "sink"))
        for labels, count in rows.items():
            family.add_metric(labels, count)
        return family


def _parts(parts: Iterable[Part]) -> Iterator[Metric]:
    ready, each = True, GaugeMetricFamily("ghcm_part_ready", "Parts that are as they should be.", labels=("part",))
    for part in parts:
        each.add_metric((part.name,), part.state == "ok")
        ready &= part.state == "ok" or not part.needed
    yield each
    yield GaugeMetricFamily("ghcm_ready", "Whether calls can be served.", value=ready)


def _processes(programs: Iterable[KnownProgram], seen: Seen) -> Iterator[Metric]:
    names = {known.job.id: f"engine {known.program.name}" for known in programs}
    label = ("process",)
    up = GaugeMetricFamily("ghcm_process_up", "Processes that are there and answer.", labels=label)
    restarts = CounterMetricFamily("ghcm_process_restarts", "How often it was started again.", labels=label)
    memory = GaugeMetricFamily("ghcm_process_resident_memory_bytes", "With what it has started.", labels=label)
    cpu = CounterMetricFamily("ghcm_process_cpu_seconds", "With what it has started.", labels=label)
    for process in seen.processes:
        shown = (names.get(str(process["name"]), str(process["name"])),)
        up.add_metric(shown, process["health"] == "ok")
        restarts.add_metric(shown, float(str(process["restarts"])))
        if (used := _used(process)) is not None:
            memory.add_metric(shown, used[0])
            cpu.add_metric(shown, used[1])
    yield from (up, restarts, memory, cpu)


def _used(process: Document) -> tuple[int, float] | None:
    """Bytes in memory and seconds of processors that a process and those below it have used; None where it is gone."""
    try:
        first = psutil.Process(int(str(process["pid"])))
        below = first.children(recursive=True) if process["name"] != "daemon" else []
        bytes_, seconds = 0, 0.0
        for each in (first, *below):
            bytes_ += each.memory_info().rss
            seconds += sum(each.cpu_times()[:2])
    except (psutil.Error, ValueError):
        return None
    return bytes_, seconds


def _units(programs: Iterable[KnownProgram], units: Mapping[str, Any]) -> Iterator[Metric]:
    found = [
        ((known.program.name, name), standing)
        for known in programs
        for name, standing in units.get(known.job.id, {}).items()
    ]
    label = ("program", "unit")
    commit = GaugeMetricFamily("ghcm_unit_last_commit_seconds", "When a unit has committed last.", labels=label)
    trouble = GaugeMetricFamily("ghcm_unit_trouble", "Whether a unit waits for a sink, disk or server.", labels=label)
    took = HistogramMetricFamily("ghcm_unit_snapshot_seconds", "From barriers to commit.", labels=label)
    size = GaugeMetricFamily("ghcm_unit_snapshot_bytes", "What the last snapshot needs to be read.", labels=label)
    wrote = CounterMetricFamily("ghcm_unit_snapshot_written_bytes", "What snapshots have written.", labels=label)
    for labels, standing in found:
        trouble.add_metric(labels, bool(standing.get("trouble")))
    running = [(labels, standing) for labels, standing in found if "tasks" in standing]  # the others are only called
    for labels, standing in running:
        if standing["last_commit"]:
            commit.add_metric(labels, standing["last_commit"])
        _add(took, labels, standing["snapshot_s"], _COMMITS)
        size.add_metric(labels, standing["snapshot_bytes"])
        wrote.add_metric(labels, standing["snapshot_bytes_written"])
    yield from (commit, trouble, took, size, wrote)
    yield from _tasks([((*labels, task), each) for labels, unit in running for task, each in unit["tasks"].items()])


_TASK_COUNTERS = {
    "in": ("in_records", "Records taken."),
    "out": ("out_records", "Records given on."),
    "dead": ("dead_records", "Records that failed."),
    "in_bytes": ("in_bytes", "Memory of records taken."),
    "out_bytes": ("out_bytes", "Memory of records given on."),
    "busy_s": ("busy_seconds", "Work of a task, on the loop and beside it."),
}
_TASK_GAUGES = {"backlog": "Records that wait for a task.", "instances": "How many instances a task has."}
_COMMITS = [2.0 ** (power / 2) for power in range(-20, 13)]
"""From 1 ms to 64 s, each 1.4 times the one before: a percentile of commits is no further off than that."""

_SECONDS, _RECORDS = [2.0**power for power in range(-13, 7)], [4.0**power for power in range(10)]


def _tasks(found: Sequence[tuple[tuple[str, ...], Any]]) -> Iterator[Metric]:
    """What tasks, by program, unit and task, say of themselves."""
    label = ("program", "unit", "task")
    for key, (name, text) in _TASK_COUNTERS.items():
        counter = CounterMetricFamily(f"ghcm_task_{name}", text, labels=label)
        for labels, task in found:
            counter.add_metric(labels, task[key])
        yield counter
    for key, text in _TASK_GAUGES.items():
        gauge = GaugeMetricFamily(f"ghcm_task_{key}", text, labels=label)
        for labels, task in found:
            gauge.add_metric(labels, task[key])
        yield gauge
    watermark = GaugeMetricFamily("ghcm_task_watermark_seconds", "The time that its events have reached.", labels=label)
    lag = GaugeMetricFamily("ghcm_task_watermark_lag_seconds", "How far that is behind the clock.", labels=label)
    for labels, task in found:
        if task["watermark"] is not None:
            watermark.add_metric(labels, task["watermark"] / 1e6)
            lag.add_metric(labels, (now_us() - task["watermark"]) / 1e6)
    batches = HistogramMetricFamily("ghcm_task_batch_records", "Records in a batch.", labels=label)
    latency = HistogramMetricFamily(
        "ghcm_task_latency_seconds", "From the arrival of a batch until the task is done with it.", labels=label
    )
    for labels, task in found:
        _add(batches, labels, task["batches"], _RECORDS)
        _add(latency, labels, task["latency_s"], _SECONDS)
    yield from (watermark, lag, batches, latency)


def _add(family: HistogramMetricFamily, labels: Sequence[str], document: Any, bounds: Sequence[float]) -> None:
    """Put a histogram of the engine into a family; its buckets are finer."""
    found = Histogram.read(document)
    buckets: list[tuple[str, float]] = [
        (repr(bound), count) for bound, count in zip(bounds, found.up_to(bounds), strict=True)
    ]
    family.add_metric(labels, [*buckets, ("+Inf", found.count)], found.sum)
