"""Strings, patterns, bytes as texts and JSON texts in SQL, where no text of the table can say it.

Spark takes malformed JSON for missing, so Python reads it.
"""

import json
import re
from collections.abc import Iterator

from ghcm.codegen.spark.functions.emitting import Emit, Writer, constant_text, plain
from ghcm.codegen.spark.library.sql import fails, matching, text, when
from ghcm.codegen.spark.sql import Checked, all_of, given, partial, pure, python_form, spark_form
from ghcm.expr import Call, Expr
from ghcm.spg.notation.types import parse_type
from ghcm.types import String, strip
from ghcm.values.texts import parse_path


def join_texts(writer: Writer, call: Call) -> Checked:
    """Several texts as one, those that are joined themselves included."""
    texts = [writer.emit(each) for each in _texts(call)]
    return pure(f"concat({', '.join(map(str, texts))})", *texts)


def _texts(call: Call) -> Iterator[Expr]:
    """What is joined, with what is joined in it."""
    for each in call.arguments:
        if isinstance(each, Call) and each.function in ("add", "concat") and isinstance(strip(each.type), String):
            yield from _texts(each)
        else:
            yield each


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


HEX = r"\A(?:[0-9a-fA-F]{2})*\z"
BASE64 = r"\A(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?\z"


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


# --- JSON ------------------------------------------------------------------------------------------------------------

_FOUND = {
    "json_get": ("value", "get({found}, 1)"),
    "json_string": ("string", "get({found}, 1)"),
    "json_int": ("whole number", "try_cast(get({found}, 1) AS bigint)"),
    "json_float": ("number", "try_cast(get({found}, 1) AS double)"),
    "json_bool": ("bool", "(get({found}, 1) = 'true')"),
    "json_list": ("array", "CASE WHEN array_size({found}) > 1 THEN slice({found}, 3, array_size({found})) END"),
}
"""What has to stand at a path, and what is made of the list that Python gives: why it fails, then texts."""


def _read(writer: Writer, call: Call) -> Checked:
    path = json.dumps(parse_path(constant_text(call, 1)), ensure_ascii=False, separators=(",", ":"))
    (word, value), a = _FOUND[call.function], writer.emit(call.arguments[0])
    found = f"json_at({a}, {text(path)}, {text(word)})"
    return partial(value.format(found=found), (a,), f"get({found}, 0)")


def _to_json(writer: Writer, call: Call) -> Checked:
    """A value as compact JSON text."""
    (argument,) = call.arguments
    value = writer.emit(argument)
    return pure(f"{writer.json_function('written', argument.type)}({python_form(value.value, argument.type)})", value)


def _json_to(writer: Writer, call: Call) -> Checked:
    """The value of a type that a JSON text holds."""
    value, type_ = writer.emit(call.arguments[0]), parse_type(constant_text(call, 2))
    found = f"{writer.json_function('read', type_)}({value})"
    return partial(spark_form(f"{found}.value", type_), (value,), f"{found}.error")


EMITTERS: dict[str, Emit] = {
    "split": plain(split),
    "split_part": plain(split_part),
    "concat": join_texts,
    "from_hex": plain(from_hex),
    "from_base64": plain(from_base64),
    "to_json": _to_json,
    "json_to": _json_to,
    **dict.fromkeys(_FOUND, _read),
}
