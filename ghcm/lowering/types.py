"""Types as written become types: names of types and records, and the records themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ghcm import types
from ghcm.codes import Code
from ghcm.errors import Diagnostics, Reported, attempt, every, sound, suggest
from ghcm.functions import comparable
from ghcm.language import ast
from ghcm.lowering import foreign_idioms
from ghcm.source import Span
from ghcm.types import Type, as_nullable, has_union, is_nullable, parts, tuple_of, union_type
from ghcm.unification import MAX_PRECISION

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

TIME_UNITS = ("s", "ms", "us", "ns")
"""What the numbers of timestamps can count, since 1970."""

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

    def units(self, name: str) -> Mapping[str, str]:
        """The timestamps of that record or union whose numbers count something else than seconds, and what."""
        declared = self.declared.get(name)
        fields = () if declared is None else declared.fields
        if name in self.unions:
            fields = tuple(
                part for each in self.unions[name].variants for part in self.declared[each.record.text].fields
            )
        said = ((each.name.text, each.unit.text) for each in fields if each.unit is not None)
        return {field: unit for field, unit in said if unit != "s"}

    def counting(self, type_: Type) -> str | None:
        """The name of a record within the type, or of itself, that has such timestamps."""
        named = (each.name for each in parts(type_) if isinstance(each, types.Struct) and each.name is not None)
        return next((each for each in named if self.units(each)), None)

    @property
    def names(self) -> tuple[str, ...]:
        """All names that stand for a record."""
        return (*self.declared, "Line")

    def get(self, name: str) -> types.Struct:
        """The record or union of that name, which must be one of `names` or of `unions`."""
        if name not in self._resolved:
            if name in self._open:
                raise self._recursion(name)
            self._open.append(name)
            made = attempt(self._union, self.unions[name]) if name in self.unions else attempt(self._record, name)
            self._open.pop()
            self._resolved.setdefault(name, made)
        return sound(self._resolved[name])

    def _record(self, name: str) -> types.Struct:
        declaration = self.declared[name]
        return types.Struct(self._fields(declaration.fields, f'record "{name}"', declaration.name.span), name)

    @property
    def known_unions(self) -> tuple[types.Struct, ...]:
        """The unions of the program that are right."""
        found = (attempt(self.get, name) for name in self.unions)
        return tuple(each for each in found if each is not None)

    def enum(self, name: str) -> types.Enumeration:
        """The enum of that name, which must be one of `enums`."""
        if name not in self._enums:
            declaration = self.enums[name]
            self._enums[name] = attempt(self._enum, declaration.values, name, declaration.name.span)
        return sound(self._enums[name])

    def type_of(self, written: ast.TypeExpr) -> Type:
        """The type that is written."""
        match written:
            case ast.NullableType(of=of):
                return as_nullable(self.type_of(of))
            case ast.TupleType(items=items):
                return tuple_of(*every(self.type_of, items))
            case ast.StructType(fields=fields, span=span):
                return types.Struct(self._fields(fields, "the record", span))
            case ast.EnumType(values=values, span=span):
                return self._enum(values, None, span)
            case ast.NamedType():
                return self._named(written)

    def _named(self, written: ast.NamedType) -> Type:
        name, arguments = written.name, written.arguments
        if name in _GENERIC:
            return self._generic(written)
        if arguments:
            hint = suggest(name, (*_GENERIC, "stream", "pairs"))
            raise self._report(Code.BAD_TYPE, f'type "{name}" takes no arguments', written.span, hint=hint)
        if name in _PLAIN:
            return _PLAIN[name]
        if name in self.names or name in self.unions:
            return self.get(name)
        if name in self.enums:
            return self.enum(name)
        known = (*_PLAIN, *_GENERIC, *self.names, *self.enums, *self.unions)
        own = ", ".join((*self.declared, *self.enums, *self.unions)) or "records, enums and unions that it declares"
        detail = f"Types are {', '.join((*_PLAIN, *_WRITTEN))}; and of this program {own}."
        hint = foreign_idioms.TYPES.get(name.lower(), "") or suggest(name, known)
        hint = hint or (f"It is declared by record {name} {{ ... }}." if name[:1].isupper() else "")
        raise self._report(Code.BAD_TYPE, f'there is no type "{name}"', written.span, detail=detail, hint=hint)

    def _generic(self, written: ast.NamedType) -> Type:
        name, arguments = written.name, written.arguments
        if name == "decimal":
            match arguments:
                case (int(precision), int(scale)) if 1 <= precision <= MAX_PRECISION and 0 <= scale <= precision:
                    return types.Decimal(precision, scale)
                case _:
                    message = "a decimal is written decimal(digits, digits behind the point)"
                    hint = f"decimal(10, 2); there are {MAX_PRECISION} digits at most."
                    raise self._report(Code.BAD_TYPE, message, written.span, hint=hint)
        given = [argument for argument in arguments if not isinstance(argument, int)]
        if len(given) != (1 if name == "list" else 2) or len(given) != len(arguments):
            hint = f"For example {'list<string>' if name == 'list' else 'map<string, int>'}."
            raise self._report(Code.BAD_TYPE, f'type "{name}" says what it holds', written.span, hint=hint)
        key, *values = every(self.type_of, given)
        if name == "list":
            return types.List(key)
        if is_nullable(key) or not comparable(key):
            raise self._report(Code.BAD_TYPE, f'"{key}" cannot be the key of a map', written.span)
        if has_union(values[0]):
            message = f'"{values[0]}" cannot be the value of a map'
            raise self._report(Code.BAD_TYPE, message, written.span, hint="A list can hold unions.")
        return types.Map(key, values[0])

    def _fields(self, declared: tuple[ast.FieldDecl, ...], owner: str, span: Span | None) -> tuple[types.Field, ...]:
        fields: dict[str, types.Field] = {}
        complete = True
        for part in declared:
            name, type_ = part.name.text, attempt(self.type_of, part.type)
            if name in fields:
                message = f'{owner} has the field "{name}" twice'
                self._report(Code.DECLARED_TWICE, message, part.name.span)
            elif type_ is None:
                complete = False
            else:
                self._check_unit(part, type_, owner)
                fields[name] = types.Field(name, type_, part.path)
        if not declared:
            raise self._report(Code.BAD_TYPE, f"{owner} has no fields", span)
        if not complete:
            raise Reported
        return tuple(fields.values())

    def _check_unit(self, part: ast.FieldDecl, type_: Type, owner: str) -> None:
        unit = part.unit
        if unit is None:
            return
        if not isinstance(types.strip(type_), types.Timestamp):
            message = f'only a timestamp counts in "{unit.text}", and this is "{type_}"'
            self._report(Code.BAD_TYPE, message, unit.span)
        elif unit.text not in TIME_UNITS:
            hint = f"There are {', '.join(TIME_UNITS)}."
            self._report(Code.BAD_TYPE, f'a timestamp does not count in "{unit.text}"', unit.span, hint=hint)
        elif owner == "the record":
            hint = "record Name { ... } gives it one."
            self._report(Code.BAD_TYPE, "a record without a name says no unit", unit.span, hint=hint)

    def _enum(self, values: tuple[ast.Name, ...], name: str | None, span: Span | None) -> types.Enumeration:
        owner = f'enum "{name}"' if name else "the enum"
        found: dict[str, None] = {}
        for value in values:
            if value.text in found:
                message = f'{owner} has the value "{value.text}" twice'
                self._report(Code.DECLARED_TWICE, message, value.span)
            found[value.text] = None
        if not found:
            hint = "It is written enum Protocol { tcp, udp }."
            raise self._report(Code.BAD_TYPE, f"{owner} has no values", span, hint=hint)
        return types.Enumeration(tuple(found), name)

    def _union(self, declaration: ast.UnionDecl) -> types.Struct:
        name, tag = declaration.name.text, declaration.tag.text
        found: list[types.Variant] = []

        def add(each: ast.VariantDecl) -> None:
            record = each.record.text
            if record not in self.declared:
                message, hint = f'there is no record "{record}"', suggest(record, self.declared)
                raise self._report(Code.UNKNOWN_NAME, message, each.record.span, hint=hint)
            if each.text.text in [other.text for other in found] or record in [other.name for other in found]:
                twice = f'union "{name}" has the record "{record}" or its tag "{each.text.text}" twice'
                raise self._report(Code.DECLARED_TWICE, twice, each.span)
            struct = self.get(record)
            if struct.get(tag) is not None:
                message = f'"{record}" has a field "{tag}", which is the tag of union "{name}"'
                hint = "The tag says which record it is and is no field of the records."
                raise self._report(Code.BAD_UNION, message, each.record.span, hint=hint)
            found.append(types.Variant(each.text.text, struct))

        every(add, declaration.variants)
        if not found:
            hint = "It is written union Event by kind { login: Login, logout: Logout }."
            raise self._report(Code.BAD_UNION, f'union "{name}" has no records', declaration.name.span, hint=hint)
        made = union_type(name, tag, tuple(found))
        if isinstance(made, types.Struct):
            return made
        part, first, second = made
        fields = [each.record.get(part) for each in (first, second)]
        shown = [f'"{each.type}"' + (f' from "{each.path}"' if each.path else "") for each in fields if each]
        message = f'field "{part}" of union "{name}" is not one column'
        detail = f"It is {shown[0]} in {first.name} and {shown[1]} in {second.name}."
        hint = "Fields of one name have one type, with or without a ?, and one place."
        raise self._report(Code.BAD_UNION, message, declaration.name.span, detail=detail, hint=hint)

    def _recursion(self, name: str) -> Reported:
        circle = [*self._open[self._open.index(name) :], name]
        self._resolved.update(dict.fromkeys(circle))
        span = (self.unions[name] if name in self.unions else self.declared[name]).name.span
        detail, hint = (
            f"It goes round: {' -> '.join(circle)}.",
            "A key that leads to the other record can stand for it.",
        )
        return self._report(Code.RECURSIVE, f'record "{name}" contains itself', span, detail=detail, hint=hint)

    def _report(self, code: Code, message: str, span: Span | None, *, detail: str = "", hint: str = "") -> Reported:
        return self.diagnostics.error(code.value, message, span, detail=detail, hint=hint)


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
