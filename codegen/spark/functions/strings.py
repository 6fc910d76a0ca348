"""Strings, patterns, and bytes as texts in SQL, where no text of the table can say it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_kind, constant_text, java_pattern, plain
from ghcm.codegen.spark.library.sql import fails, matching, text, when
from ghcm.codegen.spark.sql import Checked, all_of, given, in_lambda, partial, pure, variable
from ghcm.expr import Call, Expr
from ghcm.types import List, String, strip


def join_texts(writer: Writer, call: Call) -> Checked:
    """Several texts as one, those that are joined themselves included."""
    return join_text(*map(writer.emit, _texts(call)))


def _texts(call: Call) -> Iterator[Expr]:
    """What is joined, with what is joined in it."""
    for each in call.arguments:
        if isinstance(each, Call) and each.function in ("add", "concat") and isinstance(strip(each.type), String):
            yield from _texts(each)
        else:
            yield each


def join_text(*texts: Checked) -> Checked:
    """Several texts as one."""
    return pure(f"concat({', '.join(each.value for each in texts)})", *texts)


def contains(a: Checked, part: Checked) -> Checked:
    """Whether a part occurs in a text."""
    return pure(f"contains({a}, {part})", a, part)


def has_item(a: Checked, item: Checked) -> Checked:
    """Whether a list has the item."""
    each = variable()
    found = in_lambda(item.value, lambda value: f"exists({a}, {each} -> {each} = {value})")
    return pure(when(f"{item} IS NOT NULL", found) if item.nullable else found, a, item)


def substring(a: Checked, start: Checked, count: Checked) -> Checked:
    """Up to count code points from start (from 0)."""
    given = f"{a} IS NOT NULL AND {start} IS NOT NULL AND {count} IS NOT NULL"
    wrong = fails(f"{given} AND ({start} < 0 OR {count} < 0)", "out_of_range", "a negative start or count")
    index, most = f"int(least({start}, 2147483646L)) + 1", f"int(least({count}, 2147483646L))"
    return partial(when(given, f"substring({a}, {index}, {most})"), (a, start, count), wrong)


def split(a: Checked, separator: Checked) -> Checked:
    """The parts between separators."""
    if isinstance(separator.constant, str) and separator.constant:
        return pure(f"split({a}, {text(literal_pattern(separator.constant))}, -1)", a)
    quote, unquote, both = text(r"\Q"), text(r"\E"), text(r"\E\\E\Q")
    pattern = f"concat({quote}, replace({separator}, {unquote}, {both}), {unquote})"
    empty = fails(all_of(*given(a), f"{separator} = ''"), "bad_pattern", "the separator is empty")
    return partial(when(f"{separator} != ''", f"split({a}, {pattern}, -1)"), (a, separator), empty)


def literal_pattern(part: str) -> str:
    """The regular expression of a text itself.

    >>> literal_pattern("a|b")
    'a[|]b'
    """
    return re.sub(r"[.|?*+(){}\[\]^$\\]", lambda char: f"\\{char[0]}" if char[0] in "\\^[]" else f"[{char[0]}]", part)


def split_part(a: Checked, separator: Checked, number: Checked) -> Checked:
    """A part between separators, null where there are fewer."""
    known = given(a, separator, number)
    first_parts = split(a, separator).value
    if isinstance(number.constant, int) and 0 <= number.constant < 2**31 - 1:
        value, negative = f"get({first_parts}, {number.constant})", None
    else:
        value = when(f"{number} >= 0", f"get({first_parts}, int(least({number}, 2147483646L)))")
        negative = fails(all_of(*known, f"{number} < 0"), "out_of_range", "a negative part")
    empty = (
        None
        if separator.constant
        else fails(all_of(*known, f"{separator} = ''"), "bad_pattern", "the separator is empty")
    )
    return partial(value, (a, separator, number), empty, negative)


def lines_of(a: Checked) -> Checked:
    """The lines without their ends."""
    each = variable()
    body = f"regexp_replace({a}, {text(chr(92) + 'n' + chr(92) + 'z')}, '')"
    line = f"regexp_replace({each}, {text(chr(92) + 'r' + chr(92) + 'z')}, '')"
    found = f"transform(split({body}, {text(chr(10))}, -1), {each} -> {line})"
    return pure(when(f"{a} = ''", "cast(array() AS array<string>)", found), a)


LONGEST_TEXT = 1_048_576


def repeated(a: Checked, count: Checked) -> Checked:
    """A text so many times."""
    given = f"{a} IS NOT NULL AND {count} IS NOT NULL"
    fits = f"(char_length({a}) = 0 OR {count} <= {LONGEST_TEXT} div char_length({a}))"
    negative = fails(f"{given} AND {count} < 0", "out_of_range", "a negative number of times")
    long = fails(f"{given} AND NOT {fits}", "overflow", "the text gets too long")
    value = when(f"{given} AND {count} >= 0 AND {fits}", f"repeat({a}, int(least({count}, {LONGEST_TEXT}L)))")
    return partial(value, (a, count), negative, long)


def padded_start(a: Checked, width: Checked, fill: Checked) -> Checked:
    """A text with padding before it."""
    return padded("lpad", a, width, fill)


def padded_end(a: Checked, width: Checked, fill: Checked) -> Checked:
    """A text with padding behind it."""
    return padded("rpad", a, width, fill)


def padded(function: str, a: Checked, width: Checked, fill: Checked) -> Checked:
    """A text with padding; Spark's own functions cut a text that is wider."""
    given = f"{a} IS NOT NULL AND {width} IS NOT NULL AND {fill} IS NOT NULL"
    stays = f"({width} <= char_length({a}) OR {fill} = '')"
    long = fails(f"{given} AND NOT {stays} AND {width} > {LONGEST_TEXT}", "overflow", "the text gets too long")
    made = f"{function}({a}, int(least({width}, {LONGEST_TEXT}L)), {fill})"
    return partial(when(given, f"({when(stays, a.value, made)})"), (a, width, fill), long)


