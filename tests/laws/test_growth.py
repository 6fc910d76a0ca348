"""Compiling grows with the program and no faster, counted in calls of Python functions."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from bench.compiling import written
from ghcm import driver

SMALL, LARGE = 200, 800
VERY_LONG = 2_000


def one_long_unit(lines: int) -> str:
    steps = "\n".join(
        f"  x{n + 1} = x{n}.filter(e => e.size > {n}).map(e => Event {{ size: e.size + 1 }})" for n in range(lines)
    )
    return (
        "program long\nrecord Event { size: int }\n"
        f'stream watch {{\n  x0 = files("in.jsonl", format = json).as(Event)\n{steps}\n'
        f'  x{lines}.to(kept)\n}}\nsink kept = parquet("kept", mode = append)\n'
    )


def filters_in_a_row(lines: int) -> str:
    steps = "\n".join(f"  x{n + 1} = x{n}.filter(e => e.size > {n})" for n in range(lines))
    return (
        "program long\nrecord Event { size: int }\n"
        f'stream watch {{\n  x0 = files("in.jsonl", format = json).as(Event)\n{steps}\n  x{lines}.to(kept)\n}}\n'
        'sink kept = parquet("kept", mode = append)\n'
    )


def filters_in_a_chain(lines: int) -> str:
    steps = "\n".join(f"    .filter(e => e.size > {n})" for n in range(lines))
    return (
        "program long\nrecord Event { size: int }\n"
        f'stream watch {{\n  files("in.jsonl", format = json).as(Event)\n{steps}\n    .to(kept)\n}}\n'
        'sink kept = parquet("kept", mode = append)\n'
    )


def many_records(lines: int) -> str:
    declared: list[str] = []
    for n in range(lines // 2):
        item = f"R{n - 1}" if n % 20 else "int"
        declared.append(f"record R{n} {{ a: int, b: string?, c: list<{item}> }}")
        declared.append(f'sink s{n} = parquet("s{n}", mode = append, record = R{n})')
    records = "\n".join(declared)
    return f'program wide\n{records}\nstream watch {{ files("in", format = json).as(R0).to(s0) }}\n'


def calls(run: Callable[[], object]) -> int:
    count = 0

    def see(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    "program",
    [written, one_long_unit, filters_in_a_row, filters_in_a_chain, many_records],
    ids=lambda each: each.__name__,
)
def test_work_grows_no_faster_than_the_program(tmp_path: Path, program: Callable[[int], str]) -> None:
    path = tmp_path / "large.istream"
    counts: dict[int, int] = {}
    for lines in (SMALL, SMALL, LARGE):  # the first fills the caches that every later program finds filled
        path.write_text(program(lines))
        counts[lines] = calls(lambda: driver.compile(path))
    assert counts[LARGE] < counts[SMALL] * LARGE / SMALL * 1.25, counts


@pytest.mark.parametrize("program", [filters_in_a_row, filters_in_a_chain], ids=lambda each: each.__name__)
def test_two_thousand_filters_are_compiled_into_one_task(tmp_path: Path, program: Callable[[int], str]) -> None:
    path = tmp_path / "long.istream"
    path.write_text(program(VERY_LONG))
    compiled = driver.compile(path)
    assert [(each.calls_before, each.calls_after) for each in compiled.optimised.summaries] == [(VERY_LONG + 3, 3)]
