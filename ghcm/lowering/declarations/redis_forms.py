"""Sinks of Redis in the forms that other applications read: what is said of them, and the key that a record gives.

The key becomes an expression, so that every engine makes the same text of it.
"""

from dataclasses import dataclass

from ghcm import types
from ghcm.codes import Code
from ghcm.errors import Reported, listed, sound, suggest
from ghcm.expr import Call, Expr, Get, Lambda, Literal, MakeStruct, Var
from ghcm.functions import FUNCTIONS
from ghcm.language import ast
from ghcm.lowering.arguments import Given
from ghcm.lowering.context import Context
from ghcm.lowering.drafts import SinkDraft
from ghcm.operators.operator import option
from ghcm.source import Span
from ghcm.spg.connectors import REDIS_FORMS, SINGLE_FORMS, Mode, Redis, template_of
from ghcm.types import Collection, Field, Shape, String, Struct, Type, is_nullable, strip

FORM_ARGUMENTS = (option("form", "name", *REDIS_FORMS), option("expire", "duration"), option("score", "lambda1"))
"""What may be said of a sink of Redis besides what every sink has."""

_FIELDS = 'A field of the record stands in braces, as in "user:{id}"; a brace of the key itself is doubled.'
_SCORE = "For example score = r => r.points."
_SCORES = types.Int | types.Int32 | types.Float | types.Decimal | types.Timestamp | types.Duration


def sink_in_form(declaration: ast.SinkDecl, given: Given, element: Struct | None, context: Context) -> SinkDraft:
    """The sink without its element; its key is the text of its place."""
    name, form = declaration.name.text, given.choice("form", "")
    if given.expr("form") is None:
        message = f'"expire" and "score" are of keys that other applications read, and sink "{name}" has no form'
        hint = f"form = {' or '.join(REDIS_FORMS)} gives each record such a key."
        raise context.report(Code.ARGUMENT_MISSING, message, declaration.connector.span, hint=hint)
    if form not in REDIS_FORMS:
        raise Reported
    _check_beside(name, form, given, context)
    expire = given.duration("expire", least=1000) if given.expr("expire") is not None else None  # it counts in ms
    score = _score(name, form, given, context)
    place = sound(given.string("place"))
    try:
        fixed = "".join(text for text, _ in template_of(place))
    except ValueError as error:
        message = f'the place of sink "{name}" gives no keys'
        raise context.report(Code.BAD_PLACE, message, given.span("place"), detail=f"{error}.", hint=_FIELDS) from None
    if not fixed:
        message = f'the keys of sink "{name}" have no text of their own'
        detail, hint = "They could be empty, or the keys of something else.", 'For example "user:{id}".'
        raise context.report(Code.BAD_PLACE, message, given.span("place"), detail=detail, hint=hint)
    made, mode, span = Redis(place, form, expire, score), REDIS_FORMS[form], declaration.name.span
    return SinkDraft(name, made, mode, given.expr("place"), element, span, given.span("score"))


def _check_beside(name: str, form: str, given: Given, context: Context) -> None:
    """Report a mode or key that does not go with the form."""
    mode = REDIS_FORMS[form]
    if (said := given.choice("mode", mode.value)) != mode.value:
        message = f"a sink of the form {form} cannot have mode {said}"
        detail = "It keeps one record per key." if mode is Mode.UPSERT else f"A {form} of Redis only grows."
        hint = f"Its mode is {mode.value}."
        context.report(Code.WRONG_MODE, message, given.span("mode"), detail=detail, hint=hint)
    if given.expr("key") is not None:
        message = f'a key has no use in sink "{name}": its place says the keys'
        context.report(Code.KEY_NEEDED, message, given.span("key"), hint=_FIELDS)


