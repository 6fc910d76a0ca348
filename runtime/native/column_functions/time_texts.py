"""Moments and dates as text in generated columnar code: by patterns, and up to their day."""

from functools import partial

import polars as pl

from ghcm.runtime.native.column_functions.time import local, local_date
from ghcm.values.timestamps import Directive, pieces_of

_SECOND = 1_000_000


def format_time(micros: pl.Expr, pattern: str, zone: str = "") -> pl.Expr:
    """Microseconds as text by a pattern; some text where they are outside of the years 1 to 9999."""
    shown = local(micros, zone)
    return _written(shown, pattern, shown.cast(pl.Int64) - micros if zone else pl.lit(0, pl.Int64))


def format_date(value: pl.Expr, pattern: str) -> pl.Expr:
    """A date as text by a pattern."""
    return _written(local_date(value).cast(pl.Datetime("us")), pattern, pl.lit(0, pl.Int64))


def day_text(micros: pl.Expr) -> pl.Expr:
    """The day of a moment as text, which the text of the moment begins with."""
    return _by_day(local(micros), "%Y-%m-%d")


def date_text(value: pl.Expr) -> pl.Expr:
    """A date as text."""
    return _by_day(local_date(value), "%Y-%m-%d")


def _written(shown: pl.Expr, pattern: str, offset: pl.Expr) -> pl.Expr:
    """What Polars writes between the offsets, which it does not know."""
    texts, days = [""], True
    for piece in pieces_of(pattern):
        if isinstance(piece, str):
            texts[-1] += piece.replace("%", "%%")
            continue
        days &= piece.letter in _OF_DAYS
        if piece.letter == "z":
            texts.append("")
        else:
            texts[-1] += "%6f" if piece == Directive("f") else f"%{piece.letter}"
    if days:
        return _by_day(shown, texts[0])
    written = shown.dt.strftime(texts[0])
    for text in texts[1:]:
        written = written + _offset_text(offset) + shown.dt.strftime(text)
    return written


_OF_DAYS = "Ymdjb"
"""What is the same all day long."""


def _by_day(shown: pl.Expr, pattern: str) -> pl.Expr:
    return shown.map_batches(partial(_day_texts, pattern), return_dtype=pl.String, is_elementwise=True)


def _day_texts(pattern: str, shown: pl.Series) -> pl.Series:
    """The texts of days. Each day is written once: that takes twenty times as long as to look it up."""
    days = shown.dt.date().to_physical()
    first, last = days.min(), days.max()
    if not isinstance(first, int) or not isinstance(last, int) or last - first >= len(days):
        return shown.dt.strftime(pattern)
    texts = pl.int_range(first, last + 1, dtype=pl.Int32, eager=True).cast(pl.Date).dt.strftime(pattern)
    return texts.gather(days - first).alias(shown.name)


def _offset_text(offset: pl.Expr) -> pl.Expr:
    size = offset.abs() // _SECOND
    sign = pl.when(offset < 0).then(pl.lit("-")).otherwise(pl.lit("+"))
    hours, minutes, seconds = (each.cast(pl.String).str.zfill(2) for each in (size // 3600, size // 60 % 60, size % 60))
    return sign + hours + minutes + pl.when(size % 60 == 0).then(pl.lit("")).otherwise(seconds)
