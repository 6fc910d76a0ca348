"""Expressions of the language as SQL, and what of the job around it the emitters of a task know."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from ghcm.codegen.spark.functions import EMITTED
from ghcm.codegen.spark.group_checks import NO_CHECKS, GroupChecks
from ghcm.codegen.spark.library.sql import named, quoted, text
from ghcm.codegen.spark.names import ahead, with_columns_ahead
from ghcm.codegen.spark.schemas import Schemas
from ghcm.codegen.spark.sql import (
    Checked,
    attempt,
    calls_python,
    col,
    ddl,
    each_item,
    first,
    folded,
    if_else,
    let,
    literal,
    make_list,
    make_struct,
    null,
    overflows,
    parameter,
    part_of,
    without,
)
from ghcm.codegen.spark.text import also, quote, selected, sql_text
from ghcm.errors import GhcmError
from ghcm.expr import (
    Call,
    Each,
    Expr,
    ForEach,
    Get,
    If,
    Lambda,
    Let,
    Literal,
    MakeList,
    MakeStruct,
    Param,
    Try,
    Var,
    folded_from,
    walk,
)
from ghcm.failing import call_can_fail
from ghcm.functions import FAMILIES, comparable
from ghcm.spg.graph import Program, Unit
from ghcm.types import Collection, Float, Int, List, Null, Struct, Type, as_nullable, is_nullable, strip


@dataclass(frozen=True, slots=True)
class Binding:
    """What a lambda's parameter is in SQL: the whole value, and one of its fields."""

    whole: Checked
    part: Callable[[str], Checked]


def value_binding(value: Checked) -> Binding:
    """A value that stands in one column or variable."""
    return Binding(value, lambda name: part_of(value, name))


@dataclass(frozen=True, slots=True)
class SqlLambda:
    """A function that Spark calls by itself for many values within one record, where it cannot call Python."""

    name: str
    hint: str

    def check(self, body: Expr, emitted: Checked) -> None:
        """GhcmError where the body calls what Spark hands to Python."""
        for each in walk(body):
            if not isinstance(each, Call):
                continue
            reads = each.function in _JSON
            if reads or (each.function == "to_string" and isinstance(strip(each.arguments[0].type), Float)):
                raise self._refusal(f'"{each.function}"' if reads else '"to_string" of a float')
        if calls_python(f"{emitted.value} {emitted.error}"):
            raise self._refusal("a time zone")

    def _refusal(self, what: str) -> GhcmError:
        return GhcmError(
            f"{what} cannot stand in {self.name} on Spark",
            code="GHCM-525",
            detail="Spark calls Python for it, and does not do that for each value.",
            hint=self.hint,
        )


OF_ITEMS = SqlLambda(
    "a function of the items of a list", "flat_map(...) makes records of the items, and map(...) computes it for each."
)
OF_VALUES = SqlLambda("a reduce_by_key of your own", "map_values(...) before it computes what it needs for each value.")
IN_TURN = SqlLambda("the function of a scan", "map_values(...) before it computes what it needs for each value.")


_JSON = frozenset(each.name for each in FAMILIES["json"])


