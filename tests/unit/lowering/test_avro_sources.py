"""Sources in Avro: the schema that stands beside a program is read and compared with the record."""

import json
from pathlib import Path

import pytest

from ghcm.errors import ProgramError
from ghcm.language.loading import load
from ghcm.lowering import lower
from ghcm.spg.connectors import Kafka
from ghcm.spg.ops import Source
from ghcm.spg.verify import verify

SCHEMA = {"type": "record", "name": "V", "fields": [{"name": "n", "type": "long"}, {"name": "s", "type": "string"}]}
TWICE = {"name": "n", "type": {"type": "enum", "name": "E", "symbols": ["a", "a"]}}


def written(folder: Path, fields: str, schema: str) -> Path:
    (folder / "v.avsc").write_text(schema)
    path = folder / "visits.istream"
    path.write_text(f"""program visits
record V {{ {fields} }}
sink out = files("out", mode = append)
stream u {{ kafka("v", format = avro, schema = "v.avsc", schema_id = 3, key = key).as(V).to(out) }}
""")
    return path


def test_the_schema_becomes_a_part_of_the_program(tmp_path: Path) -> None:
    program = lower(load(written(tmp_path, 'key: bytes, number: int from "n"', json.dumps(SCHEMA, indent=2))))
    op = program.unit("u").tasks[0].op
    assert isinstance(op, Source) and isinstance(op.connector, Kafka)
    assert (json.loads(op.connector.schema), op.connector.schema_id) == (SCHEMA, 3)
    assert verify(program) == []


@pytest.mark.parametrize(
    ("fields", "schema", "said"),
    [
        ("key: bytes, n: string", json.dumps(SCHEMA), 'field "n" is "string", and the schema has long'),
        ("key: bytes, n: int", "{", 'the schema "v.avsc" cannot be read'),
        ("key: bytes, n: int", json.dumps({**SCHEMA, "fields": [TWICE]}), 'the schema "v.avsc" cannot be read'),
    ],
)
def test_what_does_not_fit_is_told(fields: str, schema: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramError) as told:
        lower(load(written(tmp_path, fields, schema)))
    (found,) = told.value.diagnostics
    assert found.message == said
    assert found.span is not None
    assert found.span.source.text[found.span.start : found.span.end] == '"v.avsc"'
