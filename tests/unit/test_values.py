"""The JSON forms of values: what they look like, that they come back, and what a wrong one is told."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal as Number

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghcm.formats.fields import from_text_field
from ghcm.spg.reference.python import take
from ghcm.types import (
    INT_MAX,
    INT_MIN,
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Map,
    Null,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
    tuple_of,
)
from ghcm.values import decode, encode, from_json, key_text, to_json
from ghcm.values.exchange import exchange_of
from ghcm.values.timestamps import date_text, timestamp_text

RECORD = Struct((Field("name", String()), Field("parts", List(Nullable(Int()))), Field("note", Nullable(String()))))


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (True, Bool(), "true"),
        (INT_MIN, Int(), "-9223372036854775808"),
        (0.1, Float(), "0.1"),
        (float("nan"), Float(), '"NaN"'),
        (float("-inf"), Float(), '"-Infinity"'),
        (Number("1.50"), Decimal(5, 2), '"1.50"'),
        ("é\n", String(), '"é\\n"'),
        (b"\x00\xff", Bytes(), '"AP8="'),
        (1, Timestamp(), '"1970-01-01T00:00:00.000001Z"'),
        (-1, Date(), '"1969-12-31"'),
        (90_000_000, Duration(), "90"),
        (1_500_000, Duration(), "1.5"),
        (INT_MAX, Duration(), '"9223372036854.775807"'),
        (("a", [1, None], None), RECORD, '{"name":"a","parts":[1,null],"note":null}'),
        ({"a": 1}, Map(String(), Int()), '{"a":1}'),
        ({2: 1.0}, Map(Int(), Float()), "[[2,1.0]]"),
    ],
)
def test_the_form_of_each_type(value: object, type_: Type, text: str) -> None:
    assert encode(value, type_) == text
    back = decode(text, type_)
    assert back == value or repr(back) == repr(value)


@pytest.mark.parametrize(
    ("data", "type_", "message"),
    [
        (True, Int(), "expected int, found true"),
        (1.0, Int(), "expected int, found 1.0"),
        (2**63, Int(), "9223372036854775808 does not fit into int"),
        (2**31, Int32(), "2147483648 does not fit into int32"),
        ("1", Float(), 'expected float, found "1"'),
        (None, String(), "expected string, found null"),
        ("\ud800", String(), "the string holds half a surrogate pair"),
        ("2026-02-29", Date(), 'expected date, found "2026-02-29"'),
        ("2026-01-01 00:00:00", Timestamp(), "expected timestamp such as"),
        ({"name": "a", "parts": [1, "x"]}, RECORD, '"parts"[1]: expected int, found "x"'),
        ({"name": "a"}, RECORD, '"parts": the field is missing'),
        ({"name": "a", "parts": [], "nam": 1}, RECORD, '"nam": there is no such field'),
        ("1.234", Decimal(5, 2), "1.234 does not fit into decimal(5, 2)"),
        (1.5, Decimal(5, 2), "expected decimal(5, 2) as a text or a whole number, found 1.5"),
    ],
)
def test_what_does_not_fit_is_named(data: object, type_: Type, message: str) -> None:
    with pytest.raises(ValueError) as found:
        from_json(data, type_)
    assert message in str(found.value)


@pytest.mark.parametrize("text", ["", "{", "NaN", "[" * 100_000])
def test_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        decode(text, Float())


def test_keys_are_readable_text() -> None:
    assert key_text("a b", String()) == "a b"
    assert key_text(7, Int()) == "7"
    assert key_text(None, Nullable(Int())) == "null"
    assert key_text(0, Timestamp()) == "1970-01-01T00:00:00.000000Z"
    assert key_text(("é", None, 0), tuple_of(String(), Nullable(Int()), Date())) == '["é",null,"1970-01-01"]'


@given(st.datetimes())
def test_timestamps_agree_with_the_calendar_of_python(moment: datetime) -> None:
    micros = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    assert timestamp_text(micros) == moment.replace(tzinfo=UTC).isoformat(timespec="microseconds").replace(
        "+00:00", "Z"
    )


@given(st.dates())
def test_dates_agree_with_the_calendar_of_python(day: date) -> None:
    assert date_text((day - date(1970, 1, 1)).days) == day.isoformat()


@given(st.integers(INT_MIN, INT_MAX))
def test_every_moment_and_duration_comes_back(micros: int) -> None:
    for type_ in (Timestamp(), Duration()):
        assert decode(encode(micros, type_), type_) == micros
    assert from_json(to_json(micros // 10**9, Date()), Date()) == micros // 10**9


@pytest.mark.parametrize(
    ("type_", "cell", "message"),
    [
        (Map(Int(), Int()), "[5]", r"expected \[key, value\], found 5"),
        (Map(Int(), Int()), "[[5]]", r"expected \[key, value\], found \[5\]"),
        (List(Int()), r'["\ud800"]', r'expected int, found "\\ud800"'),
        (List(Date()), r'["\udfff"]', r'found "\\udfff"'),
    ],
)
def test_cells_that_do_not_fit_are_told_as_they_are(type_: Type, cell: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as failed:
        from_text_field(type_)(cell)
    assert str(failed.value).encode()


@pytest.mark.parametrize(
    ("type_", "value", "taken"),
    [
        (Decimal(5, 2), Number("1.5"), Number("1.50")),
        (Decimal(5, 2), Number("-1E+2"), Number("-100.00")),
        (Duration(), timedelta(seconds=1), 1_000_000),
        (String(), "é", "é"),
        (Null(), None, None),
        (Float(), 1, 1.0),
    ],
)
def test_results_are_taken_as_values_of_their_type(type_: Type, value: object, taken: object) -> None:
    found = exchange_of(type_).take(value)
    assert (found, repr(found)) == (taken, repr(taken))


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        *((Decimal(5, 2), Number(text)) for text in ("1.234", "NaN", "sNaN", "-Infinity", "123456.00", "1E+3")),
        (Duration(), timedelta.max),
        (String(), "\ud800"),
        (Null(), True),
        (Float(), 10**400),
        (Nullable(Decimal(5, 2)), 1.5),
        (Map(String(), List(Float())), {"a": [-(10**400)]}),
    ],
)
def test_results_that_no_engine_holds_are_refused(type_: Type, value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        exchange_of(type_).take(value)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        take(value, type_)
