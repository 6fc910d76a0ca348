"""Batch units in the native engine: what is small is run here, and what is large goes on to Spark."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.pubsub.cache import MessageCache, cache_topic
from ghcm.runtime.pubsub.connections import spark_topic_of
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, SinkVersion, State
from ghcm.runtime.sinks.sink import read, rows_of_call
from ghcm.runtime.slot.engine import Engine
from tests.conformance.live_runs import Compiled, checked
from tests.redis_server import connected

TEXT = """program shop

record Sale { item: string, n: int }
record Many { n: int }

sink sales = parquet("sales", mode = append)
sink totals = redis("shop:totals", key = t => t.key, mode = replace)
sink many = parquet("many", mode = replace)

responsive batch sell(item: string, n: int) engine = native {
  memory([Sale { item: "tea", n: 1 }, Sale { item: "salt", n: 0 }])
    .map(s => Sale { item: item, n: n // s.n }).to(sales)
}

responsive batch total(least: int = 0) {
  sales.read().filter(s => s.n >= least).map_to_pair(s => (s.item, s.n)).reduce_by_key((a, b) => a + b).to(totals)
}

responsive batch count(rows: int) {
  generate(rows = 5000000).map(g => Many { n: g.number }).filter(m => m.n < rows).to(many)
}

responsive batch twice() engine = native {
  memory([Many { n: 1 }]).named("first").to(many)
  memory([Many { n: 2 }]).named("second").to(many)
}

responsive batch long() engine = native {
  generate(rows = 100000000).map(g => Many { n: g.number }).filter(m => m.n < 0).to(many)
}
"""


def _answer(cache: MessageCache, id: str) -> Feedback:
    found = cache.feedback(f"reply-{id}", timeout=30)
    assert found, "no answer came"
    return found[-1].feedback


def test_small_calls_are_run_here_and_large_ones_go_to_spark(tmp_path: Path) -> None:
    program, wanted = checked(TEXT), Event()
    connections, store = connected(tmp_path), open_store(tmp_path / "jobs.sqlite")
    engine = Engine(
        Compiled(program),
        connections=connections,
        state=tmp_path / "state",
        serve=True,
        calls=store.calls,
        spark_wanted=wanted.set,
    )
    caches = {unit.name: connections.cache(cache_topic("shop", unit.name), "shop", "test") for unit in program.units}

    def send(id: str, unit: str, parameters: dict[str, object], **versions: str) -> None:
        caches[unit].send(Instruction(id, "shop", unit, parameters, reply=f"reply-{id}", versions=versions))

    with engine:
        send("1", "sell", {"item": "tea", "n": 5})
        sold = _answer(caches["sell"], "1")
        assert (sold.state, sold.engine, sold.sinks) == (State.DONE, "native", {"sales": SinkVersion("1", 1)})
        assert (sold.detail, sold.dead) == ("1 record failed and went to the dead letters", 1)
        send("2", "sell", {"item": "tea", "n": 7})
        send("2", "sell", {"item": "tea", "n": 7})  # the same call
        _answer(caches["sell"], "2")
        send("3", "total", {})
        assert _answer(caches["total"], "3").rows == 1
        assert list(read(program.sink("totals"), connections)) == [("tea", 12)]
        send("4", "total", {}, sales="1")  # reads what the instruction names
        _answer(caches["total"], "4")
        assert list(read(program.sink("totals"), connections)) == [("tea", 5)]
        assert rows_of_call(program.sink("totals"), connections, call="3", limit=9).rows == [("tea", 12)]

        send("both", "twice", {})
        assert _answer(caches["twice"], "both").rows == 2
        assert sorted(read(program.sink("many"), connections)) == [(1,), (2,)]

        send("5", "count", {"rows": 3})
        assert wanted.wait(60)
        large = connections.cache(spark_topic_of(program, program.unit("count")), "shop", "spark")
        handed = large.receive("count", 30)
        assert handed is not None and handed.instruction.id == "5"
        assert store.calls.accept(handed.instruction).started is None
        store.calls.finish("5", Feedback("5", State.DONE, 1.0, rows=3, engine="spark"))
        assert _answer(caches["count"], "5").engine == "spark"  # told by who had taken the call

        caches["total"].send(Instruction("asked", "shop", "total", {}, engine="spark"))
        asked = connections.cache(spark_topic_of(program, program.unit("total")), "shop", "spark")
        small = asked.receive("total", 30)
        assert small is not None and small.instruction.id == "asked"
        asked.close()
        caches["sell"].send(Instruction("wrong", "shop", "sell", {}, "reply-wrong", engine="spark"))
        wrong = _answer(caches["sell"], "wrong")
        assert wrong.error is not None and wrong.error.message == 'unit "sell" does not run on spark'

        send("6", "long", {})
        while (call := store.calls.get("6")) is None or "rows read" not in call.feedback.detail:
            engine.check()
        assert call.feedback.state is State.PROGRESS and call.started is not None
        store.calls.cancel("6")
        assert _answer(caches["long"], "6").state is State.CANCELLED
        assert engine.status()["units"]["long"]["running"] == 0  # type: ignore[index]
        large.close()
    for cache in caches.values():
        cache.close()
    store.close()
