"""Cases of time: moments at the edges of units, of zones, of the years 1 to 9999, and texts that are nearly moments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime

from ghcm.signatures import DATE, DURATION, FLOAT, INT, STRING, TIMESTAMP
from ghcm.types import INT_MAX, INT_MIN
from tests.conformance.functions.case import Case, case

__all__ = ["CASES"]

_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


def _at(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0, micros: int = 0) -> int:
    moment = datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // datetime.resolution


def _day(year: int, month: int, day: int) -> int:
    return (date(year, month, day) - date(1970, 1, 1)).days


MOMENTS: Sequence[object] = (
    0, -1, 1, _FIRST, _FIRST - 1, _FIRST + 5 * 3_600_000_000, _LAST, _LAST + 1, _LAST - 3_600_000_000, INT_MAX, INT_MIN,
    _at(1969, 12, 31, 23, 59, 59, 999_999), _at(2024, 2, 29, 12, 30, 15, 1), _at(2023, 2, 28, 23, 59, 59), _at(1900, 3, 1),
    _at(2020, 12, 31, 23), _at(2021, 1, 3, 23, 59), _at(2026, 1, 1), _at(2027, 1, 3), _at(2000, 2, 29), _at(4, 12, 31, 6),
    _at(2026, 3, 29, 0, 59, 59, 999_999), _at(2026, 3, 29, 1), _at(2026, 10, 25, 0, 30), _at(2026, 10, 25, 1, 30),
    _at(2026, 3, 8, 7), _at(2026, 11, 1, 5, 30), _at(2026, 11, 1, 6, 30), _at(1919, 3, 31, 4, 45), _at(1850, 6, 1, 0, 7),
    _at(1893, 3, 31, 23, 20), _at(1883, 11, 18, 17, 1), _at(2400, 7, 1, 12), _at(9999, 12, 31, 3), _at(2018, 11, 4, 3),
    _at(2026, 4, 4, 15, 15), None,
)  # fmt: skip
DAYS: Sequence[object] = (
    0, -1, _day(2024, 2, 29), _day(2023, 12, 31), _day(2021, 1, 3), _day(2020, 12, 31), _day(1, 1, 1), _day(9999, 12, 31),
    _day(1, 1, 1) - 1, _day(9999, 12, 31) + 1, _day(2018, 11, 4), _day(2000, 1, 31), _day(1900, 2, 28), 2**31 - 1, -(2**31), None,
)  # fmt: skip
FEW_MOMENTS = (
    0,
    _at(2024, 2, 29, 12, 30, 15, 1),
    _at(2023, 12, 31, 23, 59, 59, 999_999),
    _FIRST,
    _LAST,
    _LAST + 1,
    None,
)
COUNTS: Sequence[object] = (
    0,
    1,
    -1,
    11,
    12,
    -25,
    119_987,
    -119_988,
    400 * 12,
    3_652_058,
    -3_652_058,
    INT_MAX,
    INT_MIN,
    None,
)
SECONDS: Sequence[object] = (
    0.0, -0.0, 1.5e-6, 2.5e-6, -1.5e-6, 5e-7, 4.9999999999999998e-07, 5.000000000000001e-07, 1e-300, 5e-324, 1767323045.123456,
    1767323045.1234565, 1331901000.000000, 0.1, 0.0000005, 1.0000005, 2.0000015, -2.0000025, 0.3000005, 1234567.8901235, 3.0517578125e-05,
    7.62939453125e-06, 0.5 + 2**-21, 1 / 2**20 / 1e6 * 2**19, 253402300799.99997, 253402300800.0, -62135596800.0, -62135596800.00001,
    9223372036854.775, 9223372036854.777, -9223372036854.777, 1e300, -1e300, 2.0**53, float("nan"), float("inf"), -float("inf"), None,
)  # fmt: skip
WHOLE: Sequence[object] = (
    0, -1, 253_402_300_799, 253_402_300_800, -62_135_596_800, -62_135_596_801, 253_402_300_799_999, 253_402_300_800_000,
    -62_135_596_800_000, -62_135_596_800_001, 9_223_372_036_854, 9_223_372_036_855, -9_223_372_036_855, INT_MAX, INT_MIN, None,
)  # fmt: skip
ISO: Sequence[object] = (
    "2026-01-02", "2026-01-02T03:04", "2026-01-02T03:04:05", "2026-01-02 03:04:05.5", "2026-01-02T03:04:05.000006Z",
    "2026-01-02T03:04:05.123456789+01:00", "2026-01-02T03:04:05-0530", "2026-01-02T03:04:05+01", "2026-02-29", "2024-02-29T23:59:59Z",
    "2026-1-2", "2026-01-02T", "2026-01-02T24:00:00", "2026-01-02T03:04:60", "2026-01-02T03:04:05.", "2026-01-02T03:04:05z", " 2026-01-02",
    "2026-01-02\n", "0001-01-01", "0000-01-01", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+00:01",
    "2026-13-01", "2026-00-10", "2026-12-32", "12026-01-01", "-2026-01-01", "٢٠٢٦-01-02", "2026-01-02T03.5", "", "x", "2026-01-02T03:04:05+24:00", None,
)  # fmt: skip
LOGS: Sequence[object] = (
    "02/Jan/2026:03:04:05 +0100", "2/jan/2026:3:4:5 -0530", "29/FEB/2023:00:00:00 Z", "29/Feb/2024:00:00:00 Z", "31/Apr/2026:00:00:00 Z",
    "01/Jan/0001:00:00:00 +0001", "31/Dec/9999:23:59:59 -00:01", "02/Jan/2026:03:04:61 +0000", "02/Jän/2026:03:04:05 +0100",
    "02/Jan/2026:03:04:05  +0100", "02/Jan/2026:03:04:05 +01", "", None,
)  # fmt: skip
PLAIN: Sequence[object] = (
    "2026-03-29 02:30:00.5", "2026-03-29 03:00:00.0", "2026-10-25 02:30:00.123456", "2026-10-25 03:00:00.1", "2018-11-04 00:30:00.0",
    "2026-03-08 02:15:00.0", "2026-11-01 01:45:00.0", "1919-03-31 00:10:00.0", "0001-01-01 00:00:00.0", "9999-12-31 23:59:59.999999",
    "2026-4-5 1:2:3.000001", "2026-04-05 01:02:03", "2026-04-05 01:02:60.0", "2026-04-05 25:02:03.0", "2026-04-05T01:02:03.0", "1883-11-18 12:01:00.0",
    "2026-04-05 02:15:00.0", None,
)  # fmt: skip
BERLIN, NEW_YORK, ODD = (
    "Europe/Berlin",
    "America/New_York",
    ("America/Toronto", "America/Sao_Paulo", "Australia/Lord_Howe"),
)
UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
OF_DAYS = ("year", "quarter", "month", "week", "week_year", "day", "day_of_week", "day_of_year")
OF_CLOCKS = ("hour", "minute", "second", "microsecond", "time_of_day")
EVERYTHING = "%Y-%m-%d %H:%M:%S.%f %j %b %z 100%% 'é'"


def _zoned(name: str, *zones: str) -> list[Case]:
    return [case(name, TIMESTAMP, STRING, constants=(zone,), values=(MOMENTS,)) for zone in zones]


PARTS = (
    *(case(name, TIMESTAMP, values=(MOMENTS,)) for name in (*OF_DAYS, *OF_CLOCKS)),
    *(case(name, DATE, values=(DAYS,)) for name in OF_DAYS),
    *(each for name in ("hour", "week", "day") for each in _zoned(name, BERLIN, NEW_YORK)),
    *_zoned("minute", "UTC", "Asia/Kathmandu", *ODD), *_zoned("to_date", BERLIN, NEW_YORK, *ODD),
)  # fmt: skip
BEGINNINGS = (
    *(case("truncate_to", TIMESTAMP, STRING, constants=(unit,), values=(MOMENTS,)) for unit in UNITS),
    *(case("truncate_to", TIMESTAMP, STRING, STRING, constants=(unit, BERLIN), values=(MOMENTS,)) for unit in UNITS),
    *(case("truncate_to", TIMESTAMP, STRING, STRING, constants=(unit, zone), values=(MOMENTS,)) for unit in ("hour", "day", "week") for zone in (NEW_YORK, *ODD)),
    *(case("truncate_to", DATE, STRING, constants=(unit,), values=(DAYS,)) for unit in UNITS[3:]),
)  # fmt: skip
MOVES = (
    case("add_months", TIMESTAMP, INT, values=(FEW_MOMENTS, COUNTS)), case("add_months", DATE, INT, values=(DAYS, COUNTS)),
    case("add_days", DATE, INT, values=(DAYS, COUNTS)), case("days_between", DATE, DATE, values=(DAYS, DAYS)),
    case("date_of", INT, INT, INT, values=((1, 2024, 1900, 9999, 0, 10_000, INT_MAX, None), (1, 2, 12, 0, 13, INT_MIN, None), (1, 29, 30, 31, 0, 32, INT_MAX, None))),
    case("timestamp_of", *[INT] * 6, values=((1, 2026, 9999, 0, None), (1, 2, 13), (1, 29, INT_MIN), (0, 23, 24), (59, -1), (0, 59, 60, None))),
    *(case("timestamp_of", *[INT] * 6, STRING, constants=(zone,), values=((1, 2026, 9999), (3, 10, 12), (25, 29, 31, 1), (0, 2, 23), (30,), (0, 59))) for zone in (BERLIN, NEW_YORK)),
)  # fmt: skip
NUMBERS = (
    case("truncate", TIMESTAMP, DURATION), case("to_micros", TIMESTAMP), case("to_micros", DURATION), case("from_micros", INT),
    case("to_millis", TIMESTAMP), case("to_millis", DURATION), case("to_seconds", TIMESTAMP), case("to_seconds", DURATION),
    case("to_seconds", TIMESTAMP, values=(range(0, 10_000_000, 700_000),)),
    case("from_millis", INT, values=(WHOLE,)), case("from_seconds", INT, values=(WHOLE,)), case("to_duration", INT, values=(WHOLE,)),
    case("from_seconds", FLOAT, values=(SECONDS,)), case("to_duration", FLOAT, values=(SECONDS,)),
)  # fmt: skip
TEXTS = (
    case("to_date", TIMESTAMP, values=(MOMENTS,)), case("to_date", STRING, values=(ISO,)), case("to_timestamp", STRING, values=(ISO,)),
    case("to_timestamp", DATE, values=(DAYS,)), *(case("to_timestamp", DATE, STRING, constants=(zone,), values=(DAYS,)) for zone in (BERLIN, NEW_YORK, *ODD)),
    case("parse_time", STRING, STRING, constants=("%d/%b/%Y:%H:%M:%S %z",), values=(LOGS,)),
    case("parse_time", STRING, STRING, constants=("%Y-%m-%d %H:%M:%S.%f",), values=(PLAIN,)),
    case("parse_time", STRING, STRING, constants=("%Y%m%d%H%M%S",), values=(("20260102030405", "2026111", "202611123", "2026129", "20260102030460", None),)),
    case("parse_time", STRING, STRING, constants=("[%j.%Y] 100%% (é)",), values=(("[366.2024] 100% (é)", "[366.2023] 100% (é)", "[1.1970] 100% (é)", "[000.1970] 100% (é)", "[001.0000] 100% (é)", None),)),
    *(case("parse_time", STRING, STRING, STRING, constants=("%Y-%m-%d %H:%M:%S.%f", zone), values=(PLAIN,)) for zone in ("UTC", BERLIN, NEW_YORK, *ODD)),
    case("format_time", TIMESTAMP, STRING, constants=(EVERYTHING,), values=(MOMENTS,)),
    *(case("format_time", TIMESTAMP, STRING, STRING, constants=(EVERYTHING, zone), values=(MOMENTS,)) for zone in ("UTC", BERLIN, NEW_YORK, *ODD)),
    case("format_time", DATE, STRING, constants=("%d. %b %Y (%j) %%",), values=(DAYS,)),
    case("format_time", TIMESTAMP, STRING, constants=("",), values=(MOMENTS,)), case("format_time", TIMESTAMP, STRING, constants=("%z",), values=(MOMENTS,)),
)  # fmt: skip

CASES: tuple[Case, ...] = (*NUMBERS, *PARTS, *BEGINNINGS, *MOVES, *TEXTS)
