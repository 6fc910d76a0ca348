"""Operators of tables: the newest record of each key."""

from ghcm.operators.operator import EXPRESSION, Operator, option
from ghcm.support import Never

TABLES = (
    Operator(
        "latest",
        arguments=(
            option("key", "lambda1"),
            option("deleted", "lambda1"),
            option("order", "lambda1"),
            option("ttl", "duration"),
        ),
        gives="Table<K, T>, or Pairs<K, T> of input that ends",
        meaning=(
            "a table of the newest record of each key (of pairs, where no key is said, the newest value), out of which "
            "a record takes its key for which deleted = r => ... is true. Newest is what comes last, or with order = "
            "r => ... the greatest by that, however late the others come, and of several with one order the greatest "
            "record; a batch unit needs an order. What follows such a table of input that never ends (filter, map, "
            "joins with other tables, aggregations) follows its changes: what it has made of a record is taken back "
            "when another takes its place or it is deleted, and the sinks, of mode upsert, lose those keys. The key of "
            "such a sink tells its records apart. A policy behind it counts what is taken back as what comes. With "
            "ttl = 1d a key of which no record came for so long in event time is forgotten as if it were deleted "
            "(stream units): what such a table keeps does not grow with all keys that there ever were"
        ),
        exchange="hash",
        stateful=True,
        failures=EXPRESSION,
        columnar=Never("what is the newest of a key is found record by record"),
    )
    .example(
        'users = memory([{ id: 1, name: "ann", op: "c" }, { id: 2, name: "bob", op: "c" }, '
        '{ id: 1, name: "eve", op: "u" }, { id: 2, name: "bob", op: "d" }])\n'
        '         .latest(key = u => u.id, deleted = u => u.op == "d")\n'
        "users.to(out)",
        'out: {"key": 1, "value": {"id": 1, "name": "eve", "op": "u"}}',
        declares='sink out = redis("users", key = u => u.key, mode = upsert)',
        unit="stream",
    )
    .example(
        "memory([{ id: 1, at: 5 }, { id: 1, at: 3 }, { id: 2, at: 4 }]).latest(key = r => r.id, order = r => r.at)",
        '{"key": 1, "value": {"id": 1, "at": 5}}',
        '{"key": 2, "value": {"id": 2, "at": 4}}',
    )
    .example(
        "seen = memory([{ id: 1, at: 5 }, { id: 2, at: 6 }, { id: 1, at: 300 }, { id: 3, at: 3700 }])\n"
        "         .event_time(r => from_seconds(r.at), disorder = 0s).latest(key = r => r.id, ttl = 1h)\n"
        "seen.to(out)",
        'out: {"key": 1, "value": {"id": 1, "at": 300}}',
        'out: {"key": 3, "value": {"id": 3, "at": 3700}}',
        declares='sink out = redis("seen", key = r => r.key, mode = upsert)',
        unit="stream",
    ),
)
