"""What the rules of operations are made of: a task with its surroundings, and comparisons of collections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ghcm.expr import Lambda
from ghcm.functions import comparable
from ghcm.spg.ops import Op
from ghcm.spg.rules.expressions import lambda_problems
from ghcm.types import Bool, Collection, Nullable, Shape, Struct, Type, strip
from ghcm.types.unification import accepts


@dataclass(frozen=True, slots=True)
class Around:
    """One task with what it takes and gives, and the unit's parameters."""

    op: Op
    takes: tuple[Collection, ...]
    gives: Collection
    parameters: Mapping[str, Type]

    def of(self, function: Lambda, *arguments: Type) -> Iterator[str]:
        """What is wrong with one of its functions."""
        return lambda_problems(function, arguments, self.parameters)


def collection_problems(found: Collection, wanted: Collection, *, narrowed: bool = False) -> Iterator[str]:
    """What differs; the element may be a `?` more general than derived, or with `narrowed` a `?` less."""
    for name in ("shape", "bounded", "timed", "windowed"):
        if getattr(found, name) != getattr(wanted, name):
            yield f"it gives {found}, where {name} is {getattr(found, name)} and should be {getattr(wanted, name)}"
    fits = accepts(found.element, wanted.element) or (narrowed and accepts(wanted.element, found.element))
    if not fits:
        yield f'its element is "{found.element}" and should be "{wanted.element}"'


def function_problems(around: Around, function: Lambda, argument: Type, result: Type) -> Iterator[str]:
    """What is wrong with a function that should give that type, perhaps null."""
    yield from around.of(function, argument)
    if strip(function.body.type) != result:
        yield f'a function gives "{function.body.type}" and should give "{result}"'


def flowing(takes: Collection) -> Iterator[str]:
    """A complaint about a table."""
    if takes.shape is Shape.TABLE:
        yield "it does not take a table"


def keyed(takes: Collection) -> Iterator[str]:
    """A complaint about what is no pairs."""
    names = takes.element.names[:2] if isinstance(takes.element, Struct) else ()
    if takes.shape is Shape.STREAM or names != ("key", "value"):
        yield f"it takes pairs, not {takes}"


def pairs(found: Collection, wanted: Collection) -> Iterator[str]:
    """What differs, and a complaint about keys that cannot be compared."""
    yield from collection_problems(found, wanted)
    if isinstance(wanted.element, Struct) and not comparable(wanted.element.fields[0].type):
        yield f'"{wanted.element.fields[0].type}" cannot be a key'


def part(takes: Collection, name: str) -> Type:
    """The type of a column; of one that is missing, and was complained about, a stand-in."""
    field = takes.columns.get(name)
    return field.type if field is not None else Nullable(Bool())


def with_value(takes: Collection, value: Type) -> Type:
    """The element with another value."""
    fields = takes.columns.fields
    return Struct(tuple(replace(field, type=value) if field.name == "value" else field for field in fields))
