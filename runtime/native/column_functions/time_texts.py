"""Moments as text in generated columnar code: reading and writing by patterns, and by ISO 8601.

What is read is null where the text is no such moment; the mask is made of that.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from ghcm.runtime.native.zones import offsets_at, offsets_of_local
from ghcm.values.timestamps import (
    FIRST_MICROS,
    ISO_DATE,
    ISO_TIMESTAMP,
    LAST_MICROS,
    MONTHS,
    Directive,
    Layout,
    layout_of,
    pieces_of,
)

_SECOND, _DAY = 1_000_000, 86_400_000_000


# --- reading ---------------------------------------------------------------------------------------------------------


def parse(text: pl.Expr, pattern: str = "", zone: str = "") -> pl.Expr:
    """The microseconds in texts of a pattern; without one, of ISO 8601."""
    layout = layout_of(pattern) if pattern else ISO_TIMESTAMP
    return text.map_batches(partial(_moments, layout, zone), return_dtype=pl.Int64)


def parse_date(text: pl.Expr) -> pl.Expr:
    """The dates in texts of ISO 8601."""
    return text.map_batches(_dates, return_dtype=pl.Date)


def _dates(texts: pl.Series) -> pl.Series:
    return _parts(ISO_DATE, texts).select(_days(ISO_DATE).cast(pl.Int32).cast(pl.Date)).to_series()


def _moments(layout: Layout, zone: str, texts: pl.Series) -> pl.Series:
    parts = _parts(layout, texts)
    local = parts.select((_days(layout) * 86_400 + _seconds(layout)) * _SECOND + _fraction(layout)).to_series()
    if zone:
        moments = local - offsets_of_local(zone)(local)
    elif "z" in layout.fields:
        moments = local - parts.select(_offset()).to_series()
    else:
        return local
    return moments.set((moments < FIRST_MICROS) | (moments > LAST_MICROS), None)


def _parts(layout: Layout, texts: pl.Series) -> pl.DataFrame:
    """The groups of the regular expression, by the letters of the directives; all null where it does not match."""
    found = texts.str.extract_groups(rf"\A(?:{layout.regex})\z").struct.unnest()
    return found.rename(dict(zip(found.columns, layout.fields, strict=True)))


def _number(letter: str) -> pl.Expr:
    return pl.col(letter).cast(pl.Int64)


def _days(layout: Layout) -> pl.Expr:
    """The days since 1970; null where the calendar has no such day."""
    year = _number("Y")
    if "j" in layout.fields:
        first, one = days_of(year, pl.lit(1, pl.Int64), pl.lit(1, pl.Int64)), pl.lit(1, pl.Int64)
        there = first + _number("j") - 1
        return pl.when((year >= 1) & (there < days_of(year + 1, one, one))).then(there)
    month, day = _month(layout), _number("d")
    return pl.when((year >= 1) & (day <= days_in_month(year, month))).then(days_of(year, month, day))


def _month(layout: Layout) -> pl.Expr:
    if "m" in layout.fields:
        return _number("m")
    names = [name.lower() for name in MONTHS]
    numbers = pl.Series(range(1, 13), dtype=pl.Int64)
    return pl.col("b").str.to_lowercase().replace_strict(names, numbers, default=None, return_dtype=pl.Int64)


def _seconds(layout: Layout) -> pl.Expr:
    """The seconds of the day; null for a 60th."""
    hour, minute, second = (
        _number(letter).fill_null(0) if letter in layout.fields else pl.lit(0, pl.Int64) for letter in "HMS"
    )
    return pl.when(second < 60).then((hour * 60 + minute) * 60 + second)


def _fraction(layout: Layout) -> pl.Expr:
    if "f" not in layout.fields:
        return pl.lit(0, pl.Int64)
    return pl.col("f").fill_null("0").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64)


def _offset() -> pl.Expr:
    digits = pl.col("z").str.slice(1).str.replace(":", "", literal=True).str.pad_end(4, "0")
    minutes = digits.str.slice(0, 2).cast(pl.Int64, strict=False) * 60 + digits.str.slice(2).cast(
        pl.Int64, strict=False
    )
    signed = pl.when(pl.col("z").str.starts_with("-")).then(-minutes).otherwise(minutes)
    return pl.when(pl.col("z").fill_null("Z") == "Z").then(0).otherwise(signed * 60 * _SECOND)


# --- writing ---------------------------------------------------------------------------------------------------------


def format_time(micros: pl.Expr, pattern: str, zone: str = "") -> pl.Expr:
    """Microseconds as text by a pattern; some text where they are outside of the years 1 to 9999."""
    moment = micros.clip(FIRST_MICROS, LAST_MICROS)
    offset = moment.map_batches(offsets_at(zone), return_dtype=pl.Int64) if zone else pl.lit(0, pl.Int64)
    shown = (moment + offset).clip(FIRST_MICROS, LAST_MICROS).cast(pl.Datetime("us"))
    return _written(shown, pattern, offset)


def format_date(value: pl.Expr, pattern: str) -> pl.Expr:
    """A date as text by a pattern."""
    days = value.cast(pl.Int32).cast(pl.Int64).clip(FIRST_MICROS // _DAY, LAST_MICROS // _DAY)
    return _written((days * _DAY).cast(pl.Datetime("us")), pattern, pl.lit(0, pl.Int64))


def _written(shown: pl.Expr, pattern: str, offset: pl.Expr) -> pl.Expr:
    """What Polars writes between the offsets, which it does not know."""
    texts = [""]
    for piece in pieces_of(pattern):
        if isinstance(piece, str):
            texts[-1] += piece.replace("%", "%%")
        elif piece.letter == "z":
            texts.append("")
        else:
            texts[-1] += "%6f" if piece == Directive("f") else f"%{piece.letter}"
    written = shown.dt.strftime(texts[0])
    for text in texts[1:]:
        written = written + _offset_text(offset) + shown.dt.strftime(text)
    return written


def _offset_text(offset: pl.Expr) -> pl.Expr:
    size = offset.abs() // _SECOND
    sign = pl.when(offset < 0).then(pl.lit("-")).otherwise(pl.lit("+"))
    hours, minutes, seconds = (each.cast(pl.String).str.zfill(2) for each in (size // 3600, size // 60 % 60, size % 60))
    return sign + hours + minutes + pl.when(size % 60 == 0).then(pl.lit("")).otherwise(seconds)


def days_of(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """The days since 1970; years are counted from March, so that leap days come last."""
    shifted = year - (month <= 2).cast(pl.Int64)
    of_era = shifted % 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return shifted // 400 * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def days_in_month(year: pl.Expr, month: pl.Expr) -> pl.Expr:
    """28 to 31."""
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return pl.when(month == 2).then(28 + leap.cast(pl.Int64)).otherwise(30 + (month + month // 8) % 2)
