"""Time in the table of functions.

Timestamps and durations are microseconds, dates days. What looks at the calendar keeps to the years 1 to 9999. A zone
is a constant name of the IANA data base; without one it is UTC. A local time that a zone has twice is the earlier
moment; one that it leaves out is read by the offset before the gap, as Python and Java do.
"""

from ghcm.functions.arithmetic import OVERFLOWS
from ghcm.functions.table import ELSE, Choice, Example, Failure, Function
from ghcm.functions.time_constants import pattern, read_by, readable, unit, written_by, zoned
from ghcm.signatures import DATE, DURATION, FLOAT, INT, STRING, TIMESTAMP, Rule, first, fixed
from ghcm.types import Date, Float, String, Timestamp
from ghcm.values.timestamps import FIRST_MICROS, LAST_MICROS, UNITS

_LEAVES = (("{value} IS NULL{given:after}", Failure.OVERFLOW, "it leads out of the years 1 to 9999"),)
_MILLIS = "({0} div 1000L - CASE WHEN {0} % 1000L < 0 THEN 1L ELSE 0L END)"
_TRUNCATED = "try_subtract(unix_micros({0}), pmod(unix_micros({0}), CASE WHEN {1} > 0 THEN {1} END))"


def _after_1970(size: int) -> str:
    """The timestamp so many units of microseconds after 1970 in SQL, null where the calendar has none."""
    few = f"{{0}} BETWEEN {-(-FIRST_MICROS // size)}L AND {LAST_MICROS // size}L"
    return f"timestamp_micros(CASE WHEN {few} THEN {{0}} * {size}L END)"


_OUTSIDE: dict[Choice, str] = {Date: "column_time.date_outside({0})"}
_LATER = "from_micros(9223372036854775807)"
"""A moment far behind the year 9999."""
_MOMENT = 'to_timestamp("2026-03-29T00:30:05.000006Z")'


def _text(value: str) -> tuple[str, str]:
    """A record of one text."""
    return "{ s: string }", f'{{ s: "{value}" }}'


# fmt: off
def part(
    name: str, says: str, python: str, polars: str, *more: Example,
    gives: str, zoned_gives: str = "", dates: bool = True,
) -> Function:
    """A number that the calendar or the clock says of a moment or day: what Python and Polars call it, and examples."""
    rules: list[Rule] = [fixed(INT, TIMESTAMP), *([fixed(INT, DATE)] if dates else []), fixed(INT, TIMESTAMP, STRING)]
    in_berlin = Example(f'{name}(to_timestamp("2026-03-29T23:30:05Z"), "Europe/Berlin")', zoned_gives)
    return Function(
        name, "(t[, zone])", first(*rules), says=says, failures=(Failure.OVERFLOW,),
        constants=(1,), bad_constant=zoned(1),
        shows=(
            *more,
            Example(f"{name}({_MOMENT})", gives), *([in_berlin] if zoned_gives else []),
            Example(f"{name}({_LATER})", fails=Failure.OVERFLOW),
        ),
        python={
            Date: python.replace("@", "row_time.local_date({0})"),
            ELSE: python.replace("@", "row_time.local({0}{1:zone})"),
        },
        polars={
            Date: f"column_time.local_date({{0}}).dt.{polars}().cast(pl.Int64)",
            ELSE: f"column_time.local(columns.micros({{0}}){{1:zone}}).dt.{polars}().cast(pl.Int64)",
        },
        polars_fails=_OUTSIDE | {ELSE: "column_time.outside(columns.micros({0}){1:zone})"},
    )


