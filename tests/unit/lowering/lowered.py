"""Programs of one unit, for tests of a single rule."""

from ghcm.errors import ProgramError
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.graph import Program, Task
from ghcm.spg.verify import verify

__all__ = ["codes", "element", "program", "task"]

_HEAD = """program tested
record Row { id: int, small: int32, name: string?, n: int?, flag: bool?, score: float,
             inner: {a: int?, b: string}?, at: timestamp }
record Out { name: string }
sink rows = parquet("rows")
sink latest = redis("latest", key = r => r.key)
"""


def program(text: str) -> Program:
    """The SPG of declarations behind the head above; it keeps the laws."""
    lowered = lower(parse(Source("tested.istream", _HEAD + text)))
    assert verify(lowered) == []
    return lowered


def task(pipeline: str, id: str, *, kind: str = "batch") -> Task:
    """The task of that id in a unit that assigns `x = data.<pipeline>`."""
    unit = f'{kind} job {{ data = files("a.json").as(Row)\n x = data.{pipeline}\n x.to(rows) }}'
    return program(unit).unit("job").task(id)


def element(pipeline: str) -> str:
    """The fields of what a pipeline over rows gives, as they are written."""
    return ", ".join(map(str, task(pipeline, "rows.to").schema.fields))


def codes(text: str) -> list[str]:
    """The codes of the mistakes of a program, in order."""
    try:
        program(text)
    except ProgramError as error:
        return [diagnostic.code for diagnostic in error.diagnostics]
    return []
