"""What Python programs may write inside a lambda, against the text that says the same."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ghcm import between, fields, if_else, match_, try_
from ghcm.driver import check
from ghcm.errors import ProgramError
from ghcm.language.fluent.positions import here
from ghcm.language.fluent.tracing import trace
from ghcm.language.printing.expressions import flat
from ghcm.spg.text import print_program


def text_of(function: Callable[..., object]) -> str:
    """The function as the text language writes it."""
    return flat(trace(function, here()).body)


def local(r: Any) -> Any:
    total = r.a + r.b
    return total * total


def local_in_a_branch(r: Any) -> Any:
    ratio = r.a / r.b
    return if_else(r.b == 0, 0.0, ratio + ratio)


def local_in_both_branches(r: Any) -> Any:
    ratio = r.a / r.b
    return if_else(r.b == 0, ratio, ratio * 2.0)


def locals_of_locals(r: Any) -> Any:
    one = r.a + 1
    two = one * one
    return two + two


def local_in_a_lambda(r: Any) -> Any:
    limit = r.a + r.b
    return r.xs.map(lambda x: if_else(x > limit, limit, x)).any(lambda x: x == limit)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (local, "let shared = r.a + r.b in shared * shared"),
        (local_in_a_branch, "if r.b == 0 then 0.0 else let shared = r.a / r.b in shared + shared"),
        (local_in_both_branches, "if r.b == 0 then r.a / r.b else r.a / r.b * 2.0"),
        (locals_of_locals, "let shared_2 = r.a + 1 in let shared = shared_2 * shared_2 in shared + shared"),
        (lambda r: {**fields(r), **fields(r.at.only("id")), "n": r.n + 1}, "{ ...r, ...r.at.only(id), n: r.n + 1 }"),
        (lambda r: r.xs.map(lambda x: x * r.n), "r.xs.map(x => x * r.n)"),
        (lambda r: r.xs.filter(lambda x: (x > 0) & (x < r.n)), "r.xs.filter(x => x > 0 and x < r.n)"),
        (lambda r: f"{r.name}: {r.n + 1}!", 'r.name.to_string() + ": " + (r.n + 1).to_string() + "!"'),
        (lambda r: "<" + str(r.n) + ">", '"<" + r.n.to_string() + ">"'),
        (lambda r: r.with_(n=0, name="x"), 'r with { n: 0, name: "x" }'),
        (lambda r: r.only("n", "name"), "r.only(n, name)"),
        (lambda r: r.without("xs"), "r.without(xs)"),
        (lambda r: try_(r.name.to_int()), "try(r.name.to_int())"),
        (
            lambda r: match_(r.n, {None: 0, (1, 2): 1, between(3, 9): 2}, otherwise=3),
            "match r.n { null => 0, 1 or 2 => 1, 3..9 => 2, _ => 3 }",
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_python_says_it(function: Callable[..., object], text: str) -> None:
    assert text_of(function) == text


def test_a_local_is_kept_where_it_is_used_more_than_once() -> None:
    expected = "r.xs.map(x => let shared = r.a + r.b in if x > shared then shared else x).any(x => x == r.a + r.b)"
    assert text_of(local_in_a_lambda) == expected


@pytest.mark.parametrize(
    ("function", "message", "hint"),
    [
        (lambda r: [x + 1 for x in r.xs], "a loop over a value cannot be traced", "xs.map(lambda x: ...)"),
        (lambda r: sum(r.xs), '"sum" of Python cannot be traced', "write xs.sum()"),
        (lambda r: round(r.n, 2), '"round" to digits cannot be traced', "round_half_up(2) for a decimal"),
        (lambda r: 1 if r.n > 0 else 2, '"if" cannot be traced', "if_else(condition, yes, no)"),
        (lambda r: 0 < r.n < 2, "comparisons cannot be chained", "(a < b) & (b < c)"),
        (lambda r: f"{r.n:>5}", 'the format ":>5" cannot be traced', "leave it out"),
        (lambda r: f"{r.name}".upper(), "Python changed the text of a value", "x.to_string().upper()"),
        (lambda r: f"{r.name}" == "a", "Python used the text of a value itself", 'x == "a"'),
        (lambda r: r.n == None, "comparison with None", "x.is_null()"),  # noqa: E711
        (lambda r: r.at < datetime.now(UTC), '"now" looks at a clock', "the event time of the record"),
        (lambda r: r.n < time.time(), '"time" looks at a clock', "a parameter of the unit"),
        (lambda r: r.n < random.randint(1, 6), '"randint" draws lots', "sample(0.1)"),
        (lambda r: match_(r.n, {range(3): 1}, otherwise=2), "a range of Python is no case", "between(0, 2)"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_python_that_cannot_be_traced_is_explained(function: Callable[..., object], message: str, hint: str) -> None:
    with pytest.raises(ProgramError) as caught:
        trace(function, here())
    (found,) = caught.value.diagnostics
    assert message in found.message and hint in found.hint


def grow(r: Any) -> Any:
    value = r.n
    for _ in range(20):
        value = if_else(value > 0, value, value + 1)
    return value


def explode(r: Any) -> Any:
    value = r.n + 1
    for _ in range(60):
        value = if_else(r.b, value, value)
    return value


def test_a_value_that_the_condition_wants_too_is_shared() -> None:
    assert flat(trace(grow, here()).body).count("let ") == 19


def test_a_value_that_grows_without_measure_is_refused() -> None:
    with pytest.raises(ProgramError, match="grows without measure"):
        trace(explode, here())


PROGRAM = """
from ghcm import Program, Record, files, parquet

forms = Program("forms")
out = forms.sink(parquet("out"))


class R(Record):
    n: int
    name: str


@forms.function
def half(n: int) -> int:
    return n // 2


@forms.function
def label(n: int, name: str) -> str:
    return f"{name}-{half(n)}"


@forms.batch
def made() -> None:
    files("in.jsonl", format="json").as_(R).map(lambda r: {"label": label(r.n, r.name), "half": r.n.half()}).to(out)
"""
TEXT = """program forms
record R { n: int, name: string }
sink out = parquet("out")
function half(n: int) : int = n // 2
function label(n: int, name: string) : string = name.to_string() + "-" + half(n).to_string()
batch made {
  files("in.jsonl", format = json).as(R).map(r => { label: label(r.n, r.name), half: r.n.half() }).to(out)
}
"""


def test_functions_of_python_are_functions_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "forms.py").write_text(PROGRAM)
    (tmp_path / "forms.istream").write_text(TEXT)
    found = [print_program(check(tmp_path / name)) for name in ("forms.py", "forms.istream")]
    plain = [re.sub(r"  # .*", "", text) for text in found]
    assert plain[0] == plain[1]
    assert "half: n // 2" in plain[0] or "r.n // 2" in plain[0]
