import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest

from ghcm import (
    Digits,
    Pipeline,
    Program,
    ProgramError,
    Record,
    agg,
    arrival,
    associative,
    coalesce,
    commutative,
    cumulating,
    files,
    fn,
    if_else,
    int32,
    match_,
    memory,
    redis,
    session,
    sliding,
    tumbling,
)
from ghcm.language import ast, load, parse, print_program
from ghcm.language.fluent.positions import here
from ghcm.language.fluent.tracing import trace
from ghcm.language.printing.expressions import flat
from ghcm.operators import OPERATORS, Role
from ghcm.source import Source, Span
from tests.unit.language.traffic import PYTHON, TEXT


def traced(function: Callable[..., object]) -> str:
    return flat(trace(function, here()))


def said(span: Span | None) -> str:
    return "" if span is None else span.source.text[span.start : span.end]


def test_the_example_of_the_design_is_the_same_tree_in_both_front_ends(tmp_path: Path) -> None:
    path = tmp_path / "traffic.py"
    path.write_text(PYTHON, encoding="utf-8")
    assert load(path) == parse(Source("traffic.istream", TEXT))
    assert "traffic" not in sys.modules


def test_every_operator_is_a_method_and_no_method_is_anything_else() -> None:
    operators = {name for name, each in OPERATORS.items() if each.role is not Role.SOURCE} | {"read"}
    methods = {name.removesuffix("_") for name, each in vars(Pipeline).items() if callable(each) and name[0] != "_"}
    assert methods - {"then"} == operators


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda f: f.a + 1 - f.b * 2 / 3 // 4 % 5, "f => f.a + 1 - f.b * 2 / 3 // 4 % 5"),
        (lambda f: (f.a == 1) & (f.b != 2) | ~(f.c <= 3.5), "f => f.a == 1 and f.b != 2 or not f.c <= 3.5"),
        (lambda f: 1 - f.a, "f => 1 - f.a"),
        (lambda f: -f.a + abs(f.b), "f => -f.a + abs(f.b)"),
        (lambda f: -1, "f => -1"),
        (lambda f: f.a.is_null(), "f => f.a is null"),
        (lambda f: f.a.is_not_null(), "f => f.a is not null"),
        (lambda f: f["class"].lower(), 'f => f["class"].lower()'),
        (lambda f: f.from_, "f => f.from"),
        (lambda f: "a" + f.b, 'f => "a" + f.b'),
        (lambda f: (f.a, [f.b, "x"], {"c": f.d}), 'f => (f.a, [f.b, "x"], { c: f.d })'),
        (lambda f: if_else(f.a > 0, "up", None), 'f => if f.a > 0 then "up" else null'),
        (lambda f: match_(f.a, {"x": 1, "y": 2}, otherwise=0), 'f => match f.a { "x" => 1, "y" => 2, _ => 0 }'),
        (lambda f: coalesce(f.a, f.b, 0), "f => f.a ?? f.b ?? 0"),
        (lambda f: fn.max(f.a, f.b).to_string(), "f => max(f.a, f.b).to_string()"),
        (lambda f: f.ts + timedelta(minutes=-1), "f => f.ts + -1m"),
        (lambda f: f.ts >= datetime(1970, 1, 2, tzinfo=UTC), "f => f.ts >= from_micros(86400000000)"),
        (lambda a, b: a.count() == b.count(), "(a, b) => a.count() == b.count()"),
        (associative(commutative(lambda a, b: a * b)), "@associative @commutative (a, b) => a * b"),
        (lambda f, factor=3: f.a * factor, "f => f.a * 3"),
        (lambda f: f"{f.a}-{f.b.lower()}!", 'f => f.a.to_string() + "-" + f.b.lower().to_string() + "!"'),
        (lambda f: f.b == "n=" + str(f.a), 'f => f.b == "n=" + f.a.to_string()'),
        (lambda f: f.a * Decimal("-1.50"), 'f => f.a * to_decimal("-1.50", 3, 2)'),
        (lambda f: f.a.to_decimal(10, 2).round_half_up(1), "f => f.a.to_decimal(10, 2).round_half_up(1)"),
        (lambda f: len(f.a) + len("abc"), "f => f.a.length() + 3"),
        (lambda f: f.a[1:-2] + f.a[:3] + f.a[f.n :], "f => f.a[1:-2] + f.a[:3] + f.a[f.n:]"),
        (lambda f: f.a.startswith("x") & f.a.endswith("y"), 'f => f.a.starts_with("x") and f.a.ends_with("y")'),
        (
            lambda f: f.at.strftime("%Y") + f.at.date().strftime("%j"),
            'f => f.at.format_time("%Y") + f.at.to_date().format_time("%j")',
        ),
        (
            lambda f: f.at.hour("Europe/Berlin") + f.at.isoweekday(),
            'f => f.at.hour("Europe/Berlin") + f.at.day_of_week()',
        ),
        (lambda f: f.a.find("x") + f.a.count("y"), 'f => f.a.index_of("x") + f.a.count_of("y")'),
        (
            lambda f: f.a.strip("-").removeprefix("x").rjust(8),
            'f => f.a.trim("-").remove_prefix("x").pad_start(8, " ")',
        ),
        (lambda f: f.a.encode().hex(), "f => f.a.to_bytes().to_hex()"),
        (lambda f: f.items.map(lambda i: f"{i}/{f.a}"), 'f => f.items.map(i => i.to_string() + "/" + f.a.to_string())'),
    ],
)
def test_lambdas_say_what_their_text_says(function: Callable[..., object], text: str) -> None:
    assert traced(function) == text


