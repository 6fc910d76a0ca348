"""Cases of JSON texts."""

from __future__ import annotations

from ghcm.signatures import STRING
from ghcm.spg.notation.types import print_type
from ghcm.types import (
    INT_MAX,
    INT_MIN,
    Bool,
    Bytes,
    Date,
    Duration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Map,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
)
from tests.conformance.functions.case import INF, NAN, PROTO, VALUES, Case, case

__all__ = ["CASES"]

TEXTS = (
    '{"a": 1}', '{"a": {"b": [10, "x", null, true, {"c": -0}]}}', '{"a": "text"}', '{"a": "é😀\\n\\u00e9\\ud83d\\ude00"}', '{"a": null}', '{}', '{"b": 1}',
    '{"a": 1, "a": 2}', '{"a": true}', '{"a": false}', '{"a": 1.50}', '{"a": 1e3}', '{"a": -0}', '{"a": 1E400}', '{"a": -1e-400}', '{"a": 0.1e-6}',
    '{"a": 9223372036854775807}', '{"a": -9223372036854775808}', '{"a": 9223372036854775808}', '{"a": 123456789012345678901234567890}', '{"a": ' + "9" * 5000 + "}",
    '{"a": []}', '{"a": [ ]}', '{"a": [1, 2.0, "x", null, [3, {"y" : 4}], {}]}', '{"a": {}}', '{"a": {"z": 1, "y": [ 1 , 2 ], "z": 3}}', '{"a": "1"}', '{"a": ""}',
    '{"a b": 7, "a": {"b": 8}}', '[1, [2, 3]]', '[{"a": 1}, {"a": "x"}]', "7", '"a"', "null", "true", " \t\n\r{} ", '{"a": "\\ud800"}', '{"a": ["\\udfff"]}', '{"\\ud800": 1, "a": 2}',
    '{"a": "tab\\t quote\\" slash\\/ back\\\\ nul\\u0000 del\x7f"}', '{"a": "\\u2028\u2028"}',
    "", " ", "{", "}", "[1,]", '{"a": 1,}', "{'a': 1}", "{a: 1}", '{"a": 01}', '{"a": 1.}', '{"a": .5}', '{"a": +1}', '{"a": NaN}', '{"a": Infinity}', '{"a": -Infinity}', '{"a": 1} x', '{"a": 1}{"a": 2}',
    '{"a": "\n"}', '{"a": "\\x"}', '{"a": "\\u12"}', '{"a": tru}', '{"a": TRUE}', "// c\n1", '\ufeff{"a": 1}', '\xa0{"a": 1}', '{"a" 1}', '{"a": 1 "b": 2}', '{"a": 0x1}', '{"a": ١}', "nul",
    "[" * 200 + "]" * 200, "[" * 201 + "]" * 201, "[" * 5000 + "]" * 5000, "[" * 150, '{"a": "' + "[" * 300 + '"}', '{"a":' * 199 + "1" + "}" * 199, '{"a":' * 201 + "1" + "}" * 201, None,
)  # fmt: skip
"""JSON texts, and what nearly is one."""

PATHS = ("$", "$.a", '$.a["b"][4].c', "$['a b']", "$[1][0]")

WRITTEN: dict[Type, tuple[object, ...]] = {
    **{type_: tuple(VALUES[type_]) for type_ in (Bool(), Int(), Int32(), Float(), String(), Bytes(), Date())},
    Timestamp(): (0, -1, 1000000, 1767323045000006, 253402300799999999, None),
    Duration(): (0, 1, -1, 1_500_000, -3_600_000_000, 86_400_000_000, INT_MAX, INT_MIN, None),
    List(Nullable(Float())): ([], [1.0, None, NAN, 0.1, -INF, 1e22], None),
    Struct((Field("a", Nullable(Int())), Field("b", List(Timestamp())))): ((1, [0]), (None, []), None),
    Map(String(), Nullable(Int())): ({}, {"b": 1}, {"é": None}, None),
    Map(Int(), List(String())): ({}, {5: ["x"]}, None),
    List(List(Nullable(Duration()))): ([], [[1], [None, 1_500_000], []], None),
}

