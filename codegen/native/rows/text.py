"""Pieces of generated Python: how tightly they bind, and what literals look like."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal as Number
from typing import cast

from ghcm import types
from ghcm.codegen.native.snippets import ATOM, IF, UNARY, quoted


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of Python and how tightly it binds."""

    text: str
    level: int = ATOM
    simple: bool = False
    """Whether it may be repeated: a name, a literal or a subscript of one."""
    written: bool = False
    """Whether it is a literal other than `None`; Python warns where one is compared with `is`."""

    def at(self, level: int) -> str:
        """The text, in parentheses where an operand of this precedence needs them."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def inner(self) -> str:
        """The text where a comma or a bracket ends it."""
        return self.at(IF)


@dataclass(frozen=True, slots=True)
class Binding:
    """What a variable of a lambda is in the code: one value, or the columns of a record."""

    value: Code | None = None
    columns: Mapping[str, Code] = field(default_factory=dict[str, Code])

    def whole(self) -> Code:
        """The value, made from the columns where it exists only in parts."""
        if self.value is not None:
            return self.value
        return Code(tuple_text([column.inner for column in self.columns.values()]))


def tuple_text(items: Sequence[str]) -> str:
    """A tuple of these items, which a comma ends.

    >>> tuple_text(["a", "b"]), tuple_text(["a"]), tuple_text([])
    ('(a, b)', '(a,)', '()')
    """
    return f"({targets_text(items)})"


def targets_text(names: Sequence[str]) -> str:
    """The names to which the items of a tuple are assigned.

    >>> targets_text(["a", "b"]), targets_text(["a"])
    ('a, b', 'a,')
    """
    return f"{', '.join(names)}{',' if len(names) == 1 else ''}"


def function_text(head: str, lines: Iterable[str]) -> str:
    """A function with these lines under its head."""
    return "\n".join([f"def {head}:", *(f"    {line}" for line in lines)])


# --- literals --------------------------------------------------------------------------------------------------------


def literal(value: object, type_: types.Type) -> Code:
    """A canonical value as Python writes it."""
    plain = types.strip(type_)
    if isinstance(plain, types.Struct | types.List | types.Map) and value is not None:
        return _nested(value, plain)
    match value:
        case float() if math.isnan(value):
            return Code("math.nan", simple=True)
        case float() if math.isinf(value):
            return Code("math.inf" if value > 0 else "-math.inf", ATOM if value > 0 else UNARY, simple=value > 0)
        case Number():
            return Code(f'Decimal("{value}")')
        case bool() | None:
            return Code(repr(value), simple=True, written=value is not None)
        case int() | float():
            negative = repr(value).startswith("-")
            text = f"{value:_}" if isinstance(value, int) and abs(value) >= 100_000 else repr(value)
            return Code(text, UNARY if negative else ATOM, simple=not negative, written=True)
        case str() | bytes():
            return Code(quoted(value), simple=True, written=True)
        case _:
            raise TypeError(f"no literal of {type_} is {value!r}")


def _nested(value: object, type_: types.Struct | types.List | types.Map) -> Code:
    match type_:
        case types.Struct(fields=fields):
            parts = zip(cast("tuple[object, ...]", value), fields, strict=True)
            texts = [literal(each, part.type).text for each, part in parts]
            return Code(tuple_text(texts))
        case types.List(item=item):
            return Code(f"[{', '.join(literal(each, item).text for each in cast('list[object]', value))}]")
        case types.Map(key=key, value=held):
            pairs = cast("dict[object, object]", value).items()
            return Code(f"{{{', '.join(f'{literal(a, key).text}: {literal(b, held).text}' for a, b in pairs)}}}")
