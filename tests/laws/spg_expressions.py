"""Well-typed expressions of any type over given variables: all functions of `ghcm.functions`, failures included."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hypothesis import strategies as st

from ghcm.expr import Call, Each, Expr, ForEach, Get, If, Lambda, Let, Literal, MakeList, MakeStruct, Param, Try, Var
from ghcm.functions import FUNCTIONS, comparable, resolve
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Duration,
    Enumeration,
    Float,
    Int,
    Int32,
    List,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
    as_nullable,
    is_nullable,
    nullable_like,
    strip,
    tuple_of,
)
from ghcm.unification import accepts
from ghcm.values.timestamps import DATE_UNITS
from tests.laws.spg_signatures import signatures_by_result
from tests.laws.spg_values import SCALARS, values_of, variants_of
from tests.laws.spg_variants import as_enum, matched, united

__all__ = [
    "PATTERNS",
    "SIGNATURES",
    "call_of",
    "constants_of",
    "expressions",
    "functions",
    "is_refused",
    "literals",
    "paths_of",
]

N, F, S, B, T, D, L, Y = Int(), Float(), String(), Bool(), Timestamp(), Duration(), List(String()), Bytes()
A = Date()

SIGNATURES: tuple[tuple[str, Type, tuple[Type, ...]], ...] = (
    *((name, N, (N, N)) for name in ("add", "sub", "mul", "floordiv", "mod")),
    *((name, F, (F, F)) for name in ("add", "sub", "mul", "div", "floordiv", "mod")),
    *((name, each, (each,)) for name in ("neg", "abs") for each in (N, F, D)),
    ("add", S, (S, S)), ("add", T, (T, D)), ("sub", T, (T, D)), ("sub", D, (T, T)), ("add", D, (D, D)),
    ("sub", D, (D, D)), ("mul", D, (D, N)), ("floordiv", N, (D, D)),
    ("not", B, (B,)), ("and", B, (B, B)), ("or", B, (B, B)),
    ("to_int", N, (F,)), ("to_int", N, (S,)), ("to_int", N, (B,)), ("widen", N, (Int32(),)),
    ("to_float", F, (N,)), ("to_float", F, (S,)),
    *(("to_string", S, (each,)) for each in (B, N, Int32(), F, S, T, Date(), D)),
    ("length", N, (S,)), ("length", N, (L,)), ("lower", S, (S,)), ("upper", S, (S,)), ("trim", S, (S,)),
    ("initcap", S, (S,)), ("time_of_day", D, (T,)), ("time_of_day", D, (T, S)),
    *((name, B, (S, S)) for name in ("starts_with", "ends_with", "contains", "matches")),
    ("contains", B, (List(F), F)), ("contains", B, (L, S)),
    *((name, S, (S,)) for name in ("trim_start", "trim_end", "reverse", "md5", "sha256", "to_hex", "to_base64")),
    *((name, S, (S, S)) for name in ("trim", "trim_start", "trim_end", "concat", "remove_prefix", "remove_suffix")),
    *((name, N, (S, S)) for name in ("index_of", "last_index_of", "count_of", "count_matches")),
    *((name, S, (S, N)) for name in ("repeat", "left", "right", "slice")),
    ("slice", S, (S, N, N)), ("slice", L, (L, N)), ("split_pattern", L, (S, S)),
    *((name, S, (S, N, S)) for name in ("pad_start", "pad_end")), ("join", S, (L, S)), ("crc32", N, (S,)),
    ("is_empty", B, (S,)), ("is_empty", B, (L,)), ("full_match", B, (S, S)), ("lines", L, (S,)), ("words", L, (S,)),
    ("split_part", Nullable(S), (S, S, N)), ("extract", Nullable(S), (S, S)), ("replace_pattern", S, (S, S, S)),
    ("to_bytes", Y, (S,)), ("from_bytes", S, (Y,)), ("from_hex", Y, (S,)), ("from_base64", Y, (S,)),
    ("replace", S, (S, S, S)), ("substring", S, (S, N, N)), ("split", L, (S, S)), ("extract_all", L, (S, S)),
    ("get", S, (L, N)), ("get", N, (List(N), N)),
    ("truncate", T, (T, D)), ("to_micros", N, (T,)), ("to_micros", N, (D,)), ("from_micros", T, (N,)),
    *((name, B, (S,)) for name in ("is_ip", "is_ipv4", "is_ipv6", "is_private", "is_multicast")),
    ("int_to_ip", S, (N,)), ("ip_to_int", N, (S,)), ("ip_canonical", S, (S,)),
    ("in_subnet", B, (S, S)), ("subnet_of", S, (S, N)),
    *((name, N, (T, *zone)) for name in ("year", "week", "day_of_week", "hour", "microsecond") for zone in ((), (S,))),
    *((name, N, (A,)) for name in ("quarter", "month", "week_year", "day", "day_of_year")),
    *((name, N, (T,)) for name in ("minute", "second", "to_millis")), ("days_between", N, (A, A)),
    *((name, of, (each,)) for each in (N, F) for name, of in (("from_seconds", T), ("to_duration", D))),
    ("from_millis", T, (N,)), ("to_seconds", F, (D,)), ("to_seconds", F, (T,)), ("div", F, (D, D)),
    ("truncate_to", T, (T, S)), ("truncate_to", T, (T, S, S)), ("truncate_to", A, (A, S)), ("add_days", A, (A, N)),
    ("add_months", T, (T, N)), ("add_months", A, (A, N)), ("date_of", A, (N, N, N)),
    ("to_date", A, (T, S)), ("to_date", A, (S,)), ("timestamp_of", T, (N, N, N, N, N, N)),
    ("to_timestamp", T, (S,)), ("to_timestamp", T, (A,)), ("to_timestamp", T, (A, S)),
    ("parse_time", T, (S, S)), ("parse_time", T, (S, S, S)),
    ("format_time", S, (T, S)), ("format_time", S, (T, S, S)), ("format_time", S, (A, S)),
)  # fmt: skip
"""Function, result and arguments where nothing is null; comparisons and functions of any type are not listed."""

PATTERNS = ("a", "^a", "b$", "[0-9]+", "[ab]+c?", "a|b", "(?:ab)+", "é", "[^a]")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
MOMENTS = ("%Y-%m-%d", "%d/%b/%Y", "%j of %Y %%")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def constants_of(name: str, place: int) -> st.SearchStrategy[Expr]:
    """What may stand where a function takes constants only."""
    known: Sequence[str] = PATTERNS
    if FUNCTIONS[name].bad_constant is not None:
        patterns = {"truncate_to": DATE_UNITS, "parse_time": MOMENTS, "format_time": MOMENTS}
        known = patterns[name] if place == 1 and name in patterns else ZONES
    return st.sampled_from(known).map(lambda value: Literal(value, S))


def literals(type_: Type) -> st.SearchStrategy[Expr]:
    """Literals of a type."""
    return values_of(type_).map(lambda value: Literal(value, type_))


def paths_of(of: Expr, depth: int = 3) -> Iterator[Expr]:
    """The expression, its fields, and theirs: what can be read without computing."""
    yield of
    struct = strip(of.type)
    if isinstance(struct, Struct) and depth:
        for field in struct.fields:
            type_ = as_nullable(field.type) if is_nullable(of.type) else field.type
            yield from paths_of(Get(of, field.name, type_), depth - 1)


@st.composite
def expressions(
    draw: st.DrawFn, of_type: Type, columns: Sequence[Var | Param], depth: int = 2, *, fails: bool = True
) -> Expr:
    """An expression of `of_type`, or of that type with a `?` less; without `fails` none that can fail a record."""
    paths = [path for column in columns for path in paths_of(column) if accepts(of_type, path.type)]
    ways = ["literal", *(["path"] * 6 if paths else [])]
    choices = [path for column in columns for path in paths_of(column) if _has_cases(path.type)] if depth > 0 else []
    ways += ["call"] * 8 + ["if", "coalesce", "known", "least", "each", "each", "let", "try"] if depth > 0 else []
    ways += ["match"] * 4 if choices else []
    ways += ["enum"] * 6 if depth > 0 and fails and isinstance(of_type, Enumeration) else []
    match draw(st.sampled_from(ways)):
        case "path":
            return draw(st.sampled_from(paths))
        case "call":
            made = draw(_calls(of_type, columns, depth - 1, fails))
            if made is not None:
                return made
        case "if":
            condition = draw(expressions(as_nullable(B), columns, depth - 1, fails=fails))
            branches = [draw(expressions(of_type, columns, depth - 1, fails=fails)) for _ in range(2)]
            return If(condition, branches[0], branches[1], of_type)
        case "coalesce":
            first = draw(expressions(as_nullable(of_type), columns, depth - 1, fails=fails))
            made = call_of("coalesce", first, draw(expressions(of_type, columns, depth - 1, fails=fails)))
            if made is not None and accepts(of_type, made.type):
                return made
        case "known":
            found = [path for column in columns for path in paths_of(column) if path.type == as_nullable(of_type)]
            if found and not is_nullable(of_type):
                path = draw(st.sampled_from(found))
                known = Call("known", (path,), of_type)
                other = draw(expressions(of_type, columns, depth - 1, fails=fails))
                return If(Call("is_not_null", (path,), B), known, other, of_type)
        case "each":
            made = draw(_each(of_type, columns, depth - 1, fails))
            if made is not None:
                return made
        case "let":
            kept = draw(st.sampled_from([*(path.type for column in columns for path in paths_of(column)), *SCALARS]))
            value = draw(expressions(kept, columns, depth - 1, fails=fails))
            variable = Var(draw(_names), draw(st.sampled_from([value.type, kept])))
            body = draw(expressions(of_type, _bound(columns, variable), depth - 1, fails=fails))
            return Let(variable, value, body, body.type)
        case "match":
            subject = draw(st.sampled_from(choices))
            made = matched(draw, subject, of_type, _within(draw, columns, depth - 1, fails))
            if made is not None:
                return made
        case "enum" if isinstance(of_type, Enumeration):
            return as_enum(draw, of_type, draw(expressions(S, columns, depth - 1)))
        case "try":
            if is_nullable(of_type):
                body = draw(expressions(of_type, columns, depth - 1))
                return Try(body, as_nullable(body.type))
        case "least":
            if comparable(of_type):
                sides = [draw(expressions(of_type, columns, depth - 1, fails=fails)) for _ in range(2)]
                made = call_of(draw(st.sampled_from(["least", "greatest"])), *sides)
                if made is not None and accepts(of_type, made.type):
                    return made
        case _:
            pass
    return draw(_made(of_type, columns, depth - 1, fails))


def _has_cases(type_: Type) -> bool:
    """Whether `match` looks at it: a union or an enum."""
    found = strip(type_)
    return isinstance(found, Enumeration) or (isinstance(found, Struct) and bool(variants_of(found)))


def _within(
    draw: st.DrawFn, columns: Sequence[Var | Param], depth: int, fails: bool
) -> Callable[[Type, Sequence[Var]], Expr]:
    """Draws expressions over these columns and more."""
    return lambda type_, more: draw(expressions(type_, [*columns, *more], depth, fails=fails))


_names = st.sampled_from(["x", "y", "i", "each", "f.x", "if"])
"""What lambdas and lets inside an expression call their values; some hide others."""


def _bound(columns: Sequence[Var | Param], variable: Var) -> list[Var | Param]:
    hidden = [each for each in columns if not (isinstance(each, Var) and each.name == variable.name)]
    return [*hidden, variable, variable]


@st.composite
def _fold(
    draw: st.DrawFn, of_type: Type, columns: Sequence[Var | Param], depth: int, fails: bool, known: Sequence[List]
) -> Expr:
    """A fold of a list, which is null where the value may be."""
    of, so_far = draw(st.sampled_from(known)), strip(of_type) if draw(st.booleans()) else of_type
    items = draw(expressions(as_nullable(of) if is_nullable(of_type) else of, columns, depth, fails=fails))
    first = draw(expressions(so_far, columns, depth, fails=fails))
    found = strip(items.type)
    assert isinstance(found, List)
    pair = Var(draw(_names), tuple_of(so_far, found.item))
    body = draw(expressions(so_far, _bound(columns, pair), depth, fails=fails))
    begins = MakeStruct((first, items), tuple_of(so_far, items.type))
    return ForEach(Each.FOLD, begins, pair, body, nullable_like(so_far, items.type))


@st.composite
def _each(draw: st.DrawFn, of_type: Type, columns: Sequence[Var | Param], depth: int, fails: bool) -> Expr | None:
    """A lambda over a list."""
    wanted, paths = strip(of_type), [path for column in columns for path in paths_of(column)]
    known = [stripped for path in paths if isinstance(stripped := strip(path.type), List)]
    if draw(st.integers(0, 5)) == 0:
        return draw(_fold(of_type, columns, depth, fails, [*known, List(N), List(as_nullable(S))]))
    match wanted:
        case List():
            kind = draw(st.sampled_from([Each.MAP, Each.FILTER]))
        case Bool():
            kind = draw(st.sampled_from([Each.ANY, Each.ALL]))
        case _:
            return None
    of = wanted if kind is Each.FILTER else draw(st.sampled_from([*known, List(N), List(as_nullable(S))]))
    assert isinstance(of, List)
    items = draw(expressions(as_nullable(of) if is_nullable(of_type) else of, columns, depth, fails=fails))
    found = strip(items.type)
    assert isinstance(found, List)
    item = Var(draw(_names), found.item)
    asked = wanted.item if kind is Each.MAP and isinstance(wanted, List) else as_nullable(B)
    if kind in (Each.ANY, Each.ALL) and not is_nullable(of_type):
        asked = B
    body = draw(expressions(asked, _bound(columns, item), depth, fails=fails))
    made: Type = List(body.type) if kind is Each.MAP else found if kind is Each.FILTER else B
    nullable = is_nullable(items.type) or (kind in (Each.ANY, Each.ALL) and is_nullable(body.type))
    return ForEach(kind, items, item, body, as_nullable(made) if nullable else made)


@st.composite
def _made(draw: st.DrawFn, of_type: Type, columns: Sequence[Var | Param], depth: int, fails: bool) -> Expr:
    """A struct or list of expressions, or a literal."""
    if depth >= 0:
        match strip(of_type):
            case Struct() as union if variants_of(union):
                return united(draw, union, _within(draw, columns, depth, fails))
            case Struct(fields=fields) as struct:
                parts = [draw(expressions(field.type, columns, depth, fails=fails)) for field in fields]
                return MakeStruct(tuple(parts), struct)
            case List(item=item) as list_type:
                items = [draw(expressions(item, columns, depth, fails=fails)) for _ in range(draw(st.integers(0, 2)))]
                return MakeList(tuple(items), list_type)
            case _:
                pass
    return draw(literals(of_type))


def _near(type_: Type) -> st.SearchStrategy[Expr]:
    """A list of numbers that are added without rounding. Engines stay within 1e-12 of the sum of magnitudes, which is
    far from the sum where great ones cancel out.
    """
    floats = isinstance(type_, List) and isinstance(strip(type_.item), Float)
    numbers = st.integers(-8, 8).map(float if floats else int)
    return st.lists(numbers, max_size=3).map(lambda items: Literal(items, type_))


@st.composite
def _calls(
    draw: st.DrawFn, of_type: Type, columns: Sequence[Var | Param], depth: int, fails: bool, only: str = ""
) -> Expr | None:
    wanted = strip(of_type)
    if not only and wanted == B and draw(st.booleans()):
        return draw(_tests(of_type, columns, depth, fails))
    fitting = signatures_by_result(wanted, fails=fails)
    if not fitting or (only and only not in fitting):
        return None
    names = sorted(fitting)
    names += [name for name in names if FUNCTIONS[name].failures] * 3
    signature = draw(st.sampled_from(fitting[only or draw(st.sampled_from(names))]))
    free = len(signature.arguments) - len(signature.constants)
    given: list[Expr] = []
    for parameter in signature.arguments[:free]:
        type_ = as_nullable(parameter) if is_nullable(of_type) and draw(st.booleans()) else parameter
        floats = isinstance(parameter, List) and isinstance(strip(parameter.item), Float)
        rounds = (floats and signature.function == "list_sum") or signature.function == "list_mean"
        given.append(draw(_near(parameter) if rounds else expressions(type_, columns, depth, fails=fails)))
    constants = zip(signature.constants, signature.arguments[free:], strict=True)
    made = call_of(signature.function, *given, *(Literal(value, type_) for value, type_ in constants))
    return made if made is not None and accepts(of_type, made.type) else None


@st.composite
def _tests(draw: st.DrawFn, of_type: Type, columns: Sequence[Var | Param], depth: int, fails: bool) -> Expr | None:
    """Comparisons and tests for null of values of any type."""
    known = [path.type for column in columns for path in paths_of(column)]
    type_ = draw(st.sampled_from([*known, *SCALARS]))
    if not comparable(type_) or draw(st.integers(0, 3)) == 0:
        name = draw(st.sampled_from(["is_null", "is_not_null"]))
        return call_of(name, draw(expressions(as_nullable(type_), columns, depth, fails=fails)))
    type_ = type_ if is_nullable(of_type) else strip(type_)
    sides = [draw(expressions(type_, columns, depth, fails=fails)) for _ in range(2)]
    made = call_of(draw(st.sampled_from(_COMPARISONS)), *sides)
    return made if made is not None and accepts(of_type, made.type) else None


def call_of(name: str, *arguments: Expr) -> Call | None:
    """The call with the type of its result, or None where it does not fit, or a constant of it cannot be."""
    resolution = resolve(FUNCTIONS[name], tuple(each.type for each in arguments))
    made = None if resolution is None else Call(name, arguments, resolution.result)
    return None if made is None or is_refused(made) else made


def is_refused(call: Call) -> bool:
    """Whether a constant of the call cannot be, so that no program has it."""
    rule = FUNCTIONS[call.function].bad_constant
    if rule is None:
        return False
    values = tuple(each.value if isinstance(each, Literal) else None for each in call.arguments)
    return rule(tuple(strip(each.type) for each in call.arguments), values) is not None


@st.composite
def functions(
    draw: st.DrawFn,
    result: Type,
    *arguments: Type,
    parameters: Sequence[Param] = (),
    depth: int = 2,
    fails: bool = True,
    calls: str = "",
) -> Lambda:
    """A lambda over values of these types; it `calls` that function first, if that fits."""
    variables = tuple(Var(name, type_) for name, type_ in zip("xyz", arguments, strict=False))
    if calls:
        made = draw(_calls(result, [*variables, *parameters], depth, fails, calls))
        if made is not None:
            return Lambda(variables, made)
    return Lambda(variables, draw(expressions(result, [*variables, *parameters], depth, fails=fails)))
