"""Records in expressions: `Alarm { ts: f.ts }` against the record, `{ ts: f.ts }` as a record of its own, and records
made of others: `{ ...f, bytes: 0 }`, `f with { bytes: 0 }`, `f.only(ts, src)`, `f.without(label)`,
`json_to(text, Record)`.

Paths into the JSON are no part of a type, so that a call of `json_to` carries them as text beside the type.
"""

from collections.abc import Callable

from ghcm.codes import Code
from ghcm.errors import Reported, attempt, both, every, suggest
from ghcm.expr import Call, Expr, Get, Literal, MakeStruct, complete
from ghcm.language import ast
from ghcm.lowering.arguments import misspelt
from ghcm.lowering.context import Context, Scope, let_bound
from ghcm.lowering.expressions.constants import way_to
from ghcm.lowering.expressions.conversion import convert
from ghcm.lowering.expressions.enums import hint_of_enum
from ghcm.lowering.expressions.texts import check_constant
from ghcm.lowering.expressions.unions import as_union_type
from ghcm.source import Span
from ghcm.spg.notation.types import print_type
from ghcm.types import Field, List, String, Struct, Type, has_union, is_nullable, nullable_like, strip
from ghcm.unification import unify

_Given = dict[str, tuple[Expr | None, Span | None]]
"""Fields by name, None for one that is wrong, with where its value stands."""
_Taken = tuple[tuple[Expr, Span | None], ...]
"""Records that give their fields, with where they stand."""


def record_value(written: ast.RecordExpr, scope: Scope) -> Expr:
    """The struct that is made; every field is checked, so that all mistakes come at once."""
    given, sound = _given(written, scope)
    taken = every(lambda of: (scope.typed(of), of.span), written.spreads)
    return _spread(taken, scope, lambda records: _made(written, given, _fields_of(records), sound, scope))


def _made(written: ast.RecordExpr, given: _Given, taken: _Given, sound: bool, scope: Scope) -> Expr:
    """The record of these fields; `taken` are those of other records that it has none of its own for."""
    records = scope.context.records
    if written.name is None:
        if not sound:
            raise Reported
        all_ = {name: given.get(name, found) for name, found in taken.items()} | given
        parts = {name: made for name, (made, _) in all_.items() if made is not None}
        struct = Struct(tuple(Field(name, made.type) for name, made in parts.items()))
        return MakeStruct(tuple(parts.values()), struct)
    if written.name in records.unions:
        union = attempt(records.get, written.name)
        message = f'"{written.name}" is a union, and one of its records makes one'
        hint = f"{union.variants[0].name} {{ ... }} is one." if union is not None else ""
        raise scope.report(Code.BAD_UNION, message, written.span, hint=hint)
    if written.name not in records.names:
        hint = suggest(written.name, records.names)
        raise scope.report(Code.UNKNOWN_NAME, f'there is no record "{written.name}"', written.span, hint=hint)
    struct = records.get(written.name)
    fitting = {name: found for name, found in taken.items() if struct.get(name) is not None}
    return _of_record(written, struct, fitting | given, sound, scope.context)


def _spread(taken: _Taken, scope: Scope, make: Callable[[_Taken], Expr]) -> Expr:
    """What is made of records of which each is computed once."""
    found: list[tuple[Expr, Span | None]] = []

    def next_one(scope: Scope) -> Expr:
        if len(found) == len(taken):
            _check_apart(found, scope)
            return make(tuple(found))
        of, span = taken[len(found)]
        _record(of, "...", span, scope)

        def known(record: Expr, inner: Scope) -> Expr:
            found.append((record, span))
            return next_one(inner)

        return let_bound(of, "record", scope, known)

    return next_one(scope)


def _check_apart(records: list[tuple[Expr, Span | None]], scope: Scope) -> None:
    """Report a field that two of the records have."""
    seen: set[str] = set()
    for record, span in records:
        struct = strip(record.type)
        assert isinstance(struct, Struct), "only records are taken apart"
        both = [name for name in struct.names if name in seen]
        if both:
            message = f'two of the records have a field "{both[0]}"'
            hint = f"...r.without({', '.join(both)}) leaves it out of one of them."
            raise scope.report(Code.FIELD_TWICE, message, span, hint=hint)
        seen |= set(struct.names)


def _fields_of(records: _Taken) -> _Given:
    """All fields of the records."""
    found: _Given = {}
    for record, span in records:
        struct = strip(record.type)
        assert isinstance(struct, Struct), "only records are taken apart"
        found |= {each.name: (Get(record, each.name, each.type), span) for each in struct.fields}
    return found


def _given(written: ast.RecordExpr, scope: Scope) -> tuple[_Given, bool]:
    """The fields by name, None for one that is wrong, and whether none is wrong or given twice."""
    given: _Given = {}
    twice = False
    for name, part in written.fields:
        made = attempt(scope.typed, part)
        if name.text in given:
            scope.report(Code.FIELD_TWICE, f'field "{name.text}" is given twice', name.span)
            twice = True
        else:
            given[name.text] = (made, part.span or name.span)
    return given, not twice and all(made is not None for made, _ in given.values())


