"""Strings, regular expressions, bytes and their texts in generated columnar code: values, and masks of what fails."""

import polars as pl

from ghcm.functions.strings import LONGEST_TEXT

CASE_DIFFERS = (
    r"[\x{19b}\x{264}\x{ece}\x{1c89}-\x{1c8a}\x{a7cb}-\x{a7cf}\x{a7d2}-\x{a7d5}\x{a7da}-\x{a7dc}\x{10d50}-\x{10d85}"
    r"\x{10efd}-\x{10eff}\x{11241}\x{11f00}-\x{11f42}\x{13439}-\x{13455}\x{16ea0}-\x{16ed3}\x{1df25}-\x{1df2a}"
    r"\x{1e030}-\x{1e08f}\x{1e4eb}-\x{1e4ef}]"
)
"""The characters whose case Polars knows from a later Unicode than Python 3.11 does; texts with them go by rows."""


def case_fails(value: pl.Expr) -> pl.Expr:
    """Where a text has characters whose case Polars and Python know differently."""
    return value.str.contains(CASE_DIFFERS)


def initcap(value: pl.Expr) -> pl.Expr:
    """In lower case, but for the first code point of each word."""
    parts, part = value.str.to_lowercase().str.extract_all(r"[ \t-\r]+|[^ \t-\r]+"), pl.element().str
    return parts.list.eval(part.slice(0, 1).str.to_uppercase() + part.slice(1)).list.join("")


def replace(value: pl.Expr, old: pl.Expr, new: pl.Expr) -> pl.Expr:
    """Every `old` replaced, whatever the three are; an empty `old` changes nothing."""
    changed = pl.when(old == "").then(value).otherwise(join(split(value, old), new))
    return pl.when(old.is_not_null() & new.is_not_null()).then(changed)


def _given(value: pl.Expr, *arguments: pl.Expr) -> pl.Expr:
    """The value where no argument is null."""
    return pl.when(pl.all_horizontal(each.is_not_null() for each in arguments)).then(value)


def join(items: pl.Expr, separator: pl.Expr) -> pl.Expr:
    """The texts with a separator between them. One list and many separators are one text for Polars, unless the list
    is given as often.
    """
    return _given(items, separator).list.join(separator)


def split(value: pl.Expr, separator: pl.Expr) -> pl.Expr:
    """The parts between separators; one text and many separators as in `join`."""
    return _given(value, separator).str.split(separator)


def split_part(value: pl.Expr, separator: pl.Expr, number: pl.Expr) -> pl.Expr:
    """A part between separators, null where there are fewer."""
    return split(value, separator).list.get(number.clip(0, 2**31 - 2), null_on_oob=True)


def split_part_fails(value: pl.Expr, separator: pl.Expr, number: pl.Expr) -> pl.Expr:
    """Where the separator is empty or the number negative."""
    return _given((separator == "") | (number < 0), value, separator, number)


def lines(value: pl.Expr) -> pl.Expr:
    """The lines without their ends."""
    found = value.str.strip_suffix("\n").str.split("\n").list.eval(pl.element().str.strip_suffix("\r"))
    return pl.when(value == "").then(pl.lit([], dtype=pl.List(pl.String))).otherwise(found)


def reverse(value: pl.Expr) -> pl.Expr:
    """The code points from the last to the first; Polars would keep those of one sign together."""
    return value.str.split("").list.reverse().list.join("")


def repeat(value: pl.Expr, count: pl.Expr) -> pl.Expr:
    """The text so many times, as far as it may be."""
    most = LONGEST_TEXT // value.str.len_chars().cast(pl.Int64).clip(1)
    return _given(value.repeat_by(pl.min_horizontal(count.clip(0), most)).list.join(""), value, count)


