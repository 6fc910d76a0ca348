"""Examples of functions of JSON texts."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.manual.example import Example

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "to_json": (
        Example("""to_json({ n: 1, tags: ["a"], ratio: 0.5 })""", r'"{\"n\":1,\"tags\":[\"a\"],\"ratio\":0.5}"'),
        Example('map_of("b", 1, "a", 2).to_json()', r'"{\"a\":2,\"b\":1}"'),
    ),
    "json_to": (
        Example(
            """json_to(r'{"id": {"host": "a"}, "n": null, "more": 1}', Seen)""",
            '{"host": "a", "n": null}',
            declares='record Seen { host: string from "id.host", n: int? }',
        ),
        Example(
            """json_to(r'[{"n": 1}, {}]', [Count])""", '[{"n": 1}, {"n": null}]', declares="record Count { n: int? }"
        ),
        Example("""json_to(r'{"n": "1"}', Count)""", fails=Failure.BAD_CAST, declares="record Count { n: int? }"),
    ),
    "json_get": (
        Example("""json_get(r'{"user": {"tags": ["a", "b"]}}', "$.user.tags[1]")""", '"b"'),
        Example("""json_get(r'{"n": 1.50}', "$.n")""", '"1.50"'),
        Example("""json_get(r'{"a b": {"x": [1, 2]}}', r'$["a b"]')""", r'"{\"x\":[1,2]}"'),
        Example("""json_get("{}", "$.n")""", "null"),
        Example("""json_get("{", "$.n")""", fails=Failure.BAD_CAST),
    ),
    "json_string": (
        Example("""json_string(r'{"a": "x"}', "$.a")""", '"x"'),
        Example("""json_string(r'{"a": {}}', "$.a")""", fails=Failure.BAD_CAST),
    ),
    "json_int": (
        Example("""json_int(r'{"a": 7}', "$.a")""", "7"),
        Example("""json_int(r'{"a": 7.5}', "$.a")""", fails=Failure.BAD_CAST),
    ),
    "json_float": (
        Example("""json_float(r'{"a": 1e3}', "$.a")""", "1000.0"),
        Example("""json_float(r'{"a": {}}', "$.a")""", fails=Failure.BAD_CAST),
    ),
    "json_bool": (
        Example("""json_bool(r'{"a": true}', "$.a")""", "true"),
        Example("""json_bool(r'{"a": {}}', "$.a")""", fails=Failure.BAD_CAST),
    ),
    "json_list": (
        Example("""json_list("[1, null, [2]]", "$")""", '["1", null, "[2]"]'),
        Example("""json_list(r'{"a": {}}', "$.a")""", fails=Failure.BAD_CAST),
    ),
}
