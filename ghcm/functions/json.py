"""JSON texts in the table of functions.

The text must be JSON as RFC 8259 has it, nested at most 200 deep; of several members of one name the last counts. A
path is a constant of names, quoted names and list indices.
"""

from collections.abc import Mapping

from ghcm.functions.table import Example, Failure, Function
from ghcm.signatures import BOOL, FLOAT, INT, STRING, Resolution
from ghcm.support import Never
from ghcm.types import List, Nullable, String, Struct, Type

_COLUMNAR = Never("Polars takes malformed JSON for missing, and writes numbers otherwise than they stand there")


# fmt: off
def _read(name: str, result: Type, says: str, *failures: Failure, shows: Mapping[str, str | Failure]) -> Function:
    return Function(
        name, "(s, path)", (STRING, STRING), Nullable(result), says,
        failures=(Failure.BAD_CAST, *failures), constants=(1,), shows=shows, polars=_COLUMNAR,
    )


def _any(arguments: tuple[Type, ...]) -> Resolution | None:
    """Any value gives a string."""
    return Resolution(arguments, STRING) if len(arguments) == 1 else None


def _record(arguments: tuple[Type, ...]) -> Resolution | None:
    """A text, an empty list of what is read from it, and that type with the indices of its fields."""
    match arguments:
        case (String(), List(item=(Struct() | List(item=Struct())) as type_), String()):
            return Resolution(arguments, type_)
        case _:  # these do not fit
            return None


_NOTHING = "null where nothing or null stands there; fails for any other value"

TABLE = (
    Function(
        "to_json", "(x)", _any,
        says="the value as compact JSON, as sinks write it: fields in their order, floats as the shortest text that "
        "reads back the same (NaN and the infinities as strings), timestamps, dates and decimals as strings, durations "
        "in seconds, bytes as base64, maps as objects in the order of their keys, or as lists of pairs where keys are "
        "no strings",
        shows={
            """to_json({ n: 1, tags: ["a"], ratio: 0.5 })""": r'"{\"n\":1,\"tags\":[\"a\"],\"ratio\":0.5}"',
            'map_of("b", 1, "a", 2).to_json()': r'"{\"a\":2,\"b\":1}"',
        },
        polars=_COLUMNAR,
    ),
    Function(
        "json_to", "(s, Record)", _record,
        says="the record that a JSON object holds, by the rules of JSON sources: fields stand at their paths, a field "
        "that is missing or null is null where its type allows that, other members are ignored; `json_to(s, [Record])` "
        "gives the list of an array; fails where the text is malformed, holds half a surrogate pair, or does not fit "
        "the record",
        failures=(Failure.BAD_CAST,), constants=(1,),
        shows=(
            Example(
                """json_to(r'{"id": {"host": "a"}, "n": null, "more": 1}', Seen)""", '{"host": "a", "n": null}',
                declares='record Seen { host: string from "id.host", n: int? }',
            ),
            Example(
                """json_to(r'[{"n": 1}, {}]', [Count])""", '[{"n": 1}, {"n": null}]',
                declares="record Count { n: int? }",
            ),
            Example(
                """json_to(r'{"n": "1"}', Count)""", fails=Failure.BAD_CAST, declares="record Count { n: int? }",
            ),
        ),
        polars=_COLUMNAR,
    ),
    _read(
        "json_get", STRING,
        'what stands at a path such as `$.user.tags[0]` or `$["a b"]` in a JSON text: a string as it is, a number as '
        'it '
        "is written, true and false, an object or array as compact JSON; null where nothing or null stands there; "
        "fails for malformed JSON",
        shows={
            """json_get(r'{"user": {"tags": ["a", "b"]}}', "$.user.tags[1]")""": '"b"',
            """json_get(r'{"n": 1.50}', "$.n")""": '"1.50"',
            """json_get(r'{"a b": {"x": [1, 2]}}', r'$["a b"]')""": r'"{\"x\":[1,2]}"',
            """json_get("{}", "$.n")""": "null", """json_get("{", "$.n")""": Failure.BAD_CAST,
        },
    ),
    _read(
        "json_string", STRING, f"the string at a path; {_NOTHING}",
        shows={
            """json_string(r'{"a": "x"}', "$.a")""": '"x"', """json_string(r'{"a": {}}', "$.a")""": Failure.BAD_CAST,
        },
    ),
    _read(
        "json_int", INT, f"the whole number at a path, written without point and exponent; {_NOTHING}",
        Failure.OVERFLOW,
        shows={"""json_int(r'{"a": 7}', "$.a")""": "7", """json_int(r'{"a": 7.5}', "$.a")""": Failure.BAD_CAST},
    ),
    _read(
        "json_float", FLOAT, f"the number at a path as the nearest double; {_NOTHING}", Failure.OVERFLOW,
        shows={
            """json_float(r'{"a": 1e3}', "$.a")""": "1000.0", """json_float(r'{"a": {}}', "$.a")""": Failure.BAD_CAST,
        },
    ),
    _read(
        "json_bool", BOOL, f"true or false at a path; {_NOTHING}",
        shows={"""json_bool(r'{"a": true}', "$.a")""": "true", """json_bool(r'{"a": {}}', "$.a")""": Failure.BAD_CAST},
    ),
    _read(
        "json_list", List(Nullable(STRING)),
        f"the items of the array at a path, each as `json_get` gives it; {_NOTHING}",
        shows={
            """json_list("[1, null, [2]]", "$")""": '["1", null, "[2]"]',
            """json_list(r'{"a": {}}', "$.a")""": Failure.BAD_CAST,
        },
    ),
)
