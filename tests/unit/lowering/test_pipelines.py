"""Tasks of pipelines: rules for every operator, ids that come from names, golden graphs."""

import re
from pathlib import Path

import pytest

from ghcm.codes import Code
from ghcm.language.loading import load
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.lowering.operators import READS, RULES, SOURCES, UNIONS
from ghcm.operators import OPERATORS
from ghcm.reducers import Builtin, Custom, Fields, Kind
from ghcm.source import Source
from ghcm.spg.graph import Forward, Global, Hash, Unit
from ghcm.spg.ops import Publish, ReduceByKey
from ghcm.spg.text import print_program
from ghcm.spg.verify import verify
from ghcm.support import Yes
from ghcm.types import Shape
from tests.conftest import Golden
from tests.unit.lowering.lowered import codes, program, task

FOLDER = Path(__file__).resolve().parents[2] / "golden" / "lowering"


def test_every_operator_has_one_rule() -> None:
    rules = [*SOURCES, *READS, *UNIONS, *RULES]
    assert sorted(rules) == sorted(OPERATORS)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.istream")), ids=lambda path: path.stem)
def test_a_program_becomes_a_graph(path: Path, golden: Golden) -> None:
    lowered = lower(parse(Source(path.name, path.read_text(encoding="utf-8"))))
    assert verify(lowered) == []
    golden(path.with_suffix(".spg"), print_program(lowered))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.python")), ids=lambda path: path.stem)
def test_both_front_ends_give_the_same_graph(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / f"{path.stem}.py"
    copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    assert lower(load(copy)) == lower(load(path.with_suffix(".istream")))


def test_both_front_ends_show_every_operator() -> None:
    python = (FOLDER / "operators.python").read_text(encoding="utf-8")
    works = [operator.name for operator in OPERATORS.values() if isinstance(operator.reference, Yes)]
    assert [name for name in works if not re.search(rf"\b{name}_?\(", python)] == []


# --- ids -------------------------------------------------------------------------------------------------------------

LIVE = """stream live {{
  data = socket("a:1", format = json).as(Row)
{}
  counts = data.map_to_pair(r => (r.name, 1)).reduce_by_key((a, b) => a + b)
  counts.to(latest)
  data.filter(r => r.id > 1).filter(r => r.id < 9).to(rows)
}}"""


def ids(unit: Unit) -> list[str]:
    return [each.id for each in unit.tasks]


def test_ids_come_from_names() -> None:
    live = program(LIVE.format("")).unit("live")
    assert ids(live) == [
        "data", "counts/map_to_pair", "counts", "latest.to", "rows/filter", "rows/filter~2", "rows.to",
    ]  # fmt: skip
    assert [each.id for each in live.tasks if each.named] == ["data", "counts"]


def test_a_new_statement_shifts_no_id() -> None:
    more = "  other = data.filter(r => r.id > 7).map(r => r.id)\n  others = other.distinct()"
    before, after = (program(LIVE.format(text)).unit("live") for text in ("", more))
    added = set(ids(after)) - set(ids(before))
    assert added == {"other/filter", "other", "others"}
    assert [each for each in after.tasks if each.id not in added] == list(before.tasks)


def test_named_and_assigned_ends_have_ids_of_their_own() -> None:
    unit = program(
        """responsive batch job(n: int) {
             data = files("a.json").as(Row)
             first = data.filter(r => r.id > 1).to(rows)
             data.filter(r => r.id < n).named("second").to(rows)
             data.map(r => r.id).to(rows2).publish(next(n = count()), every = 10)
             data.top(n, by = r => r.id).reply()
           }
           sink rows2 = parquet("rows2")
           responsive batch next(n: int) { rows.read().top(n, by = r => r.id).reply() }"""
    ).unit("job")
    assert ids(unit) == [
        "data", "first", "first.to", "second", "second.to", "rows2/map", "rows2.to", "rows2.publish", "reply/top",
        "reply",
    ]  # fmt: skip
    published = unit.task("rows2.publish").op
    assert isinstance(published, Publish)
    assert published.after == "rows2.to"


# --- collections -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "kind", "named", "shape"),
    [
        ('socket("a:1", format = json)', "stream", True, Shape.TABLE),
        ('socket("a:1", format = json)', "stream", False, Shape.TABLE),
        ('files("a.json")', "stream", True, Shape.TABLE),
        ('files("a.json")', "stream", False, Shape.PAIRS),
        ('files("a.json")', "batch", True, Shape.PAIRS),
    ],
)
def test_what_an_aggregation_without_window_gives(source: str, kind: str, named: bool, shape: Shape) -> None:
    pipeline = f"{source}.as(Row).key_by(r => r.id).count()"
    body = f"latest = {pipeline}" if named else f"{pipeline}.to(latest)"
    text = f"{kind} job {{ {body} }}".replace("latest =", "found =")
    text = text if not named or kind == "stream" else text.replace(" }", "\n found.to(latest) }")
    found = program(text).unit("job").task("found" if named else "latest")
    assert found.collection.shape is shape


