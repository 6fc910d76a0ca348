"""Types as a job writes them: words of its library, and a named constant for each record."""

import hashlib
import keyword
from collections.abc import Mapping
from dataclasses import dataclass, field

from ghcm import types
from ghcm.codegen.spark.text import constant_name, python_text, quote
from ghcm.expr import fresh
from ghcm.spg.graph import Parameter
from ghcm.types import is_nullable, strip
from ghcm.values import to_json

_NAMES = {
    types.Bool: "BOOL",
    types.Int: "INT",
    types.Int32: "INT32",
    types.Float: "FLOAT",
    types.String: "STRING",
    types.Bytes: "BYTES",
    types.Timestamp: "TIMESTAMP",
    types.Date: "DATE",
    types.Duration: "DURATION",
}


@dataclass
class Schemas:
    """The records of a job: constants by the type they stand for, in the order in which they are needed."""

    constants: dict[str, str] = field(default_factory=dict[str, str])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    taken: frozenset[str] = frozenset()
    """Names that mean something else in a job."""
    json_functions: dict[str, str] = field(default_factory=dict[str, str])
    """Python functions for JSON texts by their names in SQL, as calls that make Spark know them."""

    def json_function(self, kind: str, type_: types.Type, hint: str) -> str:
        """The name of the function that has `read` or `written` JSON texts of a type, the same in all jobs."""
        word = constant_name(getattr(strip(type_), "name", None) or "value").lower()
        name = f"json_{kind}_{word}_{hashlib.sha256(repr(type_).encode()).hexdigest()[:8]}"
        self.json_functions[name] = f"know_json_{kind}(job, {quote(name)}, {self.text(type_, hint)})"
        return name

    def text(self, type_: types.Type, hint: str = "record") -> str:
        """The type as an expression; a record becomes a constant, named after itself or after the hint."""
        match plain := strip(type_):
            case types.Struct() as struct:
                return self._constant(struct, hint)
            case types.List(item=item):
                return f"list_of({self._part(item, hint)})"
            case types.Map(key=key, value=value):
                return f"map_of({self.text(key, hint)}, {self._part(value, hint)})"
            case types.Decimal(precision=precision, scale=scale):
                return f"decimal({precision}, {scale})"
            case types.Enumeration(values=values):
                return f"EnumType([{', '.join(map(quote, values))}])"
            case types.Null() | types.Nullable():
                return "NULL"
            case _:  # a scalar without arguments
                return _NAMES[type(plain)]

    def _part(self, type_: types.Type, hint: str) -> str:
        text = self.text(type_, hint)
        return f"maybe({text})" if is_nullable(type_) else text

    def _constant(self, struct: types.Struct, hint: str) -> str:
        key = repr(struct)
        if key not in self.constants:
            cases = dict(struct.cases)
            parts = {each.name: self._field(each, hint, cases, _needs(struct, each)) for each in struct.fields}
            name = fresh(constant_name(struct.name or hint), self.texts.keys() | self.taken)
            self.constants[key], self.texts[name] = name, record_text(parts)
        return self.constants[key]

    def _field(
        self, part: types.Field, hint: str, cases: Mapping[str, tuple[str, ...]], needed: Mapping[str, str]
    ) -> str:
        said = {} if part.path is None else {"path": quote(part.path)}
        said |= {"of": python_text(list(cases[part.name]))} if part.name in cases else {}
        said |= {"needs": python_text(dict(needed))} if needed else {}
        return field_text(self._part(part.type, f"{hint}_{part.name}"), said)

    def parameter(self, parameter: Parameter) -> str:
        """A parameter of the unit as a field."""
        default = {} if parameter.required else {"default": repr(to_json(parameter.default, parameter.type))}
        return field_text(self._part(parameter.type, parameter.name), default)

    def definitions(self) -> list[str]:
        """The constants as statements."""
        return [f"{name} = {text}" for name, text in self.texts.items()]


def field_text(type_: str, said: Mapping[str, str]) -> str:
    """A field that says more of itself than its type."""
    return f"field_of({type_}, {', '.join(f'{name}={text}' for name, text in said.items())})" if said else type_


def record_text(parts: Mapping[str, str]) -> str:
    """A record of these fields."""
    if all(name.isidentifier() and not keyword.iskeyword(name) for name in parts):
        return f"record({', '.join(f'{name}={text}' for name, text in parts.items())})"
    return f"record({{{', '.join(f'{quote(name)}: {text}' for name, text in parts.items())}}})"


def _needs(union: types.Struct, part: types.Field) -> dict[str, str]:
    """The tags with which a field of the union may not be null though it can, and their records."""
    return {tag: record for tag, field, record in union.needs if field == part.name}
