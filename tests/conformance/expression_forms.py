"""Expressions of every form, as programs write them, over records that break engines: what both engines are asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice

from ghcm.expr import Lambda
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.ops import Map
from ghcm.types import INT_MAX, INT_MIN, Type

__all__ = ["FORMS", "Form", "function_of", "rows"]

_PROGRAM = """program forms
record Item { name: string?, price: int, tags: list<string> }
record R {
  n: int, m: int?, f: float, s: string, t: string?, b: bool?,
  ints: list<int>, some: list<int?>?, texts: list<string>, items: list<Item>, deep: list<list<int>>, item: Item
}
sink out = parquet("out")
function half(x: int) : int = x // 2
function fourth(x: int) : int = x.half().half()
function sign(x: int?) : string = match x { null => "none", 0 => "zero", 1..9 or 20..29 => "low", _ => "other" }
function share(part: int, whole: int) : float = let p = part + 0.0 in p / (whole + 0.0)
batch u {
  files("in.jsonl", format = json).as(R).map(BODY).to(out)
}
"""


@dataclass(frozen=True, slots=True)
class Form:
    """A function of `R`, and whether the columnar form has it."""

    text: str
    columnar: bool = True


# Both sides fail in every record, and the first is what is said. What fails goes to the row form.
_BOTH_FAIL = (
    'r => (r.s + "x").to_int().to_string().contains(r.s.repeat(-1))',
    'r => r.s.repeat(-1).contains((r.s + "x").to_int().to_string())',
    'r => ["a", (r.s + "x").to_int().to_string()].join(r.s.repeat(-1))',
    'r => (r.s + "x").to_float() > r.n // (r.n - r.n) + 0.0',
    'r => r.n // (r.n - r.n) + 0.0 >= (r.s + "x").to_float()',
    'r => [(r.s + "x").to_float()].contains(r.n // (r.n - r.n) + 0.0)',
    'r => (r.s + "x").to_date().days_between((r.n // (r.n - r.n)).from_seconds().to_date())',
)

FORMS: tuple[Form, ...] = (
    *(Form(text, columnar=False) for text in _BOTH_FAIL),
    Form(
        'r => let day = add_days(to_date("1970-01-01"), r.n % 30000) in { late: day >= "1970-01-02", '
        'one: day in ["1970-01-01", "2026-01-02"], some: [day, "2026-02-01"], '
        'kind: match day { "1970-01-01" => 1, "2000-01-01".."2030-12-31" => 2, _ => 3 }, '
        'other: if r.n > 0 then day else to_date("2026-03-01"), '
        'moment: max(from_micros(r.n), "1970-01-01T01:00:00.000001+01:00") }'
    ),
    Form("r => r.ints.map(x => x * 2)"),
    Form("r => r.ints.map(x => x + r.n)"),
    Form("r => r.ints.map(x => 1)"),
    Form("r => r.ints.map(x => r.s)"),
    Form("r => r.some.map(x => x ?? r.n)"),
    Form("r => r.ints.filter(x => x > r.n)"),
    Form("r => r.some.filter(x => x is not null).map(x => x // 3)"),
    Form("r => r.some.filter(x => x > r.m)"),
    Form("r => r.ints.any(x => x == r.n)"),
    Form("r => r.ints.all(x => x > 0)"),
    Form("r => r.some.any(x => x > r.m)"),
    Form("r => r.some.all(x => x > 0)"),
    Form("r => r.texts.map(x => x + lower(r.s))"),
    Form("r => r.texts.filter(x => x.contains(r.s)).length()"),
    Form("r => r.items.map(i => i.name)"),
    Form("r => { a: r.some.map((x, i) => (x ?? 0) * r.n % 7 + i), b: r.texts.filter((t, i) => i % 2 == r.n % 2) }"),
    Form("r => r.deep.map((xs, i) => xs.any((x, j) => x == i + j))"),
    Form("r => zip(r.ints, r.some).map(p => p._1 // (p._2 ?? 0))"),
    Form(
        "r => { a: r.some.fold(0, (n, x) => n * 3 + (x ?? r.n)), b: r.texts.fold(r.t, (t, x) => x + t) }",
        columnar=False,
    ),
    Form("r => r.ints.fold(0.5, (left, x) => left / (x - 1))", columnar=False),
    Form("r => r.deep.fold(r.ints, (so_far, xs) => xs + so_far.filter(x => x in xs))", columnar=False),
    Form("r => r.some.fold(null, (last, x) => x ?? last)", columnar=False),
    Form(
        "r => r.deep.map(xs => xs.fold({ n: 0, m: r.m }, (s, x) => { n: s.n + 1, m: if x > s.n then x else s.m }))",
        columnar=False,
    ),
    Form("r => (r.n in r.ints, r.n not in r.ints, r.s in r.texts and not (r.t in r.s), r.m in r.ints)"),
    Form('r => let found = (r.s in ["a", "b", "x"]) in (found, r.n in [1, 2, 3])'),
    Form("r => (r.ints[0], r.texts[1:], r.s[:-1], r.ints[r.n:2])"),
    Form("r => { sum: r.ints.sum(), some: r.some.sum(), of: r.ints.sum(x => x // 2) }"),
    Form("r => r.items.sum(i => i.price // 3)"),
    Form("r => try(r.ints.sum(x => x * 2))", columnar=False),
    Form("r => { a: r.ints.mean(), b: r.texts.min(), c: r.some.max(), d: r.texts.max(t => length(t) + r.n % 2) }"),
    Form("r => { a: r.ints.sort(), b: r.some.sort(descending = true), c: r.texts.sort(by = t => t.length()) }"),
    Form("r => r.items.sort(by = i => i.price, descending = true).map(i => i.name)"),
    Form("r => r.items.sort(by = i => i, descending = true).map(i => i.price)", columnar=False),
    Form("r => { a: r.texts.distinct(), b: r.ints.map(x => x % 2).distinct().sort() }"),
    Form("r => r.deep.map(xs => xs.sort().max() ?? r.n)"),
    Form("r => r.items.filter(i => i.price > r.n and i.name is not null).map(i => i.tags)"),
    Form("r => r.items.map(i => i.tags.map(t => t + r.s + (i.name ?? r.s)))"),
    Form("r => r.items.map(i => i with { price: 0, name: r.t })"),
    Form("r => r.items.map(i => i.only(price, name))"),
    Form("r => r.items.any(i => i.tags.all(t => t != r.s))"),
    Form("r => r.deep.map(xs => xs.map(x => x * r.n))"),
    Form("r => r.deep.map(xs => xs.filter(x => xs.any(y => y < x)))"),
    Form("r => r.deep.filter(xs => xs.length() > 1)"),
    Form("r => r.ints.map(x => { value: x, over: r.f / (x + 0.0) })"),
    Form("r => r.ints.map(x => let y = x - r.n in y * y)"),
    Form("r => r.ints.map(x => let x = x // 2 in (x, r.ints.map(y => x // 3 + y // 3)))"),
    Form("r => let a = r.n // 7 in let b = a * a in b + a"),
    Form("r => let a = lower(r.t) in if a is not null then a + r.t else r.s"),
    Form("r => (let a = r.n + 1 in a, let a = r.n - 1 in a)"),
    Form("r => if r.b then let q = r.n // r.m in (q ?? 0) + (q ?? 1) else 0"),
    Form("r => { a: let a = r.n // 7 in a * a + (let b = a + a in b * b + r.n), b: let n = 7 in n * n * n }"),
    Form("r => try(r.n + 1)"),
    Form("r => try(to_int(r.s)) ?? r.m"),
    Form("r => try(r.ints.get(1)) ?? try(r.n // r.m)"),
    Form("r => try(to_float(r.s))"),
    Form("r => try(r.ints.map(x => x * x))", columnar=False),
    Form("r => r.texts.map(x => try(to_int(x)))"),
    Form("r => r.n.fourth() + fourth(r.ints.length() - r.n.half())"),
    Form("r => (sign(r.n), r.m.sign(), sign(try(to_int(r.s))))"),
    Form("r => r.ints.map(x => share(x // 4, r.ints.length()))"),
    Form('r => match r.s { "a" or "b" => 1, "c".."e" => 2, _ => r.n }'),
    Form('r => match lower(r.t) { null => r.s, "a" or "x" => r.t, _ => "other" }'),
    Form("r => match r.b { true => r.m, false => 0, null => -1 }"),
    Form('r => match r.f { 0.0..1.5 => "low", _ => "high" }'),
    Form("r => match (r.n - 1) { 0 or 1 or 5..9223372036854775807 => 1, _ => 0 }"),
    Form("r => r with { n: 0, item: r.item with { price: r.n } }"),
    Form("r => r.without(deep, items, item)"),
    Form("r => r.item.only(tags, price) with { price: r.n }"),
)

_ITEMS: list[object] = [("a", 1, ["x", "y"]), (None, INT_MAX, []), ("é😀", -3, ["", "a"]), ("b", 10, ["b"])]


def rows(count: int = 48) -> tuple[tuple[object, ...], ...]:
    """Records whose columns go round at different lengths, so that all of them meet."""
    columns: tuple[list[object], ...] = (
        [0, 1, 2, 25, INT_MAX, -7, INT_MIN],
        [None, 0, 3, INT_MIN, -2],
        [0.0, 1.5, -0.0, float("nan"), float("inf"), 2.5],
        ["a", "", "12", "d", "É", "9223372036854775808", "-0", "b"],
        [None, "A", "x", "É", "zz"],
        [True, None, False],
        [[], [1], [3, 1, 2], [INT_MAX, 0], [INT_MIN, -1]],
        [None, [], [None], [1, None, 5], [INT_MAX, -2], [None, -1, 0]],
        [["a"], [], ["", "A", "12", "b"], ["é", "x1"]],
        [[], _ITEMS[:1], _ITEMS, _ITEMS[1:3]],
        [[], [[]], [[1, 2], [], [3]], [[INT_MAX, 2]]],
        list(_ITEMS),
    )
    cells = [list(islice(cycle(column), count)) for column in columns]
    return tuple(zip(*cells, strict=True))


@cache
def function_of(form: Form) -> tuple[Lambda, Type, Type]:
    """The typed function, the type of its records, and that of what it gives."""
    program = lower(parse(Source("forms", _PROGRAM.replace("BODY", form.text))))
    tasks = program.unit("u").tasks
    (op,) = [task.op for task in tasks if isinstance(task.op, Map)]
    return op.function, tasks[0].collection.element, op.function.body.type