def test_windows_stay_until_records_are_made_anew() -> None:
    timed = "event_time(r => r.at).map_to_pair(r => (r.name, r.id)).window(tumbling(1m))"
    steps = f"{timed}.reduce_by_key((a, b) => a + b).map_values(v => v + 1).filter(p => p.value > 1)"
    windowed = task(steps, "x/filter").collection
    assert windowed.windowed
    assert windowed.timed
    assert windowed.columns.names == ("key", "value", "window")
    made = task(f"{steps}.map(p => (p.key, p.window.start))", "x/map").collection
    assert (made.windowed, made.timed, str(made.element)) == (False, True, "(string?, timestamp)")


def test_exchanges_follow_the_table() -> None:
    text = """batch job {
      data = files("a.json").as(Row)
      pairs = data.map_to_pair(r => (r.id, r.n))
      grouped = pairs.group_by_key()
      all = data.count()
      best = data.top(3, by = r => r.id)
      each = data.distinct()
      both = data.join(data, on = (l, r) => l.id == r.n and l.score < r.score)
      odd = data.join(data, on = (l, r) => l.id + 1 == r.id)
      data.to(rows)
    }"""
    unit = program(text).unit("job")
    found = {
        name: unit.task(name).inputs[-1].exchange for name in ("pairs", "grouped", "all", "best", "each", "both", "odd")
    }
    assert found == {
        "pairs": Forward(), "grouped": Hash(("key",)), "all": Global(), "best": Global(), "each": Hash(()),
        "both": Hash(("n",)), "odd": Global(),
    }  # fmt: skip


def test_a_decoded_union_is_one_call_more() -> None:
    text = (
        'batch job { data = union(files("a.json"), union(files("b.csv"), files("c.json.gz"))).as(Row)\n data.to(rows) }'
    )
    unit = program(text).unit("job")
    assert [(each.id, each.calls) for each in unit.tasks] == [
        ("data/files", 1), ("data/files~2", 1), ("data/files~3", 1), ("data", 3), ("rows.to", 1),
    ]  # fmt: skip


# --- reducers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "reducer", "kind"),
    [
        ("r.id", "(a, b) => a + b", "Builtin"),
        ("r.id", "(a, b) => max(b, a)", "Builtin"),
        ("(r.id, r.score)", "(a, b) => (a._1 + b._1, min(a._2, b._2))", "Fields"),
        ("r.id", "@associative @commutative (a, b) => a * b", "Custom"),
    ],
)
def test_how_a_reducer_is_known(value: str, reducer: str, kind: str) -> None:
    found = task(f"map_to_pair(r => (r.name, {value})).reduce_by_key({reducer})", "x").op
    assert isinstance(found, ReduceByKey)
    assert type(found.reducer).__name__ == kind
    assert isinstance(found.reducer, Builtin | Fields | Custom)


def test_a_reducer_in_order_is_not_claimed() -> None:
    ordered = "map_to_pair(r => (r.name, r.id)).reduce_by_key((a, b) => a - b, order = v => v)"
    found = task(ordered, "x").op
    assert isinstance(found, ReduceByKey)
    assert isinstance(found.reducer, Custom)
    assert not found.reducer.claimed
    assert found.reducer.order is not None


def test_sums_of_durations_are_proven() -> None:
    found = task("map_to_pair(r => (r.id, r.at - r.at)).reduce_by_key((a, b) => b + a)", "x").op
    assert isinstance(found, ReduceByKey)
    assert isinstance(found.reducer, Builtin)
    assert found.reducer.kind is Kind.SUM


@pytest.mark.parametrize(
    ("value", "reducer", "code"),
    [
        ("r.n", "(a, b) => a + b", Code.MAY_BE_NULL),
        ("(r.id, r.n)", "(a, b) => (a._1 + b._1, max(a._2, b._2))", Code.MAY_BE_NULL),
        ("r.name", "(a, b) => a + b", Code.MAY_BE_NULL),
        ("r.id", "(a, b) => a", Code.BAD_REDUCER),
        ("r.small", "(a, b) => a + b", Code.WRONG_TYPE),
    ],
)
def test_reducers_that_are_refused(value: str, reducer: str, code: Code) -> None:
    unit = f'files("a.json").as(Row).map_to_pair(r => (r.id, {value})).reduce_by_key({reducer}).to(latest)'
    assert codes(f"batch job {{ {unit} }}") == [code.value]
