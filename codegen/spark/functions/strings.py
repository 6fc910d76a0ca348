"""Strings as SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_kind, plain
from ghcm.codegen.spark.functions.lists import has_no_items, size
from ghcm.codegen.spark.functions.maps import has_no_keys, map_size
from ghcm.codegen.spark.library.sql import fails, text, when
from ghcm.codegen.spark.sql import Checked, all_of, given, in_lambda, partial, pure, variable
from ghcm.expr import Call, Expr
from ghcm.types import List, Map, String, strip


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


def length(a: Checked) -> Checked:
    """The number of code points."""
    return pure(f"bigint(char_length({a}))", a)


def lower(a: Checked) -> Checked:
    """In lower case."""
    return pure(f"lower({a})", a)


def upper(a: Checked) -> Checked:
    """In upper case."""
    return pure(f"upper({a})", a)


SPACE = " \t\n\r\x0b\x0c"


def trim(a: Checked, *characters: Checked) -> Checked:
    """Without ASCII white space, or these characters, at both ends."""
    return trimmed("BOTH", a, *characters)


def trim_start(a: Checked, *characters: Checked) -> Checked:
    """Without ASCII white space, or these characters, at the beginning."""
    return trimmed("LEADING", a, *characters)


def trim_end(a: Checked, *characters: Checked) -> Checked:
    """Without ASCII white space, or these characters, at the end."""
    return trimmed("TRAILING", a, *characters)


def trimmed(where: str, a: Checked, *characters: Checked) -> Checked:
    """Without ASCII white space, or these characters, at one end or both."""
    of = characters[0].value if characters else text(SPACE)
    return pure(f"trim({where} {of} FROM {a})", a, *characters)


def is_empty(a: Checked) -> Checked:
    """Whether a text has no code points."""
    return pure(f"({a} = '')", a)


def starts_with(a: Checked, part: Checked) -> Checked:
    """Whether a text begins with a part."""
    return pure(f"startswith({a}, {part})", a, part)


def ends_with(a: Checked, part: Checked) -> Checked:
    """Whether a text ends with a part."""
    return pure(f"endswith({a}, {part})", a, part)


def contains(a: Checked, part: Checked) -> Checked:
    """Whether a part occurs in a text."""
    return pure(f"contains({a}, {part})", a, part)


def has_item(a: Checked, item: Checked) -> Checked:
    """Whether a list has the item."""
    each = variable()
    found = in_lambda(item.value, lambda value: f"exists({a}, {each} -> {each} = {value})")
    return pure(when(f"{item} IS NOT NULL", found) if item.nullable else found, a, item)


def replace(a: Checked, old: Checked, new: Checked) -> Checked:
    """Every occurrence of old replaced; an empty old changes nothing."""
    return pure(f"replace({a}, {old}, {new})", a, old, new)


def substring(a: Checked, start: Checked, count: Checked) -> Checked:
    """Up to count code points from start (from 0)."""
    given = f"{a} IS NOT NULL AND {start} IS NOT NULL AND {count} IS NOT NULL"
    wrong = fails(f"{given} AND ({start} < 0 OR {count} < 0)", "out_of_range", "a negative start or count")
    place, most = f"int(least({start}, 2147483646L)) + 1", f"int(least({count}, 2147483646L))"
    return partial(when(given, f"substring({a}, {place}, {most})"), (a, start, count), wrong)


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


def words_of(a: Checked) -> Checked:
    """The parts between ASCII white space."""
    return pure(f"regexp_extract_all({a}, {text('[^ ' + chr(92) + 't-' + chr(92) + 'r]+')}, 0)", a)


def join_list(a: Checked, separator: Checked) -> Checked:
    """The texts of a list with a separator between them."""
    return pure(f"array_join({a}, {separator})", a, separator)


def reversed_text(a: Checked) -> Checked:
    """The code points from the last to the first."""
    return pure(f"reverse({a})", a)


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


def index_of(a: Checked, part: Checked) -> Checked:
    """Where a part first begins, -1 where it does not occur."""
    return pure(f"(bigint(locate({part}, {a})) - 1L)", a, part)


def last_index_of(a: Checked, part: Checked) -> Checked:
    """Where a part last begins, -1 where it does not occur: found from behind."""
    behind = f"locate(reverse({part}), reverse({a}))"
    place = f"bigint(char_length({a}) - char_length({part}) - {behind} + 1)"
    return pure(f"({when(f'{behind} = 0', '-1L', place)})", a, part)


def count_of(a: Checked, part: Checked) -> Checked:
    """How often a part occurs; an empty one between all code points."""
    rest = f"char_length(replace({a}, {part}, ''))"
    number = f"bigint((char_length({a}) - {rest}) div char_length({part}))"
    return pure(f"({when(f'{part} = {text(str())}', f'bigint(char_length({a})) + 1L', number)})", a, part)


def slice_of_text(a: Checked, *places: Checked) -> Checked:
    """From a place up to before another, as Python's."""
    low, count = bounds(f"bigint(char_length({a}))", *places)
    return pure(f"substring({a}, int({low}) + 1, int({count}))", a, *places)