def test_functions_are_traced_through() -> None:
    def double(value: Any) -> Any:
        return value * 2

    assert traced(lambda f: double(f.a)) == "f => f.a * 2"


class Inner(Record):
    when: date
    long: timedelta


class Everything(Record):
    a: bool
    b: int32
    c: Annotated[Decimal, Digits(10, 2)]
    d: bytes
    e: list[str | None]
    f: dict[str, list[float]]
    g: tuple[int, datetime]
    h: Inner
    i: "Inner | None"


def test_annotations_become_types() -> None:
    program = Program("types")
    text = print_program(program.tree())
    assert "record Inner { when: date, long: duration }" in text
    for line in (
        "a: bool",
        "b: int32",
        "c: decimal(10, 2)",
        "d: bytes",
        "e: list<string?>",
        "f: map<string, list<float>>",
        "g: (int, timestamp)",
        "h: Inner",
        "i: Inner?",
    ):
        assert f"\n  {line}\n" in text


def unit_text(program: Program, name: str) -> str:
    tree = program.tree()
    only = tuple(each for each in tree.declarations if isinstance(each, ast.UnitDecl) and each.name.text == name)
    return print_program(ast.Program(tree.name, only)).removeprefix(f"program {tree.name.text}\n\n")


def test_variables_name_pipelines_and_the_rest_stands_inline() -> None:
    program = Program("names")
    out = program.sink(redis("out"))

    @program.stream
    def unit() -> None:
        lines = files("books/*.txt", format="text")
        same = lines
        shorter = same.filter(lambda line: line.text.length() < 9)
        done = shorter.to(out)
        done.publish(unit(), every="10s", at_end=True)
        lines.map(lambda line: line.text)
        total = lines.count().to(out)  # noqa: F841 - it names the count

    assert unit_text(program, "unit") == (
        "stream unit {\n"
        '  lines = files("books/*.txt", format = text)\n'
        "  shorter = lines.filter(line => line.text.length() < 9)\n"
        "  shorter.to(out).publish(unit(), every = 10s, at_end = true)\n"
        "  lines.map(line => line.text)\n"
        "  total = lines.count().to(out)\n"
        "}\n"
    )


def test_helpers_may_build_parts_of_a_unit() -> None:
    program = Program("helpers")
    out = program.sink(redis("out"))

    def words(path: str) -> Pipeline:
        lines = files(path)
        return lines.flat_map(lambda line: line.text.split(" "))

    @program.batch
    def unit() -> None:
        for path in ("a", "b"):
            words(path).to(out)

    assert unit_text(program, "unit").count('.flat_map(line => line.text.split(" "))') == 2