def _of_record(written: ast.RecordExpr, struct: Struct, given: _Given, sound: bool, context: Context) -> Expr:
    spans = {name.text: name.span for name, _ in written.fields}
    unknown = [name for name in given if struct.get(name) is None]
    for name in unknown:
        message = f'record "{struct.name}" has no field "{name}"'
        detail = f"Its fields are {', '.join(struct.names)}."
        hint = suggest(name, [other for other in struct.names if other not in given])
        context.report(Code.FIELD_UNKNOWN, message, spans[name], detail=detail, hint=hint)
    missing = [name for name in struct.names if name not in given]
    reported = misspelt(unknown, missing)
    missing = [name for name in missing if name not in reported]
    if missing:
        names = ", ".join(f'"{name}"' for name in missing)
        hint = "A field that has no value is given null, where its type has a ?."
        message = f'record "{struct.name}" is made without {names}'
        context.report(Code.FIELD_MISSING, message, written.span, hint=hint)
    values: list[Expr | None] = []
    for field in struct.fields:
        made, span = given.get(field.name, (None, None))
        what = f'field "{field.name}" of "{struct.name}"'
        values.append(None if made is None else attempt(fits, made, field.type, what, span, context))
    fitting = complete(values)
    if not sound or unknown or fitting is None:
        raise Reported
    return MakeStruct(fitting, struct)


def fits(expr: Expr, to: Type, what: str, span: Span | None, context: Context, code: Code = Code.WRONG_TYPE) -> Expr:
    """The expression converted to what `what` asks for."""
    converted = convert(expr, to)
    if converted is not None:
        return converted
    if code is Code.WRONG_TYPE:
        check_constant(expr, to, span, context)
    if is_nullable(expr.type) and not is_nullable(to) and (expr.type == strip(expr.type) or _would_fit(expr, to)):
        message = f'{what} is "{to}" and cannot be null, but this may be'
        detail = f'Expected "{to}", found "{expr.type}".'
        hint = '"x ?? other" replaces null; behind filter(f => f.x is not null) it is known to be there.'
        code = Code.MAY_BE_NULL if code is Code.WRONG_TYPE else code
        raise context.report(code, message, span, detail=detail, hint=hint)
    computed = code is Code.WRONG_TYPE and not isinstance(expr, Literal)
    hint = hint_of_enum(expr, to) or (way_to(expr.type, to) if computed else "")
    message = f'{what} is "{to}", but this is "{expr.type}"'
    raise context.report(code, message, span, detail=difference(to, expr.type), hint=hint)


def _would_fit(expr: Expr, to: Type) -> bool:
    return unify(strip(expr.type), to) == to


def difference(to: Type, found: Type) -> str:
    """What exactly differs between two records, where both are."""
    union = as_union_type(to)
    if union is not None:
        return f"A value of it is one of {', '.join(each.name for each in union.variants)}."
    if not isinstance(to, Struct) or not isinstance(found, Struct):
        return ""
    if set(to.names) == set(found.names) and to.names != found.names:
        return f"The order of the fields differs: {', '.join(to.names)} against {', '.join(found.names)}."
    parts = [
        *(f'"{name}" is missing' for name in to.names if found.get(name) is None),
        *(f'"{name}" is one too many' for name in found.names if to.get(name) is None),
        *(
            f'"{mine.name}" is "{other.type}" and not "{mine.type}"'
            for mine in to.fields
            if (other := found.get(mine.name)) is not None and other.type != mine.type
        ),
    ]
    return f"{', '.join(parts)}." if parts else ""


CHOICES = ("only", "without")
"""The methods that choose fields of a record by name."""


def updated(written: ast.Update, scope: Scope) -> Expr:
    """The record with other values in some fields, of the same type; all mistakes are reported."""
    given = [(name, attempt(scope.typed, part), part.span) for name, part in written.fields]
    of = scope.typed(written.of)
    struct = _record(of, "with", written.of.span, scope)
    made: dict[str, Expr] = {}
    for name, part, span in given:
        field = struct.get(name.text)
        if field is None:
            no_field(
                name.text, struct, name.span, scope, f"{{ ...r, {name.text}: ... }} is a record of one field more."
            )
        elif name.text in made:
            scope.report(Code.FIELD_TWICE, f'field "{name.text}" is given twice', name.span)
        elif part is not None:
            fitting = attempt(fits, part, field.type, f'field "{name.text}"', span, scope.context)
            made |= {} if fitting is None else {name.text: fitting}
    if len(made) < len(given):
        raise Reported

    def rebuilt(record: Expr, _: Scope) -> Expr:
        parts = (made.get(each.name) or Get(record, each.name, each.type) for each in struct.fields)
        return MakeStruct(tuple(parts), struct)

    return let_bound(of, "record", scope, rebuilt)