@dataclass(frozen=True, slots=True)
class Emitter:
    """Writes expressions; `bindings` say what the parameters of the lambda around them are."""

    schemas: Schemas
    bindings: Mapping[str, Binding]
    hint: str = "value"

    def body(self, function: Lambda, *bindings: Binding) -> Checked:
        """The body of a lambda with its parameters bound."""
        names = [parameter.name for parameter in function.parameters]
        return replace(self, bindings=dict(zip(names, bindings, strict=True))).emit(function.body)

    def emit(self, expr: Expr) -> Checked:
        """The expression as SQL."""
        checked = self._emit(expr)
        return checked if is_nullable(expr.type) or not checked.nullable else replace(checked, nullable=False)

    def _emit(self, expr: Expr) -> Checked:
        match expr:
            case Literal(value=value, type=type_):
                return literal(value, type_)
            case Var(name=name):
                return self.bindings[name].whole
            case Param(name=name):
                return parameter(name)
            case Get(of=Var(name=name), field=field) if name in self.bindings:
                return self.bindings[name].part(field)
            case Get(of=of, field=field):
                return part_of(self.emit(of), field)
            case Call(function="is_null" | "is_not_null", arguments=(Var() | Get() as of,)) if part := _always_there(
                of
            ):
                return EMITTED[expr.function](self, replace(expr, arguments=(part,)))
            case Call():
                return self._call(expr)
            case If():
                return self._if(expr)
            case MakeStruct(values=values, type=type_):
                struct = strip(type_)
                assert isinstance(struct, Struct)
                exact = all(_is(value, field.type) for value, field in zip(values, struct.fields, strict=True))
                return make_struct(struct, map(self.emit, values), exact=exact)
            case MakeList(items=items, type=type_):
                list_ = strip(type_)
                exact = isinstance(list_, List) and bool(items) and all(_is(item, list_.item) for item in items)
                return make_list(type_, map(self.emit, items), exact=exact)
            case ForEach(kind=Each.FOLD, item=item, body=body, type=type_):
                first, several = map(self.emit, folded_from(expr))
                return folded(several, first, ddl(strip(type_)), self._in_lambda(item, body))
            case ForEach(kind=kind, list=of, item=item, body=body):
                return each_item(_EACH[kind.value], self.emit(of), self._in_lambda(item, body), item.name)
            case Let(variable=variable, value=value, body=body):
                return let(self.emit(value), self._inside(variable, body), variable.name)
            case Try(body=body):
                return attempt(self.emit(body))
            case _:
                assert_never(expr)

    def _call(self, call: Call) -> Checked:
        """A call; where its error asks for its value, that is a column ahead."""
        if _only_overflows(call) and any(map(_only_overflows, call.arguments)):
            with with_columns_ahead(None):
                made = EMITTED[call.function](self, call)
            made = Checked(made.value, overflows(made.value), nullable=False)
        else:
            made = EMITTED[call.function](self, call)
        columns = ahead()
        if columns is None or not call_can_fail(call) or without(made.error, made.value, "") == made.error:
            return made
        name = columns.add(call.function, made.value, call)
        return replace(made, value=name, error=without(made.error, made.value, name))

    def _if(self, expr: If) -> Checked:
        condition, columns = self.emit(expr.condition), ahead()
        if columns is None:
            return if_else(condition, self.emit(expr.then), self.emit(expr.otherwise))
        with columns.only(condition.value):
            then = self.emit(expr.then)
        with columns.only(f"NOT coalesce({condition}, false)" if condition.nullable else f"NOT ({condition})"):
            otherwise = self.emit(expr.otherwise)
        return if_else(condition, then, otherwise)

    def json_function(self, kind: str, type_: Type) -> str:
        """The name of the Python function that reads or writes JSON texts of a type, which the job makes known."""
        return self.schemas.json_function(kind, type_, self.hint)

    def _inside(self, variable: Var, body: Expr) -> Callable[[Checked], Checked]:
        """The body in which a name is bound."""
        return lambda value: replace(self, bindings={**self.bindings, variable.name: value_binding(value)}).emit(body)

    def _in_lambda(self, item: Var, body: Expr) -> Callable[[Checked], Checked]:
        inside = self._inside(item, body)

        def checked(value: Checked) -> Checked:
            given = inside(value)
            OF_ITEMS.check(body, given)
            return given

        return checked


def _is(expr: Expr, type_: Type) -> bool:
    """Whether an expression is of a type as Spark knows it."""
    return ddl(expr.type) == ddl(type_) and not isinstance(expr.type, Null)


def _always_there(of: Var | Get) -> Get | None:
    """A part of a record that is null only where that is: Spark then need not carry the others."""
    struct = strip(of.type)
    if not isinstance(struct, Struct) or not is_nullable(of.type):
        return None
    for field in struct.fields:
        if not is_nullable(field.type) and not isinstance(field.type, Struct):
            return Get(of, field.name, as_nullable(field.type))
    return None


