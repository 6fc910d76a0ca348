"""An inferred record as a person reads it: declarations of the text language, or classes of the Python API."""

import json
from collections.abc import Mapping
from typing import assert_never

from ghcm import types
from ghcm.inference.infer import Inferred
from ghcm.language import ast
from ghcm.language.printing.printer import print_program
from ghcm.schemas.records import records_in
from ghcm.types import Type

_MOST = 4
"""Reasons that are given one by one."""


def as_text(inferred: Inferred, file: str) -> str:
    """Records of the text language under a comment that says what they are made from."""
    records = tuple(_declaration(each, _units_of(each, inferred)) for each in records_in(inferred.record))
    printed = print_program(ast.Program(ast.Name("inferred"), records)).split("\n", 2)[2]
    separator = "" if inferred.separator == "," else f", separator = {json.dumps(inferred.separator)}"
    source = f"files({json.dumps(file, ensure_ascii=False)}, format = {inferred.format}{separator})"
    call = f"{source}.as({inferred.record.name})"
    return "\n".join([*(f"# {line}" for line in _about(inferred, file)), f"# {call}", printed])


def as_python(inferred: Inferred, file: str) -> str:
    """Records of the Python API, ready to be imported."""
    classes = [_class(each, _units_of(each, inferred)) for each in records_in(inferred.record)]
    body = "\n\n\n".join(classes)
    separator = "" if inferred.separator == "," else f", separator={json.dumps(inferred.separator)}"
    call = f"files({json.dumps(file, ensure_ascii=False)}, format={json.dumps(inferred.format)}{separator})"
    above = [*(f"# {line}" for line in _about(inferred, file)), f"# {call}.as_({inferred.record.name})"]
    return "\n".join([*above, *_imports(body), "", "", body, ""])


def _about(inferred: Inferred, file: str) -> list[str]:
    records = "1 record" if inferred.rows == 1 else f"{inferred.rows:,} records"
    part = "" if inferred.whole and inferred.rows == 1 else "all " if inferred.whole else "the first "
    lines = [f"From {part}{records} of {json.dumps(file, ensure_ascii=False)}."]
    if inferred.dead:
        lines.append(f"Not decoded: {len(inferred.dead):,} more, the first since {inferred.dead[0][:160]}")
    lines += [f"Left out: {reason}" for reason in inferred.left_out[:_MOST]]
    rest = len(inferred.left_out) - _MOST
    return [line.translate(_ONE_LINE) for line in [*lines, *([f"Left out: {rest} more"] if rest > 0 else [])]]


_ONE_LINE = dict.fromkeys((*range(32), 127, 8232, 8233), "�")


def _units_of(record: types.Struct, inferred: Inferred) -> Mapping[str, str]:
    return inferred.units if record == inferred.record else {}


def _typed(field: types.Field, units: Mapping[str, str]) -> Type:
    return types.nullable_like(types.Timestamp(), field.type) if field.name in units else field.type


def _declaration(record: types.Struct, units: Mapping[str, str]) -> ast.RecordDecl:
    fields = tuple(
        ast.FieldDecl(
            ast.Name(each.name),
            _written(_typed(each, units)),
            each.path,
            ast.Name(units[each.name]) if each.name in units else None,
        )
        for each in record.fields
    )
    return ast.RecordDecl(ast.Name(record.name or ""), fields)


def _written(type_: Type) -> ast.TypeExpr:
    match type_:
        case types.Nullable(of=of):
            return ast.NullableType(_written(of))
        case types.List(item=item):
            return ast.NamedType("list", (_written(item),))
        case types.Map(key=key, value=value):
            return ast.NamedType("map", (_written(key), _written(value)))
        case types.Decimal(precision=precision, scale=scale):
            return ast.NamedType("decimal", (precision, scale))
        case types.Enumeration(values=values):
            return ast.EnumType(tuple(map(ast.Name, values)))
        case _:  # a type that is written as one word; a struct is written by its name
            return ast.NamedType(str(type_))


def _class(record: types.Struct, units: Mapping[str, str]) -> str:
    lines = [f"class {record.name}(Record):"]
    for field in record.fields:
        said = [] if field.path is None else [json.dumps(field.path, ensure_ascii=False)]
        said += [f'unit="{units[field.name]}"'] if field.name in units else []
        where = f" = at({', '.join(said)})" if said else ""
        lines.append(f"    {field.name}: {_annotation(_typed(field, units))}{where}")
    return "\n".join(lines)


def _annotation(type_: Type) -> str:
    match type_:
        case types.Nullable(of=of):
            return f"{_annotation(of)} | None"
        case types.List(item=item):
            return f"list[{_annotation(item)}]"
        case types.Map(key=key, value=value):
            return f"dict[{_annotation(key)}, {_annotation(value)}]"
        case types.Struct():
            return type_.name or ""
        case types.Decimal(precision=precision, scale=scale):
            return f"Annotated[Decimal, Digits({precision}, {scale})]"
        case types.Bool() | types.Int() | types.Float() | types.Bytes() | types.Date() | types.Int32():
            return str(type_)
        case types.String() | types.Enumeration():  # which is never inferred
            return "str"
        case types.Timestamp():
            return "datetime"
        case types.Duration():
            return "timedelta"
        case types.Null():
            return "None"
        case _:
            assert_never(type_)


def _imports(body: str) -> list[str]:
    days = [name for name in ("date", "datetime", "timedelta") if _uses(body, name)]
    decimals = _uses(body, "Annotated")
    ours = ["Digits"] * decimals + ["Record"] + ["at"] * ("= at(" in body) + ["int32"] * _uses(body, "int32")
    lines = [f"from datetime import {', '.join(days)}"] if days else []
    lines += ["from decimal import Decimal", "from typing import Annotated"] if decimals else []
    return ["", *lines, *([""] if lines else []), f"from ghcm import {', '.join(ours)}"]


def _uses(body: str, name: str) -> bool:
    """Whether an annotation names it."""
    return any(
        name in annotation.replace("[", " ").replace("]", " ").replace(",", " ").split()
        for line in body.splitlines()
        if line.startswith("    ")
        for annotation in [line.split(": ", 1)[1].split(" = at(")[0]]
    )