def chosen_fields(written: ast.Apply, of: ast.Attribute, scope: Scope) -> Expr:
    """The record of the fields that `only` names, in that order, or that `without` leaves."""
    record = scope.typed(of.of)
    struct = _record(record, of.name, of.name_span, scope)
    names: list[str] = []
    for argument in written.arguments:
        name = argument.value
        if not isinstance(name, ast.Ref) or argument.name is not None:
            hint = f'It is written "r.{of.name}(a, b)".'
            raise scope.report(Code.BAD_OPERANDS, f'"{of.name}" takes names of fields', argument.span, hint=hint)
        if struct.get(name.name) is None:
            raise no_field(name.name, struct, name.span, scope)
        if name.name in names:
            raise scope.report(Code.FIELD_TWICE, f'field "{name.name}" is named twice', name.span)
        names.append(name.name)
    kept = names if of.name == "only" else [name for name in struct.names if name not in names]
    if not kept:
        raise scope.report(Code.BAD_OPERANDS, f'"{of.name}" leaves no field', written.span)
    fields = [struct.field_of(name) for name in kept]
    type_ = Struct(tuple(Field(each.name, each.type) for each in fields))

    def parts(it: Expr, _: Scope) -> Expr:
        return MakeStruct(tuple(Get(it, each.name, each.type) for each in fields), type_)

    return let_bound(record, "record", scope, parts)


def _record(of: Expr, what: str, span: Span | None, scope: Scope) -> Struct:
    struct = strip(of.type)
    if not isinstance(struct, Struct):
        raise scope.report(Code.NO_FIELD, f'"{what}" is of records, and this is "{of.type}"', span)
    if struct.variants:
        message = f'"{what}" is of records, and "{struct}" is one of {", ".join(each.name for each in struct.variants)}'
        hint = f"match e {{ {struct.variants[0].name} x => ... }} has the record, of which another is made."
        raise scope.report(Code.BAD_UNION, message, span, hint=hint)
    if is_nullable(of.type):
        hint = "if r is null then null else ... gives null for it."
        raise scope.report(Code.MAY_BE_NULL, f'"{what}" is of records, and this one may be null', span, hint=hint)
    return struct


def no_field(name: str, struct: Struct, span: Span | None, scope: Scope, otherwise: str = "") -> Reported:
    """Say that a record has no such field, and which one may be meant; `otherwise` the hint where none is like it."""
    whose = f'"{struct}"' if struct.name else "the record"
    detail = f"It has {', '.join(struct.names)}."
    hint = suggest(name, struct.names) or otherwise
    return scope.report(Code.NO_FIELD, f'{whose} has no field "{name}"', span, detail=detail, hint=hint)


_HOW = "It is written json_to(text, Record), or json_to(text, [Record]) for a list of them."


def json_to(operands: tuple[ast.Argument, ...], span: Span | None, scope: Scope) -> Expr:
    """`json_to(text, Record)`; its type is a list of none in the call, and text."""
    if len(operands) != 2:
        raise scope.report(Code.BAD_OPERANDS, '"json_to" takes a text and a record', span, hint=_HOW)
    written, record = (each.value for each in operands)
    text, type_ = both(lambda: scope.typed(written), lambda: _type(record, scope))
    if not isinstance(strip(text.type), String):
        raise scope.report(Code.BAD_OPERANDS, f'"json_to" does not take "{text.type}"', written.span, hint=_HOW)
    if has_union(type_):
        message = f'"json_to" makes no "{type_}", which holds a union'
        raise scope.report(Code.BAD_UNION, message, record.span, hint="A source reads unions.")
    if counting := scope.context.records.counting(type_):
        message = f'"json_to" does not know the units of the timestamps of "{counting}"'
        hint = "A field of int and from_millis(x) say the same."
        raise scope.report(Code.BAD_TYPE, message, record.span, hint=hint)
    witness, spelt = Literal([], List(type_)), Literal(print_type(type_), String())
    return Call("json_to", (text, witness, spelt), nullable_like(type_, text.type))


def _type(written: ast.Expr, scope: Scope) -> Struct | List:
    records = scope.context.records
    match written:
        case ast.Ref(name=name) if name in records.names and name not in scope.names:
            return records.get(name)
        case ast.ListExpr(items=(ast.Ref() as one,)):
            return List(_type(one, scope))
        case ast.Ref(name=name) if name not in scope.names:
            hint = suggest(name, records.names) or _HOW
            raise scope.report(Code.UNKNOWN_NAME, f'there is no record "{name}"', written.span, hint=hint)
        case _:
            raise scope.report(Code.BAD_OPERANDS, '"json_to" takes the name of a record', written.span, hint=_HOW)