def test_strings_become_names_and_durations_where_these_are_wanted() -> None:
    program = Program("options")

    @program.stream
    def unit() -> None:
        a = files("a", format="csv", separator=";")
        b = a.window(sliding("1m", timedelta(seconds=10), offset="2s", time="processing"), allowed_lateness="500us")
        c = b.join(a, on=lambda x, y: x.a == y.a, kind="left", within=("-1h", "5m")).window(session("5m"))
        c.aggregate_by_key(n=agg.count(), total=agg.sum("value.bytes"), top=agg.max(lambda v: v.bytes))
        c.aggregate_by_key(a=agg.last("value", order=arrival), b=agg.first("value", 3, order=lambda v: v.n))
        c.aggregate_by_key(m=agg.mean("n", scale=2)).map(lambda p: fn.div(p.value.m, 3, scale=4))
        a.window(cumulating("1h", every="5m"))

    assert unit_text(program, "unit") == (
        "stream unit {\n"
        '  a = files("a", format = csv, separator = ";")\n'
        "  b = a.window(sliding(1m, 10s, offset = 2s, time = processing), allowed_lateness = 500us)\n"
        "  c = b.join(a, on = (x, y) => x.a == y.a, kind = left, within = (-1h, 5m)).window(session(5m))\n"
        "  c.aggregate_by_key(n = count(), total = sum(value.bytes), top = max(v => v.bytes))\n"
        "  c.aggregate_by_key(a = last(value, order = arrival), b = first(value, 3, order = v => v.n))\n"
        "  c.aggregate_by_key(m = mean(n, scale = 2)).map(p => div(p.value.m, 3, scale = 4))\n"
        "  a.window(cumulating(1h, 5m))\n"
        "}\n"
    )


def test_arguments_stand_as_they_are_given() -> None:
    program = Program("given")

    @program.batch
    def unit() -> None:
        a = files("a").event_time(lambda x: x.t, "10s")
        b = a.top(3, lambda x: x.n, ascending=True).sort(by=lambda x: x.n)
        a.join(b, lambda x, y: x.n == y.n).read("key").sample(0.5, seed=None)

    assert unit_text(program, "unit") == (
        "batch unit {\n"
        '  a = files("a").event_time(x => x.t, disorder = 10s)\n'
        "  b = a.top(3, x => x.n, ascending = true).sort(by = x => x.n)\n"
        '  a.join(b, (x, y) => x.n == y.n).read("key").sample(0.5)\n'
        "}\n"
    )


def shout(text: str) -> list[str]:
    return [text.upper()]


async def ask(text: str) -> str:
    return text


def test_python_functions_say_their_place_and_their_type() -> None:
    program = Program("functions")

    @program.batch
    def unit() -> None:
        a = memory([1, 2]).python(shout)
        a.python("module:function", Inner, by="batch").count()
        a.python(ask, retries=2)
        a.process(shout, str, state=Inner)

    assert unit_text(program, "unit") == (
        "batch unit {\n"
        f'  a = memory([1, 2]).python("{__name__}:shout") : list<string>\n'
        '  a.python("module:function", by = batch) : Inner.count()\n'
        f'  a.python("{__name__}:ask", by = async, retries = 2) : string\n'
        f'  a.process("{__name__}:shout", state = Inner) : string\n'
        "}\n"
    )


def test_a_window_is_as_long_as_a_parameter_says() -> None:
    program = Program("sizes")

    @program.batch(responsive=True)
    def unit(size: timedelta) -> None:
        memory([1]).event_time(lambda n: n.from_micros()).window(tumbling(size)).count().reply()

    assert ".window(tumbling(size))\n" in unit_text(program, "unit")