PARTS = (
    part("year", "the year, 1 to 9999", "@.year", "year", gives="2026"),
    part("quarter", "the quarter, 1 to 4", "(@.month + 2) // 3", "quarter", gives="1"),
    part("month", "the month, 1 to 12", "@.month", "month", gives="3"),
    part(
        "week", "the week of ISO 8601, 1 to 53: that of the year's first Thursday is week 1",
        "@.isocalendar().week", "week", gives="13", zoned_gives="14",
    ),
    part(
        "week_year", "the year to which the week of ISO 8601 belongs", "@.isocalendar().year", "iso_year",
        Example("week_year(date_of(2027, 1, 3))", "2026"), gives="2026",
    ),
    part("day", "the day of the month, from 1", "@.day", "day", gives="29", zoned_gives="30"),
    part(
        "day_of_week", "the day of the week, Monday = 1 to Sunday = 7", "@.isoweekday()", "weekday",
        gives="7", zoned_gives="1",
    ),
    part("day_of_year", "the day of the year, from 1", "@.timetuple().tm_yday", "ordinal_day", gives="88"),
    part("hour", "the hour, 0 to 23", "@.hour", "hour", gives="0", zoned_gives="1", dates=False),
    part("minute", "the minute, 0 to 59", "@.minute", "minute", gives="30", dates=False),
    part("second", "the second, 0 to 59", "@.second", "second", gives="5", dates=False),
    part(
        "microsecond", "the microseconds within the second, 0 to 999999", "@.microsecond", "microsecond",
        gives="6", dates=False,
    ),
    Function(
        "time_of_day", "(t[, zone])", first(fixed(DURATION, TIMESTAMP), fixed(DURATION, TIMESTAMP, STRING)),
        says="what the clock shows, as the duration since it showed midnight",
        failures=(Failure.OVERFLOW,), constants=(1,), bad_constant=zoned(1),
        shows=(
            Example(f"time_of_day({_MOMENT})", "1805.000006"),
            Example(f'time_of_day({_MOMENT}, "Europe/Berlin") >= 90m', "true"),
            Example(f"time_of_day({_LATER})", fails=Failure.OVERFLOW),
        ),
        python="row_time.time_of_day({0}{1:zone})",
        polars="columns.duration(column_time.time_of_day(columns.micros({0}){1:zone}))",
        polars_fails="column_time.outside(columns.micros({0}){1:zone})",
    ),
)

NUMBERS = (
    Function(
        "to_micros", "(t)", first(fixed(INT, TIMESTAMP), fixed(INT, DURATION)),
        says="microseconds since 1970, or of the duration",
        shows={"to_micros(1500ms)": "1500000"},
        python="{0}", polars="columns.micros({0})", spark={Timestamp: "unix_micros({0})", ELSE: "{0}"},
    ),
    Function(
        "from_micros", "(n)", (INT,), TIMESTAMP, "the timestamp so many microseconds after 1970",
        shows={"from_micros(1)": '"1970-01-01T00:00:00.000001Z"'},
        python="{0}", polars="columns.timestamp({0})", spark="timestamp_micros({0})",
    ),
    Function(
        "to_millis", "(t)", first(fixed(INT, TIMESTAMP), fixed(INT, DURATION)),
        says="whole milliseconds since 1970, or of the duration, rounded towards minus infinity",
        shows={"to_millis(1500us)": "1", "to_millis(from_micros(-1))": "-1"},
        python="{0} // 1000", polars="columns.micros({0}) // 1000",
        spark={Timestamp: _MILLIS.format("unix_micros({0})"), ELSE: _MILLIS},
    ),
    Function(
        "from_millis", "(n)", (INT,), TIMESTAMP, "the timestamp so many milliseconds after 1970",
        failures=(Failure.OVERFLOW,),
        shows={
            "from_millis(1500)": '"1970-01-01T00:00:01.500000Z"', "from_millis(9223372036854775807)": Failure.OVERFLOW,
        },
        python="row_time.inside({0} * 1000)",
        polars="columns.timestamp({0} * 1_000)", polars_fails="column_time.whole_fails({0}, 1_000)",
        spark=_after_1970(1000), spark_fails=_LEAVES,
    ),
    Function(
        "to_seconds", "(t)", first(fixed(FLOAT, TIMESTAMP), fixed(FLOAT, DURATION)),
        says="seconds since 1970, or of the duration: the microseconds as a float, divided by a million",
        shows={"to_seconds(90m)": "5400.0", "to_seconds(from_micros(1500000))": "1.5"},
        python="float({0}) / 1_000_000.0",
        polars="column_numbers.divided(columns.micros({0}).cast(pl.Float64), 1_000_000.0)",
        spark={Timestamp: "(double(unix_micros({0})) / 1000000.0D)", ELSE: "(double({0}) / 1000000.0D)"},
    ),
    Function(
        "from_seconds", "(n)", first(fixed(TIMESTAMP, INT), fixed(TIMESTAMP, FLOAT)),
        says="the timestamp so many seconds after 1970; a float is rounded exactly to the nearest microsecond, half to "
        "even; NaN and infinity are bad_cast",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW),
        shows={
            "from_seconds(1767323045)": '"2026-01-02T03:04:05.000000Z"',
            "from_seconds(1331901000.25)": '"2012-03-16T12:30:00.250000Z"',
            'from_seconds(to_float("nan"))': Failure.BAD_CAST, "from_seconds(1e12)": Failure.OVERFLOW,
        },
        python={Float: "row_time.inside(row_time.micros({0}))", ELSE: "row_time.inside({0} * 1_000_000)"},
        polars={
            Float: "columns.timestamp(column_time.float_seconds({0}))",
            ELSE: "columns.timestamp({0} * 1_000_000)",
        },
        polars_fails={
            Float: "column_time.float_timestamp_fails({0})",
            ELSE: "column_time.whole_fails({0}, 1_000_000)",
        },
        spark=_after_1970(1_000_000), spark_fails=_LEAVES,
    ),
    Function(
        "to_duration", "(n)", first(fixed(DURATION, INT), fixed(DURATION, FLOAT)),
        says="the duration of so many seconds; a float is rounded as by from_seconds",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW),
        shows={
            "to_duration(90)": "90", "to_duration(0.5)": "0.5", 'to_duration(to_float("inf"))': Failure.BAD_CAST,
            "to_duration(1e13)": Failure.OVERFLOW,
        },
        python={
            Float: 'row_numbers.within(row_time.micros({0}), "to_duration gives")',
            ELSE: 'row_numbers.within({0} * 1_000_000, "to_duration gives")',
        },
        polars={
            Float: "columns.duration(column_time.float_seconds({0}))",
            ELSE: "columns.duration({0} * 1_000_000)",
        },
        polars_fails={
            Float: "column_time.float_seconds_fails({0})", ELSE: "column_time.seconds_fails({0})",
        },
        spark="try_multiply({0}, 1000000L)", spark_fails=OVERFLOWS,
    ),
)

