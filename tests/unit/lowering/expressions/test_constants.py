"""Moments and days that stand in a program: as defaults of parameters and in rows, in both front ends."""

from __future__ import annotations

from datetime import UTC, date, datetime

from ghcm import Program, memory
from ghcm.lowering import lower
from ghcm.spg.connectors import Memory
from ghcm.spg.ops import Source
from tests.unit.lowering.lowered import codes, program

_DAY = date(2024, 2, 29).toordinal() - date(1970, 1, 1).toordinal()
_MOMENT = (_DAY * 86_400 + 5) * 1_000_000


def test_constants_of_the_text() -> None:
    found = program("""
        responsive batch job(
          since: timestamp = to_timestamp("2024-02-29T00:00:05Z"),
          day: date = to_date("2024-02-29"),
          same: date = date_of(2024, 2, 29),
          also: date = "2024-02-29"
        ) {
          memory([{ at: to_timestamp("2024-02-29T00:00:05Z"), day: date_of(2024, 2, 29) }]).reply()
        }""")
    job = found.unit("job")
    assert [parameter.default for parameter in job.parameters] == [_MOMENT, _DAY, _DAY, _DAY]
    source = job.tasks[0].op
    assert isinstance(source, Source) and isinstance(source.connector, Memory)
    assert source.connector.rows == ((_MOMENT, _DAY),)


def test_constants_of_python() -> None:
    written = Program("written")

    @written.batch(responsive=True)
    def job(  # pyright: ignore[reportUnusedFunction]
        since: datetime = datetime(2024, 2, 29, 0, 0, 5, tzinfo=UTC), day: date = date(2024, 2, 29)
    ) -> None:
        memory([{"day": date(2024, 2, 29)}]).filter(lambda row: row.day <= day).reply()

    found = lower(written.tree()).unit("job")
    assert [parameter.default for parameter in found.parameters] == [_MOMENT, _DAY]


def test_what_no_calendar_has_is_no_constant() -> None:
    for day in ("date_of(2026, 2, 29)", "date_of(99999999999, 1, 1)"):
        assert codes(f"responsive batch job(day: date = {day}) {{ memory([1]).reply() }}") == ["GHCM-225"]
    for day in ('to_date("+9999-01-01")', '"0000-01-01"', '"2026-1-01"'):
        assert codes(f"responsive batch job(day: date = {day}) {{ memory([1]).reply() }}") == ["GHCM-230"]