def slice_of_text(a: Checked, *indices: Checked) -> Checked:
    """From an index up to before another, as Python's."""
    low, count = bounds(f"bigint(char_length({a}))", *indices)
    return pure(f"substring({a}, int({low}) + 1, int({count}))", a, *indices)


def slice_of_list(a: Checked, *indices: Checked) -> Checked:
    """Items from an index up to before another, as Python's."""
    low, count = bounds(f"bigint(array_size({a}))", *indices)
    return pure(f"slice({a}, int({low}) + 1, int({count}))", a, *indices)


def bounds(length: str, start: Checked, end: Checked | None = None) -> tuple[str, str]:
    """The first index and the count of a slice."""
    low = index_in(length, start.value)
    high = length if end is None else index_in(length, end.value)
    return low, when(f"{high} > {low}", f"{high} - {low}", when(f"{high} <= {low}", "0L"))


def index_in(length: str, index: str) -> str:
    """An index that is not outside, counted from the end where it is negative."""
    behind = when(f"{index} < -{length}", "0L", f"{length} + {index}")
    inside = when(f"{index} > {length}", length, index)
    return f"({when(f'{index} < 0', f'({behind})', f'({inside})')})"


# --- patterns, and bytes as texts ------------------------------------------------------------------------------------

HEX = r"\A(?:[0-9a-fA-F]{2})*\z"
BASE64 = r"\A(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?\z"


def _replace_pattern(writer: Writer, call: Call) -> Checked:
    """Every match replaced; nothing in the replacement has a meaning of its own."""
    a, new, pattern = (
        writer.emit(call.arguments[0]),
        writer.emit(call.arguments[2]),
        java_pattern(constant_text(call, 1)),
    )
    backslash, dollar = text(chr(92)), text("$")
    plain = f"replace({new}, {backslash}, {text(chr(92) * 2)})"
    plain = f"replace({plain}, {dollar}, {text(chr(92) + '$')})"
    return pure(f"regexp_replace({a}, {text(pattern)}, {plain})", a, new)


def from_hex(a: Checked) -> Checked:
    """The bytes that hexadecimal digits say."""
    return spelt(a, HEX, f"unhex({a})")


def from_base64(a: Checked) -> Checked:
    """The bytes of base64."""
    return spelt(a, BASE64, f"unbase64({a})")


def spelt(a: Checked, form: str, value: str) -> Checked:
    """A value for texts of a form."""
    wrong = fails(f"NOT {matching(a.value, form)}", "bad_cast", "the text has not the form")
    return partial(when(matching(a.value, form), value), (a,), wrong)


EMITTERS: dict[str, Emit] = {
    "contains": by_kind({List: plain(has_item)}, plain(contains)),
    "substring": plain(substring),
    "split": plain(split),
    "split_part": plain(split_part),
    "lines": plain(lines_of),
    "concat": join_texts,
    "repeat": plain(repeated),
    "pad_start": plain(padded_start),
    "pad_end": plain(padded_end),
    "slice": by_kind({List: plain(slice_of_list)}, plain(slice_of_text)),
    "replace_pattern": _replace_pattern,
    "from_hex": plain(from_hex),
    "from_base64": plain(from_base64),
}