def slice_of_list(a: Checked, *places: Checked) -> Checked:
    """Items from a place up to before another, as Python's."""
    low, count = bounds(f"bigint(array_size({a}))", *places)
    return pure(f"slice({a}, int({low}) + 1, int({count}))", a, *places)


def bounds(length: str, start: Checked, end: Checked | None = None) -> tuple[str, str]:
    """The first place and the count of a slice."""
    low = place_in(length, start.value)
    high = length if end is None else place_in(length, end.value)
    return low, when(f"{high} > {low}", f"{high} - {low}", when(f"{high} <= {low}", "0L"))


def place_in(length: str, place: str) -> str:
    """A place that is not outside, counted from the end where it is negative."""
    behind = when(f"{place} < -{length}", "0L", f"{length} + {place}")
    inside = when(f"{place} > {length}", length, place)
    return f"({when(f'{place} < 0', f'({behind})', f'({inside})')})"


def left_part(a: Checked, count: Checked) -> Checked:
    """The first code points."""
    return counted_part("left", a, count)


def right_part(a: Checked, count: Checked) -> Checked:
    """The last code points."""
    return counted_part("right", a, count)


def counted_part(function: str, a: Checked, count: Checked) -> Checked:
    """Code points of one end."""
    negative = fails(f"{a} IS NOT NULL AND {count} < 0", "out_of_range", "a negative count")
    value = f"{function}({a}, int(least({count}, 2147483646L)))"
    return partial(when(f"{count} >= 0", value), (a, count), negative)


def remove_prefix(a: Checked, part: Checked) -> Checked:
    """Without a part at the beginning."""
    rest = f"substring({a}, char_length({part}) + 1)"
    return pure(f"({when(f'startswith({a}, {part})', rest, when(f'{part} IS NOT NULL', a.value))})", a, part)


def remove_suffix(a: Checked, part: Checked) -> Checked:
    """Without a part at the end."""
    rest = f"left({a}, char_length({a}) - char_length({part}))"
    return pure(f"({when(f'endswith({a}, {part})', rest, when(f'{part} IS NOT NULL', a.value))})", a, part)


EMITTERS: dict[str, Emit] = {
    "length": by_kind({List: plain(size), Map: plain(map_size)}, plain(length)),
    "lower": plain(lower),
    "upper": plain(upper),
    "trim": plain(trim),
    "trim_start": plain(trim_start),
    "trim_end": plain(trim_end),
    "is_empty": by_kind({List: plain(has_no_items), Map: plain(has_no_keys)}, plain(is_empty)),
    "starts_with": plain(starts_with),
    "ends_with": plain(ends_with),
    "contains": by_kind({List: plain(has_item)}, plain(contains)),
    "replace": plain(replace),
    "substring": plain(substring),
    "split": plain(split),
    "split_part": plain(split_part),
    "lines": plain(lines_of),
    "words": plain(words_of),
    "concat": join_texts,
    "join": plain(join_list),
    "reverse": plain(reversed_text),
    "repeat": plain(repeated),
    "pad_start": plain(padded_start),
    "pad_end": plain(padded_end),
    "index_of": plain(index_of),
    "last_index_of": plain(last_index_of),
    "count_of": plain(count_of),
    "slice": by_kind({List: plain(slice_of_list)}, plain(slice_of_text)),
    "left": plain(left_part),
    "right": plain(right_part),
    "remove_prefix": plain(remove_prefix),
    "remove_suffix": plain(remove_suffix),
}
