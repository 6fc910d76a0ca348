"""Time in generated columnar code: values, and masks of the records that fail; moments as text by patterns and by ISO
8601. What is read is null where the text is no such moment; the mask is made of that.
"""

from functools import partial

import polars as pl

from ghcm.runtime.native.zones import offsets_at, offsets_of_local
from ghcm.types import INT_MAX, INT_MIN
from ghcm.values.timestamps import (
    FIRST_DAY,
    FIRST_MICROS,
    ISO_DATE,
    ISO_TIMESTAMP,
    LAST_DAY,
    LAST_MICROS,
    MONTHS,
    Layout,
    layout_of,
)

_DAY, _SECOND = 86_400_000_000, 1_000_000
_SIZES = {"second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000}


def truncate(value: pl.Expr, unit: pl.Expr) -> pl.Expr:
    """Microseconds cut down to a multiple of `unit`."""
    return value - value % unit


def truncate_fails(value: pl.Expr, unit: pl.Expr) -> pl.Expr:
    """Where the unit is not positive, or the multiple leaves 64 bits."""
    return (unit <= 0) | (truncate(value, unit) > value)


# --- moments and what clocks show, all in microseconds ---------------------------------------------------------------


def _left(micros: pl.Expr) -> pl.Expr:
    return (micros < FIRST_MICROS) | (micros > LAST_MICROS)


def _shown(micros: pl.Expr, zone: str) -> pl.Expr:
    """What the clocks show; outside of the years 1 to 9999 where a moment is, or its clocks are."""
    if not zone:
        return micros
    offset = micros.clip(FIRST_MICROS, LAST_MICROS).map_batches(offsets_at(zone), return_dtype=pl.Int64)
    return pl.when(_left(micros)).then(micros).otherwise(micros + offset)


def _moment(shown: pl.Expr, zone: str) -> pl.Expr:
    """The moment at which clocks show it, which lies in the years 1 to 9999."""
    return shown - shown.map_batches(offsets_of_local(zone), return_dtype=pl.Int64) if zone else shown


def outside(micros: pl.Expr, zone: str = "") -> pl.Expr:
    """Where a moment, or what clocks show then, is outside of the years 1 to 9999."""
    return _left(_shown(micros, zone))


def local(micros: pl.Expr, zone: str = "") -> pl.Expr:
    """What calendar and clock show."""
    return _shown(micros, zone).clip(FIRST_MICROS, LAST_MICROS).cast(pl.Datetime("us"))


def time_of_day(micros: pl.Expr, zone: str = "") -> pl.Expr:
    """The microseconds since midnight that the clock shows."""
    return _shown(micros, zone) % _DAY


def date_outside(value: pl.Expr) -> pl.Expr:
    """Where a date is outside of the years 1 to 9999."""
    days = value.cast(pl.Int32)
    return (days < FIRST_DAY) | (days > LAST_DAY)


def local_date(value: pl.Expr) -> pl.Expr:
    """A date, some date where it is outside."""
    return value.cast(pl.Int32).clip(FIRST_DAY, LAST_DAY).cast(pl.Date)


def date_to_timestamp(value: pl.Expr, zone: str = "") -> pl.Expr:
    """Midnight of a date."""
    return _moment(local_date(value).cast(pl.Int64) * _DAY, zone)


def date_to_timestamp_fails(value: pl.Expr, zone: str = "") -> pl.Expr:
    """Where the date or its midnight is outside of the years 1 to 9999."""
    return date_outside(value) | _left(date_to_timestamp(value, zone)) if zone else date_outside(value)


# --- beginnings ------------------------------------------------------------------------------------------------------


def start(micros: pl.Expr, unit: str, zone: str = "") -> pl.Expr:
    """The beginning of the unit of the clock or the calendar."""
    if unit in _SIZES:
        return micros - _shown(micros, zone).clip(FIRST_MICROS, LAST_MICROS) % _SIZES[unit]
    return _moment(_first_day(local(micros, zone).dt.date(), unit) * _DAY, zone)


def start_fails(micros: pl.Expr, unit: str, zone: str = "") -> pl.Expr:
    """Where that leaves the years 1 to 9999."""
    return outside(micros, zone) | _left(start(micros, unit, zone)) if zone else outside(micros)


def date_start(value: pl.Expr, unit: str) -> pl.Expr:
    """The first day of the unit."""
    return _first_day(local_date(value), unit).cast(pl.Int32).cast(pl.Date)


def _first_day(day: pl.Expr, unit: str) -> pl.Expr:
    days = day.cast(pl.Int64)
    match unit:
        case "week":
            return days - (days + 3) % 7
        case "month":
            return days - day.dt.day().cast(pl.Int64) + 1
        case "quarter":
            return days_of(_number(day.dt.year()), _number(day.dt.quarter()) * 3 - 2, pl.lit(1, pl.Int64))
        case "year":
            return days - _number(day.dt.ordinal_day()) + 1
        case _:
            return days


def _number(value: pl.Expr) -> pl.Expr:
    return value.cast(pl.Int64)


# --- moving ----------------------------------------------------------------------------------------------------------


def add_months(micros: pl.Expr, months: pl.Expr) -> pl.Expr:
    """The microseconds so many months later."""
    return _moved(local(micros), months) * _DAY + micros % _DAY


def add_months_fails(micros: pl.Expr, months: pl.Expr) -> pl.Expr:
    """Where the years 1 to 9999 are left."""
    return months.is_not_null() & (outside(micros) | _leave(local(micros), months))


def add_months_to_date(value: pl.Expr, months: pl.Expr) -> pl.Expr:
    """The date so many months later."""
    return _moved(local_date(value), months).cast(pl.Int32).cast(pl.Date)


def add_months_to_date_fails(value: pl.Expr, months: pl.Expr) -> pl.Expr:
    """Where the years 1 to 9999 are left."""
    return months.is_not_null() & (date_outside(value) | _leave(local_date(value), months))


def _month(day: pl.Expr, months: pl.Expr) -> pl.Expr:
    """The number of the month since the year 0; 200,000 months lead out of all years."""
    return _number(day.dt.year()) * 12 + _number(day.dt.month()) - 1 + months.clip(-200_000, 200_000)


def _leave(day: pl.Expr, months: pl.Expr) -> pl.Expr:
    month = _month(day, months)
    return (month < 12) | (month >= 120_000)


def _moved(day: pl.Expr, months: pl.Expr) -> pl.Expr:
    found = _month(day, months).clip(12, 119_999)
    year, month = found // 12, found % 12 + 1
    of_month = pl.min_horizontal(_number(day.dt.day()), days_in_month(year, month))
    return days_of(year, month, of_month)


def add_days(value: pl.Expr, count: pl.Expr) -> pl.Expr:
    """The date so many days later."""
    return _later(value, count).clip(FIRST_DAY, LAST_DAY).cast(pl.Int32).cast(pl.Date)


def add_days_fails(value: pl.Expr, count: pl.Expr) -> pl.Expr:
    """Where the years 1 to 9999 are left."""
    later = _later(value, count)
    return (later < FIRST_DAY) | (later > LAST_DAY)


def _later(value: pl.Expr, count: pl.Expr) -> pl.Expr:
    return value.cast(pl.Int32).cast(pl.Int64) + count.clip(-(2**33), 2**33)


# --- made of numbers -------------------------------------------------------------------------------------------------


def date_of(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """The day that the calendar calls so."""
    return _days(year, month, day).cast(pl.Int32).cast(pl.Date)


def _days(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    return days_of(year.clip(1, 9999), month.clip(1, 12), day.clip(1, 31))


def date_of_fails(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """Where there is no such day; nothing fails where one of them is null."""
    known = year.is_not_null() & month.is_not_null() & day.is_not_null()
    wrong = (year < 1) | (year > 9999) | (month < 1) | (month > 12) | (day < 1)
    return known & (wrong | (day > days_in_month(year.clip(1, 9999), month.clip(1, 12))))


def timestamp_of(
    year: pl.Expr, month: pl.Expr, day: pl.Expr, hour: pl.Expr, minute: pl.Expr, second: pl.Expr, zone: str = ""
) -> pl.Expr:
    """The microseconds at which calendar and clock show this."""
    seconds = (hour.clip(0, 23) * 60 + minute.clip(0, 59)) * 60 + second.clip(0, 59)
    return _moment((_days(year, month, day) * 86_400 + seconds) * 1_000_000, zone)


def timestamp_of_fails(
    year: pl.Expr, month: pl.Expr, day: pl.Expr, hour: pl.Expr, minute: pl.Expr, second: pl.Expr, zone: str = ""
) -> pl.Expr:
    """Where there is no such moment; nothing fails where one of them is null."""
    known = pl.all_horizontal(each.is_not_null() for each in (year, month, day, hour, minute, second))
    clock = (hour < 0) | (hour > 23) | (minute < 0) | (minute > 59) | (second < 0) | (second > 59)
    wrong = date_of_fails(year, month, day) | clock
    return known & (wrong | _left(timestamp_of(year, month, day, hour, minute, second, zone)) if zone else wrong)


_LONGEST = 9_223_372_036_854.775
"""The longest duration that is a float of seconds; the next one has more than 64 bits of microseconds."""
_SPLIT = 134_217_729.0


def whole_fails(value: pl.Expr, size: int) -> pl.Expr:
    """Where so many units of `size` microseconds after 1970 are outside of the years 1 to 9999."""
    return (value < -(-FIRST_MICROS // size)) | (value > LAST_MICROS // size)


def seconds_fails(value: pl.Expr) -> pl.Expr:
    """Where so many seconds have more than 64 bits of microseconds."""
    return (value < -(-INT_MIN // 1_000_000)) | (value > INT_MAX // 1_000_000)


def float_timestamp_fails(value: pl.Expr) -> pl.Expr:
    """Where so many seconds after 1970 are no timestamp of the years 1 to 9999; NaN is greater than all."""
    return (value < FIRST_MICROS / 1_000_000) | (value >= (LAST_MICROS + 1) / 1_000_000)


def float_seconds_fails(value: pl.Expr) -> pl.Expr:
    """Where so many seconds are no duration."""
    return (value < -_LONGEST) | (value > _LONGEST)


def float_seconds(value: pl.Expr) -> pl.Expr:
    """The nearest number of microseconds, half to even.

    The product of the fraction and a million is taken exactly, as a float and the error of that float (Dekker): beside
    a half the error decides.
    """
    size = pl.when(value.is_finite()).then(value.abs()).otherwise(0.0).clip(0.0, _LONGEST)
    size = pl.when(value.is_null()).then(None).otherwise(size)
    whole = size.floor()
    part = size - whole
    product = part * 1e6
    spread = part * _SPLIT
    high = spread - (spread - part)
    error = (high * 1e6 - product) + (part - high) * 1e6
    floor = product.floor()
    rest = product - floor
    up = (rest > 0.5) | ((rest == 0.5) & ((error > 0) | ((error == 0) & (floor % 2 == 1))))
    micros = whole.cast(pl.Int64) * 1_000_000 + floor.cast(pl.Int64) + up.cast(pl.Int64)
    return pl.when(value < 0).then(-micros).otherwise(micros)


# --- reading ---------------------------------------------------------------------------------------------------------


def parse(text: pl.Expr, pattern: str = "", zone: str = "") -> pl.Expr:
    """The microseconds in texts of a pattern; without one, of ISO 8601."""
    layout = layout_of(pattern) if pattern else ISO_TIMESTAMP
    return text.map_batches(partial(_moments, layout, zone), return_dtype=pl.Int64)


def parse_date(text: pl.Expr) -> pl.Expr:
    """The dates in texts of ISO 8601."""
    days = _day_of(ISO_DATE).cast(pl.Int32).cast(pl.Date)
    return text.map_batches(lambda texts: _parts(ISO_DATE, texts).select(days).to_series(), return_dtype=pl.Date)


def _moments(layout: Layout, zone: str, texts: pl.Series) -> pl.Series:
    parts = _parts(layout, texts)
    local = parts.select((_day_of(layout) * 86_400 + _seconds(layout)) * _SECOND + _fraction(layout)).to_series()
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


def _group(letter: str) -> pl.Expr:
    return pl.col(letter).cast(pl.Int64)


def _day_of(layout: Layout) -> pl.Expr:
    """The days since 1970; null where the calendar has no such day."""
    year = _group("Y")
    if "j" in layout.fields:
        first, one = days_of(year, pl.lit(1, pl.Int64), pl.lit(1, pl.Int64)), pl.lit(1, pl.Int64)
        there = first + _group("j") - 1
        return pl.when((year >= 1) & (there < days_of(year + 1, one, one))).then(there)
    month, day = _month_of(layout), _group("d")
    return pl.when((year >= 1) & (day <= days_in_month(year, month))).then(days_of(year, month, day))


def _month_of(layout: Layout) -> pl.Expr:
    if "m" in layout.fields:
        return _group("m")
    names = [name.lower() for name in MONTHS]
    numbers = pl.Series(range(1, 13), dtype=pl.Int64)
    return pl.col("b").str.to_lowercase().replace_strict(names, numbers, default=None, return_dtype=pl.Int64)


def _seconds(layout: Layout) -> pl.Expr:
    """The seconds of the day; null for a 60th."""
    hour, minute, second = (
        _group(letter).fill_null(0) if letter in layout.fields else pl.lit(0, pl.Int64) for letter in "HMS"
    )
    return pl.when(second < 60).then((hour * 60 + minute) * 60 + second)


def _fraction(layout: Layout) -> pl.Expr:
    if "f" not in layout.fields:
        return pl.lit(0, pl.Int64)
    return pl.col("f").fill_null("0").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64)


def _offset() -> pl.Expr:
    digits = pl.col("z").str.slice(1).str.replace(":", "", literal=True).str.pad_end(4, "0")
    hours, rest = (each.cast(pl.Int64, strict=False) for each in (digits.str.slice(0, 2), digits.str.slice(2)))
    minutes = hours * 60 + rest
    signed = pl.when(pl.col("z").str.starts_with("-")).then(-minutes).otherwise(minutes)
    return pl.when(pl.col("z").fill_null("Z") == "Z").then(0).otherwise(signed * 60 * _SECOND)


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