def _score(name: str, form: str, given: Given, context: Context) -> str | None:
    """The column that a sorted set is ordered by."""
    written = given.expr("score")
    match written:
        case None if form != "sorted_set":
            return None
        case None:
            message = f'sink "{name}" is a sorted set without a score'
            raise context.report(Code.ARGUMENT_MISSING, message, given.span("form"), hint=_SCORE)
        case _ if form != "sorted_set":
            message, hint = f"a sink of the form {form} has no score", "form = sorted_set is ordered by one."
            raise context.report(Code.ARGUMENT_UNKNOWN, message, written.span, hint=hint)
        case ast.Lambda(parameters=(record,), body=ast.Attribute(of=ast.Ref(name=of), name=column)) if (
            of == record.text
        ):
            return column
        case _:  # what is computed becomes a column first
            message, hint = f'the score of sink "{name}" is no column', f"{_SCORE} map(...) can add one."
            raise context.report(Code.BAD_LAMBDA, message, written.span, hint=hint)


def key_in_form(sink: SinkDraft, connector: Redis, element: Type, context: Context) -> Lambda:
    """The key of a record as text; of a sorted set a tuple of the key and the member."""
    records = _Records(sink, Collection(Shape.STREAM, element, True).columns, Var("r", element), context)
    parts: list[Expr] = []
    for fixed, name in template_of(connector.place):
        parts += [Literal(fixed, String())] if fixed else []
        parts += [records.text_of(name)] if name is not None else []
    key = parts[0] if len(parts) == 1 else Call("concat", tuple(parts), String())
    if connector.score is not None:
        records.check_score(connector.score)
    member = records.member(connector)
    if connector.score is not None and member is not None:
        key = MakeStruct((key, member), types.tuple_of(String(), String()))
    return Lambda((records.record,), key)


@dataclass(frozen=True, slots=True)
class _Records:
    """The records of a sink, `record` is one of them: what a form needs, mistakes reported and raised."""

    sink: SinkDraft
    columns: Struct
    record: Var
    context: Context

    def text_of(self, name: str) -> Expr:
        """A field as text."""
        type_ = self._field(name, self._place).type
        if FUNCTIONS["to_string"].rule((strip(type_),)) is None:
            raise self._refuse(f'"{name}" is "{type_}", which has no text', hint="map(...) can add a field that has.")
        if is_nullable(type_):
            message = f'"{name}" may be null, and sink "{self.sink.name}" needs a text of it'
            raise self._refuse(message, hint=f"filter(r => r.{name} is not null) takes the nulls out.")
        of = Get(self.record, name, type_) if isinstance(self.record.type, Struct) else self.record
        return Call("to_string", (of,), String())

    def check_score(self, name: str) -> None:
        """Check that the score of a sorted set is one."""
        type_ = self._field(name, self.sink.score).type
        if not isinstance(type_, _SCORES):
            message = f'the score of sink "{self.sink.name}" cannot be "{type_}"'
            raise self._refuse(message, self.sink.score, hint="It is a number, a moment or a duration, never null.")

    def member(self, connector: Redis) -> Expr | None:
        """The one field besides the key; None where the key holds the whole record."""
        form, left = connector.form or "", connector.left(self.columns.names)
        if form not in SINGLE_FORMS:
            if form in ("hash", "stream") and all(is_nullable(field.type) for field in self.columns.fields):
                message = f'each field of sink "{self.sink.name}" may be null, and a {form} of Redis is never empty'
                raise self._refuse(message, hint="form = json and form = list hold nulls.")
            return None
        if len(left) != 1:
            holds = f"the form {form} holds one field besides the key"
            message, detail = f'{holds}, and sink "{self.sink.name}" has {len(left)}', f"There are {listed(left)}."
            hint = "map(...) leaves those that are needed; form = json and form = hash hold all."
            raise self._refuse(message, detail=detail if left else "", hint=hint)
        return self.text_of(left[0])

    @property
    def _place(self) -> Span | None:
        return None if self.sink.key is None else self.sink.key.span

    def _field(self, name: str, span: Span | None) -> Field:
        if (field := self.columns.get(name)) is not None:
            return field
        message, detail = f'sink "{self.sink.name}" has no field "{name}"', f"It has {listed(self.columns.names)}."
        hint = suggest(name, self.columns.names)
        raise self.context.report(Code.NO_FIELD, message, span, detail=detail, hint=hint)

    def _refuse(self, message: str, span: Span | None = None, *, detail: str = "", hint: str) -> Reported:
        return self.context.report(Code.BAD_PLACE, message, span or self._place, detail=detail, hint=hint)