CALENDAR = (
    Function(
        "truncate", "(t, unit)", (TIMESTAMP, DURATION), TIMESTAMP,
        "the last multiple of unit since 1970 that is not after t; fails for a unit that is not positive",
        failures=(Failure.ZERO_DIVISOR,),
        shows={
            "truncate(from_micros(90000000), 1m)": '"1970-01-01T00:01:00.000000Z"',
            "truncate(from_micros(0), 0s)": Failure.ZERO_DIVISOR,
        },
        python="row_time.truncate({0}, {1})",
        polars="columns.timestamp(column_time.truncate(columns.micros({0}), columns.micros({1})))",
        polars_fails="column_time.truncate_fails(columns.micros({0}), columns.micros({1}))",
        spark=f"timestamp_micros({_TRUNCATED})",
        spark_fails=(
            ("{0:given}{1} <= 0", Failure.ZERO_DIVISOR, "the unit is not positive"),
            (_TRUNCATED + " IS NULL{0:after} AND {1} > 0", Failure.OVERFLOW, "before the first timestamp"),
        ),
    ),
    Function(
        "truncate_to", "(t, unit[, zone])",
        first(
            fixed(TIMESTAMP, TIMESTAMP, STRING), fixed(DATE, DATE, STRING), fixed(TIMESTAMP, TIMESTAMP, STRING, STRING)
        ),
        says=f'the beginning of the unit of the calendar that t lies in: one of "{", ".join(UNITS)}"; weeks begin on '
        "Monday, days at midnight of the zone; of a date, one of days or longer",
        failures=(Failure.OVERFLOW,), constants=(1, 2), bad_constant=unit,
        shows={
            f'truncate_to({_MOMENT}, "month")': '"2026-03-01T00:00:00.000000Z"',
            f'truncate_to({_MOMENT}, "week", "Europe/Berlin")': '"2026-03-22T23:00:00.000000Z"',
            'truncate_to(date_of(2026, 3, 29), "quarter")': '"2026-01-01"',
            f'truncate_to({_LATER}, "day")': Failure.OVERFLOW,
        },
    ),
    Function(
        "add_months", "(t, n)", first(fixed(TIMESTAMP, TIMESTAMP, INT), fixed(DATE, DATE, INT)),
        says="n months later, or earlier for a negative n; a day that the month has not becomes its last day",
        failures=(Failure.OVERFLOW,),
        shows={
            'add_months(to_timestamp("2024-01-31T12:00"), 1)': '"2024-02-29T12:00:00.000000Z"',
            "add_months(date_of(2024, 2, 29), -12)": '"2023-02-28"',
            "add_months(date_of(9999, 12, 1), 1)": Failure.OVERFLOW,
        },
        python={Date: "row_time.add_months_to_date({0}, {1})", ELSE: "row_time.add_months({0}, {1})"},
        polars={
            Date: "column_time.add_months_to_date({0}, {1})",
            ELSE: "columns.timestamp(column_time.add_months(columns.micros({0}), {1}))",
        },
        polars_fails={
            Date: "column_time.add_months_to_date_fails({0}, {1})",
            ELSE: "column_time.add_months_fails(columns.micros({0}), {1})",
        },
    ),
    Function(
        "add_days", "(d, n)", (DATE, INT), DATE, "n days later", failures=(Failure.OVERFLOW,),
        shows={
            "add_days(date_of(2026, 2, 28), 1)": '"2026-03-01"',
            "add_days(date_of(9999, 12, 31), 1)": Failure.OVERFLOW,
        },
        python="row_time.add_days({0}, {1})",
        polars="column_time.add_days({0}, {1})", polars_fails="column_time.add_days_fails({0}, {1})",
    ),
    Function(
        "days_between", "(start, end)", (DATE, DATE), INT, "the days from start to end",
        shows={"days_between(date_of(2026, 1, 1), date_of(2026, 3, 1))": "59"},
        python="-{0} + {1}", polars="{1}.cast(pl.Int32).cast(pl.Int64) - {0}.cast(pl.Int32).cast(pl.Int64)",
        spark="(bigint(unix_date({1})) - bigint(unix_date({0})))",
    ),
    Function(
        "date_of", "(year, month, day)", (INT, INT, INT), DATE, "that day; fails where the calendar has none",
        failures=(Failure.OUT_OF_RANGE,),
        shows={"date_of(2026, 1, 2)": '"2026-01-02"', "date_of(2026, 2, 29)": Failure.OUT_OF_RANGE},
        python="row_time.date_of({0}, {1}, {2})",
        polars="column_time.date_of({0}, {1}, {2})", polars_fails="column_time.date_of_fails({0}, {1}, {2})",
    ),
    Function(
        "timestamp_of", "(year, month, day, hour, minute, second[, zone])",
        first(fixed(TIMESTAMP, *[INT] * 6), fixed(TIMESTAMP, *[INT] * 6, STRING)),
        says="that moment; fails where the calendar or the clock has none",
        failures=(Failure.OUT_OF_RANGE, Failure.OVERFLOW), constants=(6,), bad_constant=zoned(6),
        shows={
            "timestamp_of(2026, 1, 2, 3, 4, 5)": '"2026-01-02T03:04:05.000000Z"',
            'timestamp_of(2026, 1, 2, 3, 4, 5, "America/New_York")': '"2026-01-02T08:04:05.000000Z"',
            "timestamp_of(2026, 1, 2, 24, 0, 0)": Failure.OUT_OF_RANGE,
            'timestamp_of(1, 1, 1, 0, 0, 0, "Europe/Berlin")': Failure.OVERFLOW,
        },
        python="row_time.timestamp_of({0}, {1}, {2}, {3}, {4}, {5}{6:zone})",
        polars="columns.timestamp(column_time.timestamp_of({0}, {1}, {2}, {3}, {4}, {5}{6:zone}))",
        polars_fails="column_time.timestamp_of_fails({0}, {1}, {2}, {3}, {4}, {5}{6:zone})",
    ),
)

