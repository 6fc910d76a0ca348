"""Types as written become types: names of types and records, and the records themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ghcm import types
from ghcm.codes import Code
from ghcm.errors import Diagnostics, T, suggest
from ghcm.functions import comparable
from ghcm.language import ast
from ghcm.lowering import foreign_idioms
from ghcm.source import Span
from ghcm.types import Type, as_nullable, is_nullable, parts, tuple_of
from ghcm.types.unification import MAX_PRECISION
from ghcm.types.unions import has_union, union_type

_TEXT = types.String()
LINE = types.Struct(
    (types.Field("text", _TEXT), types.Field("file", _TEXT), types.Field("number", types.Int())), name="Line"
)
"""What a text source gives."""

_SCALARS = (types.Bool, types.Int, types.Int32, types.Float, types.String, types.Bytes)
_TIMES = (types.Timestamp, types.Date, types.Duration)
_PLAIN: Mapping[str, Type] = {str(each()): each() for each in (*_SCALARS, *_TIMES)}
_WRITTEN = ("list<T>", "map<K, V>", "decimal(p, s)")
_GENERIC = ("list", "map", "decimal")
BUILT_IN = frozenset((*_PLAIN, *_GENERIC, "Line", "Window", "enum"))
"""Names of types that no declaration may take."""

_Known: TypeAlias = types.Struct | None


@dataclass
class Records:
    """The records of a program by name, resolved on demand; None stands for one that is wrong and has been reported."""

    declared: Mapping[str, ast.RecordDecl]
    diagnostics: Diagnostics
    enums: Mapping[str, ast.EnumDecl] = field(default_factory=dict[str, ast.EnumDecl])
    unions: Mapping[str, ast.UnionDecl] = field(default_factory=dict[str, ast.UnionDecl])
    _enums: dict[str, types.Enumeration | None] = field(default_factory=dict[str, "types.Enumeration | None"])
    _resolved: dict[str, _Known] = field(default_factory=lambda: {"Line": LINE})
    _open: list[str] = field(default_factory=list[str])

    @property
    def names(self) -> tuple[str, ...]:
        """All names that stand for a record."""
        return (*self.declared, "Line")

    def get(self, name: str) -> types.Struct | None:
        """The record or union of that name, which must be one of `names` or of `unions`."""
        if name in self._resolved:
            return self._resolved[name]
        if name in self._open:
            self._report_recursion(name)
            return None
        self._open.append(name)
        found = self._union(self.unions[name]) if name in self.unions else self._record(self.declared[name])
        self._open.pop()
        self._resolved.setdefault(name, found)
        return self._resolved[name]

    def _record(self, declaration: ast.RecordDecl) -> types.Struct | None:
        name = declaration.name.text
        fields = self._fields(declaration.fields, f'record "{name}"', declaration.name.span)
        return None if fields is None else types.Struct(fields, name)

    @property
    def known_unions(self) -> tuple[types.Struct, ...]:
        """The unions of the program that are right."""
        found = (self.get(name) for name in self.unions)
        return tuple(each for each in found if each is not None)

    def enum(self, name: str) -> types.Enumeration | None:
        """The enum of that name, which must be one of `enums`."""
        if name not in self._enums:
            declaration = self.enums[name]
            self._enums[name] = self._enum(declaration.values, name, declaration.name.span)
        return self._enums[name]

    def type_of(self, written: ast.TypeExpr) -> Type | None:
        """The type that is written, or None after a report."""
        match written:
            case ast.NullableType(of=of):
                inner = self.type_of(of)
                return None if inner is None else as_nullable(inner)
            case ast.TupleType(items=items):
                parts = [self.type_of(item) for item in items]
                known = [part for part in parts if part is not None]
                return tuple_of(*known) if len(known) == len(parts) else None
            case ast.StructType(fields=fields, span=span):
                made = self._fields(fields, "the record", span)
                return None if made is None else types.Struct(made)
            case ast.EnumType(values=values, span=span):
                return self._enum(values, None, span)
            case ast.NamedType():
                return self._named(written)

    def _named(self, written: ast.NamedType) -> Type | None:
        name, arguments = written.name, written.arguments
        if name in _GENERIC:
            return self._generic(written)
        if arguments:
            return self._report(Code.BAD_TYPE, f'type "{name}" takes no arguments', written.span)
        if name in _PLAIN:
            return _PLAIN[name]
        if name in self.names or name in self.unions:
            return self.get(name)
        if name in self.enums:
            return self.enum(name)
        known = (*_PLAIN, *_GENERIC, *self.names, *self.enums, *self.unions)
        detail = f"Types are {', '.join((*_PLAIN, *_WRITTEN))}, records, enums and unions."
        hint = foreign_idioms.TYPES.get(name.lower(), "") or suggest(name, known)
        return self._report(Code.BAD_TYPE, f'there is no type "{name}"', written.span, detail=detail, hint=hint)

    def _generic(self, written: ast.NamedType) -> Type | None:
        name, arguments = written.name, written.arguments
        if name == "decimal":
            match arguments:
                case (int(precision), int(scale)) if 1 <= precision <= MAX_PRECISION and 0 <= scale <= precision:
                    return types.Decimal(precision, scale)
                case _:
                    message = "a decimal is written decimal(digits, digits behind the point)"
                    hint = f"decimal(10, 2); there are {MAX_PRECISION} digits at most."
                    return self._report(Code.BAD_TYPE, message, written.span, hint=hint)
        wanted = 1 if name == "list" else 2
        given = [argument for argument in arguments if not isinstance(argument, int)]
        if len(given) != wanted or len(given) != len(arguments):
            hint = f"For example {'list<string>' if name == 'list' else 'map<string, int>'}."
            return self._report(Code.BAD_TYPE, f'type "{name}" says what it holds', written.span, hint=hint)
        inner = [self.type_of(argument) for argument in given]
        known = [part for part in inner if part is not None]
        if len(known) != wanted:
            return None
        if name == "list":
            return types.List(known[0])
        if is_nullable(known[0]) or not comparable(known[0]):
            return self._report(Code.BAD_TYPE, f'"{known[0]}" cannot be the key of a map', written.span)
        if has_union(known[1]):
            message = f'"{known[1]}" cannot be the value of a map'
            return self._report(Code.BAD_TYPE, message, written.span, hint="A list can hold unions.")
        return types.Map(known[0], known[1])

    def _fields(
        self, declared: tuple[ast.FieldDecl, ...], owner: str, span: Span | None
    ) -> tuple[types.Field, ...] | None:
        fields: dict[str, types.Field] = {}
        complete = True
        for part in declared:
            name = part.name.text
            type_ = self.type_of(part.type)
            if name in fields:
                message = f'{owner} has the field "{name}" twice'
                self._report(Code.DECLARED_TWICE, message, part.name.span)
            elif type_ is None:
                complete = False
            else:
                fields[name] = types.Field(name, type_, part.path)
        if not declared:
            return self._report(Code.BAD_TYPE, f"{owner} has no fields", span)
        return tuple(fields.values()) if complete else None

    def _enum(self, values: tuple[ast.Name, ...], name: str | None, span: Span | None) -> types.Enumeration | None:
        owner = f'enum "{name}"' if name else "the enum"
        found: dict[str, None] = {}
        for value in values:
            if value.text in found:
                message = f'{owner} has the value "{value.text}" twice'
                self._report(Code.DECLARED_TWICE, message, value.span)
            found[value.text] = None
        if not found:
            hint = "It is written enum Protocol { tcp, udp }."
            return self._report(Code.BAD_TYPE, f"{owner} has no values", span, hint=hint)
        return types.Enumeration(tuple(found), name)

    def _union(self, declaration: ast.UnionDecl) -> types.Struct | None:
        name, tag = declaration.name.text, declaration.tag.text
        found: list[types.Variant] = []
        for each in declaration.variants:
            record = each.record.text
            if record not in self.declared:
                message, hint = f'there is no record "{record}"', suggest(record, self.declared)
                self._report(Code.UNKNOWN_NAME, message, each.record.span, hint=hint)
                continue
            if each.text.text in [other.text for other in found] or record in [other.name for other in found]:
                twice = f'union "{name}" has the record "{record}" or its tag "{each.text.text}" twice'
                self._report(Code.DECLARED_TWICE, twice, each.span)
                continue
            struct = self.get(record)
            if struct is None:
                continue
            if struct.get(tag) is not None:
                message = f'"{record}" has a field "{tag}", which is the tag of union "{name}"'
                hint = "The tag says which record it is and is no field of the records."
                self._report(Code.BAD_UNION, message, each.record.span, hint=hint)
                continue
            found.append(types.Variant(each.text.text, struct))
        if len(found) < len(declaration.variants):
            return None
        return self._united(declaration, tuple(found))

    def _united(self, declaration: ast.UnionDecl, variants: tuple[types.Variant, ...]) -> types.Struct | None:
        name = declaration.name.text
        if not variants:
            hint = "It is written union Event by kind { login: Login, logout: Logout }."
            return self._report(Code.BAD_UNION, f'union "{name}" has no records', declaration.name.span, hint=hint)
        made = union_type(name, declaration.tag.text, variants)
        if isinstance(made, types.Struct):
            return made
        part, first, second = made
        fields = [each.record.get(part) for each in (first, second)]
        shown = [f'"{each.type}"' + (f' from "{each.path}"' if each.path else "") for each in fields if each]
        message = f'field "{part}" of union "{name}" is not one column'
        detail = f"It is {shown[0]} in {first.name} and {shown[1]} in {second.name}."
        hint = "Fields of one name have one type, with or without a ?, and one place."
        return self._report(Code.BAD_UNION, message, declaration.name.span, detail=detail, hint=hint)

    def _report_recursion(self, name: str) -> None:
        circle = [*self._open[self._open.index(name) :], name]
        self._report(
            Code.RECURSIVE,
            f'record "{name}" contains itself',
            (self.unions[name] if name in self.unions else self.declared[name]).name.span,
            detail=f"It goes round: {' -> '.join(circle)}.",
            hint="A key that leads to the other record can stand for it.",
        )
        for part in circle:
            self._resolved[part] = None

    def _report(
        self, code: Code, message: str, span: Span | None, *, detail: str = "", hint: str = "", instead: T | None = None
    ) -> T | None:
        return self.diagnostics.error(code.value, message, span, detail=detail, hint=hint, instead=instead)


def has_null(type_: Type) -> bool:
    """Whether a part of the type is that of a bare `null`, which no column can have."""
    return any(isinstance(part, types.Null) for part in parts(type_))


def kind_words(found: tuple[Type, ...]) -> str:
    """The types as a person lists them.

    >>> kind_words((types.Int(), types.String()))
    '"int" and "string"'
    """
    quoted = [f'"{type_}"' for type_ in found]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}" if quoted else "nothing"