def _only_overflows(expr: Expr) -> bool:
    """Whether it is whole-number arithmetic that is null where it overflows, anywhere in it, and never else."""
    if not isinstance(expr, Call) or expr.function not in ("add", "sub", "mul", "neg") or expr.type != Int():
        return False
    return all(
        _only_overflows(each) or (isinstance(each, Var | Get | Literal) and each.type == Int())
        for each in expr.arguments
    )


_EACH = {"map": "transform", "filter": "filter", "any": "exists", "all": "forall"}


# --- a task ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scope:
    """One task: `id` and `origin` name it in dead letters, `takes` is its first input, `sides` all of them, `inputs`
    the names of their data frames, `keep` the hidden columns that it gives on. `united`: what it gives comes to a union
    in the same stage. `checks`: what is checked of its groups, or of those that its rows come to.
    """

    program: Program
    unit: Unit
    schemas: Schemas
    id: str
    origin: str
    takes: Collection
    gives: Collection
    sides: tuple[Collection, ...]
    inputs: tuple[str, ...]
    keep: frozenset[str]
    united: bool = False
    checks: GroupChecks = NO_CHECKS

    @property
    def emitter(self) -> Emitter:
        """Writes expressions that look at no record."""
        return Emitter(self.schemas, {}, self.id)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the input."""
        return self.takes.columns.names

    @property
    def kept(self) -> list[str]:
        """The hidden columns that it gives on, as SQL."""
        return [quoted(name) for name in sorted(self.keep)]

    def type(self, type_: Type) -> str:
        """A type as the job writes it."""
        return self.schemas.text(type_, self.id)

    def element(self, type_: Type) -> str:
        """The type of records as the job writes it: those that may be null stand in one column."""
        text = self.type(type_)
        return f"maybe_record({text})" if is_nullable(type_) and isinstance(strip(type_), Struct) else text

    def record(self) -> Checked:
        """The whole input record as one value."""
        if not isinstance(self.takes.element, Struct):
            return col("value")
        return Checked(f"named_struct({', '.join(f'{text(name)}, {quoted(name)}' for name in self.names)})")

    def binding(self) -> Binding:
        """What a lambda's parameter is that is the input record."""
        return Binding(self.record(), col) if isinstance(self.takes.element, Struct) else value_binding(col("value"))

    def on_record(self, function: Lambda) -> Checked:
        """The body of a lambda over the input record."""
        return self.emitter.body(function, self.binding())

    def typed(self, function: Lambda, type_: Type) -> Checked:
        """The body of a lambda over the input record; a bare null gets its type."""
        body = function.body
        return null(type_) if isinstance(body, Literal) and body.value is None else self.on_record(function)

    def step(self, input: Type | None = None) -> str:
        """Where a record is when it fails."""
        element = self.element(self.takes.element if input is None else input)
        return f"Step({quote(self.id)}, {quote(self.origin)}, {element})"

    def keeping(self) -> str:
        """The argument for the hidden columns."""
        return f", keep=[{', '.join(map(quote, sorted(self.keep)))}]" if self.keep else ""

    def passed(self, *given: Checked, rows: str = "rows", input: Type | None = None) -> list[str]:
        """The statement that makes dead letters of the rows for which one of these fails, if any can."""
        error = first(*(each.error for each in given))
        if error is None:
            return []
        return [f"{rows} = passed(job, {rows}, {self.step(input)}, {sql_text(error)}{self.uniting()})"]

    def uniting(self) -> str:
        """The argument that says that a union follows, with nothing but single records between."""
        return ", united=True" if self.united else ""

    def select(self, columns: Mapping[str, Checked], rows: str = "rows", *, hidden: bool = True) -> str:
        """Rows with these columns behind the hidden ones."""
        texts = (named(value.value, name) for name, value in columns.items())
        return selected(rows, *(self.kept if hidden else ()), *texts)

    def count(self, count: Expr) -> str:
        """How many are asked for; none where that fails."""
        if isinstance(count, Literal):
            return str(max(0, int(str(count.value or 0))))
        given = self.emitter.emit(count)
        return f"top_count(job, {self.step()}, {sql_text(given.value)}{also(given.error)})"

    def comparable_names(self) -> list[str]:
        """The columns by which records can be ordered."""
        return [part.name for part in self.takes.columns.fields if comparable(part.type)]