TEXTS = (
    Function(
        "to_date", "(t[, zone])", first(fixed(DATE, TIMESTAMP), fixed(DATE, STRING), fixed(DATE, TIMESTAMP, STRING)),
        says="the day of a timestamp; of a text such as 2026-01-02",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW), constants=(1,), bad_constant=readable(DATE),
        shows=(
            Example("to_date(r.s)", '"2026-01-02"', given=_text("2026-01-02")),
            Example('to_date(to_timestamp("2026-01-02T23:30Z"), "Europe/Berlin")', '"2026-01-03"'),
            Example("to_date(r.s)", fails=Failure.BAD_CAST, given=_text("2026-02-29")),
            Example(f"to_date({_LATER})", fails=Failure.OVERFLOW),
        ),
        python={String: "row_time.to_date({0})", ELSE: "row_time.day_at({0}{1:zone})"},
        polars={
            String: "column_time.parse_date({0})", ELSE: "column_time.local(columns.micros({0}){1:zone}).dt.date()",
        },
        polars_fails={
            String: "({0}.is_not_null() & column_time.parse_date({0}).is_null())",
            ELSE: "column_time.outside(columns.micros({0}){1:zone})",
        },
    ),
    Function(
        "to_timestamp", "(d[, zone])",
        first(fixed(TIMESTAMP, DATE), fixed(TIMESTAMP, STRING), fixed(TIMESTAMP, DATE, STRING)),
        says="midnight of a date; of a text of ISO 8601: 2026-01-02, then perhaps T or a space and 03:04, :05, "
        ".000006, and Z or an offset such as +01:00, else UTC; digits behind the microseconds are cut",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW), constants=(1,), bad_constant=readable(TIMESTAMP),
        shows=(
            Example("to_timestamp(r.s)", '"2026-01-02T02:04:05.000000Z"', given=_text("2026-01-02 03:04:05+01:00")),
            Example('to_timestamp(date_of(2026, 7, 1), "Europe/Berlin")', '"2026-06-30T22:00:00.000000Z"'),
            Example("to_timestamp(r.s)", fails=Failure.BAD_CAST, given=_text("yesterday")),
            Example("to_timestamp(r.s)", fails=Failure.OVERFLOW, given=_text("0001-01-01T00:00+01:00")),
        ),
        python={String: "row_time.to_timestamp({0})", ELSE: "row_time.date_to_timestamp({0}{1:zone})"},
        polars={
            String: "columns.timestamp(column_time.parse({0}))",
            ELSE: "columns.timestamp(column_time.date_to_timestamp({0}{1:zone}))",
        },
        polars_fails={
            String: "({0}.is_not_null() & column_time.parse({0}).is_null())",
            ELSE: "column_time.date_to_timestamp_fails({0}{1:zone})",
        },
    ),
    Function(
        "parse_time", "(s, pattern[, zone])",
        first(fixed(TIMESTAMP, STRING, STRING), fixed(TIMESTAMP, STRING, STRING, STRING)),
        says="the moment in a text, by Python's directives %Y %m %d %H %M %S %f %j %b %z and %%; all else stands for "
        "itself, also white space; what is not said of the time of day is 0; years have four digits, months English "
        "names",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW), constants=(1, 2), bad_constant=pattern(read_by),
        shows={
            'parse_time("10/Oct/2000:13:55:36 -0700", "%d/%b/%Y:%H:%M:%S %z")': '"2000-10-10T20:55:36.000000Z"',
            'parse_time("25.10.2026 02:30", "%d.%m.%Y %H:%M", "Europe/Berlin")': '"2026-10-25T00:30:00.000000Z"',
            'parse_time("31.02.2026", "%d.%m.%Y")': Failure.BAD_CAST,
            'parse_time("01.01.0001", "%d.%m.%Y", "Europe/Berlin")': Failure.OVERFLOW,
        },
        polars="columns.timestamp(column_time.parse({0}, {1:bare}{2:zone}))",
        polars_fails="({0}.is_not_null() & column_time.parse({0}, {1:bare}{2:zone}).is_null())",
    ),
    Function(
        "format_time", "(t, pattern[, zone])",
        first(fixed(STRING, TIMESTAMP, STRING), fixed(STRING, DATE, STRING), fixed(STRING, TIMESTAMP, STRING, STRING)),
        says="the moment or day as text, by the directives of parse_time",
        failures=(Failure.OVERFLOW,), constants=(1, 2), bad_constant=pattern(written_by),
        shows={
            f'format_time({_MOMENT}, "%d/%b/%Y:%H:%M:%S %z")': '"29/Mar/2026:00:30:05 +0000"',
            f'format_time({_MOMENT}, "%H:%M %z", "Asia/Kathmandu")': '"06:15 +0545"',
            'format_time(date_of(2026, 3, 29), "day %j")': '"day 088"',
            f'format_time({_LATER}, "%Y")': Failure.OVERFLOW,
        },
        polars={
            Date: "column_time_texts.format_date({0}, {1:bare})",
            ELSE: "column_time_texts.format_time(columns.micros({0}), {1:bare}{2:zone})",
        },
        polars_fails=_OUTSIDE | {ELSE: "column_time.outside(columns.micros({0}){2:zone})"},
    ),
)

TABLE = (*CALENDAR, *PARTS, *NUMBERS, *TEXTS)