SEEN = Struct(
    (
        Field("at", Nullable(Timestamp())),
        Field("host", Nullable(String()), "id.host"),
        Field("n", Nullable(Int())),
        Field("x", Nullable(Float())),
        Field("small", Nullable(Int32())),
        Field("yes", Nullable(Bool())),
        Field("day", Nullable(Date())),
        Field("lasted", Nullable(Duration())),
        Field("raw", Nullable(Bytes())),
        Field("kind", Nullable(PROTO)),
        Field("tags", Nullable(List(Nullable(String())))),
        Field("by", Nullable(Map(String(), Float()))),
        Field("inner", Nullable(Struct((Field("c", Int(), "a.b"),))), "x.y"),
    )
)
DATA = (
    '{}', '{"at": "2026-01-02T03:04:05Z", "id": {"host": "a"}, "n": 1}', '{"id.host": "flat", "id": {"host": "nested"}}', '{"id": {"host": null}}', '{"id": 7}', '{"id": {"host": 7}}',
    '{"at": 1.5}', '{"at": -0.0000005}', '{"at": "2026-01-02"}', '{"at": "2026-13-02"}', '{"at": true}', '{"n": 1.0}', '{"n": "1"}', '{"n": 9223372036854775808}', '{"n": -9223372036854775808}', '{"n": true}',
    '{"x": 1}', '{"x": 1e3}', '{"x": -0.0}', '{"x": "NaN"}', '{"x": 123456789012345678901234567890}', '{"small": 2147483648}', '{"small": -2147483648}', '{"yes": false}', '{"yes": 0}', '{"day": "2026-02-29"}', '{"day": "2024-02-29"}', '{"day": 1}',
    '{"lasted": 1.5}', '{"lasted": "1.5"}', '{"raw": "AAE="}', '{"raw": "A"}', '{"kind": "tcp"}', '{"kind": "TCP"}', '{"kind": 1}', '{"tags": []}', '{"tags": ["a", null, "\\u00e9"]}', '{"tags": [1]}', '{"tags": "a"}', '{"tags": {}}',
    '{"by": {}}', '{"by": {"a": 1, "b": 0.5}}', '{"by": {"a": null}}', '{"by": [["a", 1]]}', '{"by": [["a"]]}', '{"inner": 1}', '{"x.y": {"a": {"b": 5}}}', '{"x.y": {"a.b": 5}}', '{"x.y": {}}', '{"x.y": null}', '{"more": [1, {"deep": "\\ud83d\\ude00"}], "n": 4}', '{"more": "\\ud800", "n": 4}',
    '{"n": 1, "n": 2}', '"{\\"n\\": 1}"', '[{"n": 1}]', '[{"n": 1}, {"n": null}]', '[{"n": 1}, null]', "[]", "[[]]",
)  # fmt: skip
"""JSON texts that hold records, and what nearly does."""
READ = tuple(text for text in TEXTS if text is None or len(text) < 2000)

CASES: tuple[Case, ...] = (
    case("json_to", STRING, List(SEEN), STRING, constants=([], print_type(SEEN)), values=((*READ, *DATA),)),
    case("json_to", STRING, List(List(SEEN)), STRING, constants=([], print_type(List(SEEN))), values=((*READ, *DATA),)),
    *(case("to_json", type_, values=(values,)) for type_, values in WRITTEN.items()),
    *(case("json_get", STRING, STRING, constants=(path,), values=(TEXTS,)) for path in PATHS),
    *(case(name, STRING, STRING, constants=(path,), values=(TEXTS,)) for name in ("json_string", "json_int", "json_float", "json_bool", "json_list") for path in ("$.a",)),
    case("json_int", STRING, STRING, constants=("$.a.b[0]",), values=(TEXTS,)),
)  # fmt: skip
