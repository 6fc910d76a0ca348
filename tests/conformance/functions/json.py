"""Cases of JSON texts."""

from __future__ import annotations

from ghcm.signatures import STRING
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
from tests.conformance.functions.case import INF, NAN, VALUES, Case, case

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

CASES: tuple[Case, ...] = (
    *(case("to_json", type_, values=(values,)) for type_, values in WRITTEN.items()),
    *(case("json_get", STRING, STRING, constants=(path,), values=(TEXTS,)) for path in PATHS),
    *(case(name, STRING, STRING, constants=(path,), values=(TEXTS,)) for name in ("json_string", "json_int", "json_float", "json_bool", "json_list") for path in ("$.a",)),
    case("json_int", STRING, STRING, constants=("$.a.b[0]",), values=(TEXTS,)),
)  # fmt: skip