def repeat_fails(value: pl.Expr, count: pl.Expr) -> pl.Expr:
    """Where the count is negative or the text gets too long."""
    length = value.str.len_chars().cast(pl.Int64)
    return _given((count < 0) | ((length > 0) & (count > LONGEST_TEXT // length.clip(1))), value, count)


def pad_start(value: pl.Expr, width: pl.Expr, fill: pl.Expr) -> pl.Expr:
    """The text with padding before it."""
    return _padding(value, width, fill) + value


def pad_end(value: pl.Expr, width: pl.Expr, fill: pl.Expr) -> pl.Expr:
    """The text with padding behind it."""
    return value + _padding(value, width, fill)


def _padding(value: pl.Expr, width: pl.Expr, fill: pl.Expr) -> pl.Expr:
    missing = (width.clip(0, LONGEST_TEXT) - value.str.len_chars().cast(pl.Int64)).clip(0)
    times = missing // fill.str.len_chars().cast(pl.Int64).clip(1) + 1
    return _given(fill.repeat_by(times).list.join("").str.slice(0, missing), value, width, fill)


def pad_fails(value: pl.Expr, width: pl.Expr, fill: pl.Expr) -> pl.Expr:
    """Where the text gets too long."""
    length = value.str.len_chars().cast(pl.Int64)
    return _given((width > LONGEST_TEXT) & (width > length) & (fill != ""), value, width, fill)


def index_of(value: pl.Expr, part: pl.Expr) -> pl.Expr:
    """Where a part first begins, -1 where it does not occur."""
    before = _given(value, part).str.splitn(part, 2).struct.field("field_0").str.len_chars().cast(pl.Int64)
    found = pl.when(part == "").then(pl.lit(0, pl.Int64)).otherwise(before)
    return _given(pl.when(value.str.contains(part, literal=True)).then(found).otherwise(-1), value, part)


def last_index_of(value: pl.Expr, part: pl.Expr) -> pl.Expr:
    """Where a part last begins, -1 where it does not occur: found from behind."""
    behind = index_of(reverse(value), reverse(part))
    index = value.str.len_chars().cast(pl.Int64) - part.str.len_chars().cast(pl.Int64) - behind
    return pl.when(behind < 0).then(pl.lit(-1, pl.Int64)).otherwise(index)


def count_of(value: pl.Expr, part: pl.Expr) -> pl.Expr:
    """How often a part occurs; an empty one between all code points."""
    length = value.str.len_chars().cast(pl.Int64)
    counted = value.str.count_matches(part, literal=True).cast(pl.Int64)
    return _given(pl.when(part == "").then(length + 1).otherwise(counted), value, part)


def slice_text(value: pl.Expr, start: pl.Expr, end: pl.Expr | None = None) -> pl.Expr:
    """From an index up to before another, as Python's."""
    low, count = _bounds(value.str.len_chars().cast(pl.Int64), start, end)
    return _given(value.str.slice(low, count), value, start, *([] if end is None else [end]))


def slice_list(value: pl.Expr, start: pl.Expr, end: pl.Expr | None = None) -> pl.Expr:
    """Items from an index up to before another, as Python's."""
    low, count = _bounds(value.list.len().cast(pl.Int64), start, end)
    return _given(value.list.slice(low, count), value, start, *([] if end is None else [end]))


def _bounds(length: pl.Expr, start: pl.Expr, end: pl.Expr | None) -> tuple[pl.Expr, pl.Expr]:
    low = _index(length, start)
    high = length if end is None else _index(length, end)
    return low, (high - low).clip(0)


def _index(length: pl.Expr, index: pl.Expr) -> pl.Expr:
    inside = pl.min_horizontal(index, length)
    return pl.when(index < 0).then(pl.max_horizontal(length + index.clip(-LONGEST_INDEX, 0), 0)).otherwise(inside)


LONGEST_INDEX = 2**40
"""Farther than any text or list reaches, and not so far that adding a length overflows."""


def left(value: pl.Expr, count: pl.Expr) -> pl.Expr:
    """The first code points."""
    return _given(value.str.slice(0, count.clip(0)), value, count)


def right(value: pl.Expr, count: pl.Expr) -> pl.Expr:
    """The last code points."""
    first = (value.str.len_chars().cast(pl.Int64) - count.clip(0)).clip(0)
    return _given(value.str.slice(first, count.clip(0)), value, count)


def count_fails(value: pl.Expr, count: pl.Expr) -> pl.Expr:
    """Where the count is negative."""
    return _given(count < 0, value, count)


def extract(value: pl.Expr, pattern: str, group: int) -> pl.Expr:
    """What a group of the first match took, empty where it took no part; null where there is no match."""
    return pl.when(value.str.contains(pattern)).then(value.str.extract(pattern, group).fill_null(""))


_HEX = r"\A(?:[0-9a-fA-F]{2})*\z"
_BASE64 = r"\A(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?\z"


def from_hex_fails(value: pl.Expr) -> pl.Expr:
    """Where it is not that."""
    return ~value.str.contains(_HEX)


def from_base64_fails(value: pl.Expr) -> pl.Expr:
    """Where it is not that."""
    return ~value.str.contains(_BASE64)