def test_places_are_those_of_the_users_python() -> None:
    function = trace(lambda f: (f.first > 1) & (f.second == "x"), here())
    assert isinstance(function.body, ast.Binary)
    assert isinstance(function.body.right, ast.Binary)
    assert said(function.body.right.span) == 'f.second == "x"'
    assert said(function.body.right.right.span) == '"x"'
    assert isinstance(function.body.right.left, ast.Attribute)
    assert said(function.body.right.left.name_span) == "second"


def test_without_source_the_line_is_kept() -> None:
    space: dict[str, Any] = {}
    exec(compile("\n\nfunction = lambda f: f.a and f.b\n", "<stdin>", "exec"), space)
    with pytest.raises(ProgramError) as caught:
        trace(space["function"], here())
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert str(span.origin) == "<stdin>:3:1"


def test_without_source_variables_still_name_things() -> None:
    space: dict[str, Any] = {}
    code = (
        "from ghcm import Program, files, redis\n"
        "p = Program('p')\n"
        "out = p.sink(redis('out'))\n"
        "@p.stream\n"
        "def unit():\n"
        "    lines = files('x')\n"
        "    lines.to(out)\n"
    )
    exec(compile(code, "<stdin>", "exec"), space)
    assert print_program(space["p"].tree()) == (
        'program p\n\nsink out = redis("out")\n\nstream unit {\n  lines = files("x")\n  lines.to(out)\n}\n'
    )


def test_mistakes_of_a_module_that_nobody_loads_are_raised_at_once() -> None:
    with pytest.raises(ProgramError, match='"and" cannot be traced'):
        redis("x", key=lambda r: r.a and r.b)


def test_helper_modules_are_found_beside_the_program(tmp_path: Path) -> None:
    (tmp_path / "shapes_of_test.py").write_text("from ghcm import Record\n\nclass Shape(Record):\n    a: int\n")
    program = "from ghcm import Program, files\nfrom shapes_of_test import Shape\n\np = Program('p')\n\n\n"
    program += "@p.stream\ndef unit():\n    files('x').as_(Shape)\n"
    (tmp_path / "main_of_test.py").write_text(program)
    assert "record Shape { a: int }" in print_program(load(tmp_path / "main_of_test.py"))
    sys.modules.pop("shapes_of_test")


def test_a_step_is_the_same_tree_in_both_front_ends(tmp_path: Path) -> None:
    path = tmp_path / "hops.py"
    path.write_text(
        """
from ghcm import Program, Record, files, parquet

hops = Program("hops")

class Hop(Record):
    a: str
    b: str

out = hops.sink(parquet("out"))

@hops.batch
def job():
    known = files("hops.json").as_(Hop)
    more = known.filter(lambda h: h.a != h.b)

    def step(s):
        met = s.join(more, on=lambda l, r: l.b == r.a)
        return s.union(met.map(lambda j: Hop(a=j.left.a, b=j.right.b))).distinct()

    known.iterate(step, until=lambda before, after: after.count() == before.count(), limit=9).to(out)
"""
    )
    text = """program hops
record Hop { a: string, b: string }
sink out = parquet("out")
batch job {
  known = files("hops.json").as(Hop)
  more = known.filter(h => h.a != h.b)
  known.iterate(s => s.union(s.join(more, on = (l, r) => l.b == r.a)
                              .map(j => Hop { a: j.left.a, b: j.right.b })).distinct(),
                until = (before, after) => after.count() == before.count(), limit = 9).to(out)
}
"""
    assert print_program(load(path)) == print_program(parse(Source("hops.istream", text)))


def chained(operators: int, folder: Path) -> Path:
    head = "from ghcm import Program, memory\n\np = Program('p')\n\n\n@p.batch\ndef u():\n    x = memory([{'n': 1}])\n"
    path = folder / f"chained_{operators}.py"
    path.write_text(head + "    x = x.filter(lambda r: r.n > 0)\n" * operators, encoding="utf-8")
    return path


def test_a_pipeline_of_many_operators_is_followed(tmp_path: Path) -> None:
    text = print_program(load(chained(1_000, tmp_path)))
    assert text.count(".filter(") == 1_000
