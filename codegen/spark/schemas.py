"""Types as a job writes them: pyspark types, and a named constant for each record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enumeration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Map,
    Null,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
    is_nullable,
    strip,
)


@dataclass
class Schemas:
    """The records of a job: constants by the type they stand for, in the order in which they are needed."""

    constants: dict[str, str] = field(default_factory=dict[str, str])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    taken: frozenset[str] = frozenset()
    """Names that mean something else in a job."""

    def text(self, type_: Type, hint: str = "record") -> str:
        """The type as an expression; a record becomes a constant, named after itself or after the hint."""
        match plain := strip(type_):
            case Struct() as struct:
                return self._constant(struct, hint)
            case List(item=item):
                return f"ArrayType({self.text(item, hint)}, {is_nullable(item)})"
            case Map(key=key, value=value):
                return f"MapType({self.text(key, hint)}, {self.text(value, hint)}, {is_nullable(value)})"
            case Decimal(precision=precision, scale=scale):
                return f"DecimalType({precision}, {scale})"
            case Bool():
                return "BooleanType()"
            case Int():
                return "LongType()"
            case Int32():
                return "IntegerType()"
            case Float():
                return "DoubleType()"
            case String():
                return "StringType()"
            case Enumeration(values=values):
                return f"EnumType([{', '.join(map(_quote, values))}])"
            case Bytes():
                return "BinaryType()"
            case Timestamp():
                return "TimestampType()"
            case Date():
                return "DateType()"
            case Duration():
                return "DayTimeIntervalType()"
            case Null() | Nullable():
                return "NullType()"
            case _:
                assert_never(plain)

    def _constant(self, struct: Struct, hint: str) -> str:
        key = repr(struct)
        if key not in self.constants:
            text = self.struct_text(struct, hint)
            wanted = constant_name(struct.name or hint)
            name, number = wanted, 2
            while name in self.texts or name in self.taken:
                name, number = f"{wanted}_{number}", number + 1
            self.constants[key], self.texts[name] = name, text
        return self.constants[key]

    def struct_text(self, struct: Struct, hint: str) -> str:
        """The struct spelt out."""
        cases = dict(struct.cases)
        fields = [self._field(part, hint, cases.get(part.name), _needs(struct, part)) for part in struct.fields]
        return "StructType([" + ", ".join(fields) + "])"

    def _field(self, part: Field, hint: str, tags: tuple[str, ...] | None, needed: Mapping[str, str]) -> str:
        said = {} if part.path is None else {"path": _quote(part.path)}
        said |= {} if tags is None else {"of": f"[{', '.join(map(_quote, tags))}]"}
        pairs = ", ".join(f"{_quote(tag)}: {_quote(record)}" for tag, record in needed.items())
        said |= {"needs": f"{{{pairs}}}"} if pairs else {}
        beside = f", {{{', '.join(f'{_quote(name)}: {text}' for name, text in said.items())}}}" if said else ""
        text = self.text(part.type, f"{hint}_{part.name}")
        return f"StructField({_quote(part.name)}, {text}, {is_nullable(part.type)}{beside})"

    def definitions(self) -> str:
        """The constants as statements."""
        return "\n".join(f"{name} = {text}" for name, text in self.texts.items())


def _needs(union: Struct, part: Field) -> dict[str, str]:
    """The tags with which a field of the union may not be null though it can, and their records."""
    return {tag: record for tag, field, record in union.needs if field == part.name}


def constant_name(name: str) -> str:
    """A name for a constant.

    >>> constant_name("FlowCount")
    'FLOW_COUNT'
    """
    return identifier(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).upper()


def identifier(name: str) -> str:
    """A name that Python takes, made from one that it may not take.

    >>> identifier("flows.filter-2")
    'flows_filter_2'
    """
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    return word if word and not word[0].isdigit() else f"_{word}"


def _quote(text: str) -> str:
    return repr(text) if '"' in text else '"' + repr(text)[1:-1].replace("\\'", "'") + '"'
