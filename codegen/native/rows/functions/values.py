"""What no text of the table can say of strings, lists, maps, JSON texts and time as Python."""

from __future__ import annotations

from ghcm.codegen.expressions import constant, plainly_ordered
from ghcm.codegen.native.rows.functions.emitting import Emit, Scope, helper, kind_of, zone
from ghcm.codegen.native.rows.text import ATOM, BITOR, COMPARE, PRODUCT, SUM, Code, quoted
from ghcm.expr import Call
from ghcm.functions import FAMILIES
from ghcm.spg.notation.types import print_type
from ghcm.types import Date, Decimal, Float, List, Struct, Type, is_nullable, strip
from ghcm.values.texts import parse_path
from ghcm.values.timestamps import DATE_UNITS


def _contains(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    kind, (where, what) = kind_of(expr), codes
    if isinstance(kind, List) and isinstance(kind.item, Float):
        return helper("collections.list_contains", where, what)
    if isinstance(kind, List) and not plainly_ordered(kind.item):
        order = scope.module.order(kind.item)
        where, what = Code(f"map({order}, {where.inner})", simple=where.simple), Code(f"{order}({what.inner})")
    return _is_in(what, where)


def _has_key(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return _is_in(codes[1], codes[0])


def _is_in(what: Code, where: Code) -> Code:
    """Of two that fail the first argument is named; Python evaluates what it looks for first."""
    if where.simple or what.simple:
        return Code(f"{what.at(BITOR)} in {where.at(BITOR)}", COMPARE)
    return helper("collections.contains", where, what)


def _replace(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    if not constant(expr.arguments[1]):
        return helper("texts.replace", *codes)
    return Code(f"{codes[0].at(ATOM)}.replace({codes[1].inner}, {codes[2].inner})")


def _join(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    texts, between = codes
    plain = texts.simple or between.simple
    return Code(f"{between.at(ATOM)}.join({texts.inner})") if plain else helper("texts.join", texts, between)


def _concat(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return Code(" + ".join(each.at(PRODUCT) for each in codes), SUM)


# --- lists -----------------------------------------------------------------------------------------------------------


def _item(expr: Call) -> Type:
    kind = kind_of(expr)
    assert isinstance(kind, List)
    return kind.item


def _sum(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    match strip(_item(expr)):
        case Float():
            return helper("collections.float_sum", *codes)
        case Decimal():
            return helper("collections.exact_sum", *codes)
        case _:  # whole numbers and durations
            return helper("collections.whole_sum", *codes)


def _ordered(name: str, *, nulls: bool) -> Emit:
    """A helper that takes the key by which items are ordered, where they need one."""

    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        item = _item(expr) if nulls else strip(_item(expr))
        plain = plainly_ordered(item) and not is_nullable(item)
        return helper(name, codes[0], *_options(expr), *([] if plain else [Code(scope.module.order(item))]))

    return emit


def _options(expr: Call) -> list[Code]:
    return [Code(repr(constant(each))) for each in expr.arguments[1:]]


def _sort_by(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    entry = _item(expr)
    assert isinstance(entry, Struct)
    return helper("collections.sort_by", codes[0], *_options(expr), Code(scope.module.order(entry.fields[0].type)))


# --- time ------------------------------------------------------------------------------------------------------------


def _truncate_to(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    if isinstance(kind_of(expr), Date):
        return helper("time.date_start", *codes)
    name = "day_start" if constant(expr.arguments[1]) in DATE_UNITS else "clock_start"
    return Code(f"row_time.{name}({codes[0].inner}, {codes[1].inner}{zone(expr, 2)})")


def _by_pattern(name: str) -> Emit:
    """What a function of the module does, which is made once of the constant pattern."""

    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        of_date = ", of_date=True" if isinstance(kind_of(expr), Date) else ""
        made = f"row_time_texts.{name}({quoted(str(constant(expr.arguments[1])))}{zone(expr, 2)}{of_date})"
        return Code(f"{scope.module.constant(f'_{name}', made)}({codes[0].inner})")

    return emit


# --- JSON ------------------------------------------------------------------------------------------------------------


def _read(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    path = constant(expr.arguments[1])
    steps = parse_path(path) if isinstance(path, str) else None
    assert steps is not None, "the lowering takes constant paths only"
    texts = [quoted(each) if isinstance(each, str) else str(each) for each in steps]
    return helper(f"json.{expr.function}", codes[0], *map(Code, texts))


def _to_json(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    made = f"row_json.writer_of({quoted(print_type(strip(expr.arguments[0].type)))})"
    return Code(f"{scope.module.constant('_to_json', made)}({codes[0].inner})")


def _json_to(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    spelt = constant(expr.arguments[2])
    assert isinstance(spelt, str), "the lowering writes it"
    read = scope.module.constant("_from_json", f"row_json.reader_of({quoted(spelt)})")
    return Code(f"{read}({codes[0].inner})")


EMITTERS: dict[str, Emit] = {
    "contains": _contains,
    "has_key": _has_key,
    "replace": _replace,
    "join": _join,
    "concat": _concat,
    "list_sum": _sum,
    "list_min": _ordered("collections.least", nulls=False),
    "list_max": _ordered("collections.greatest", nulls=False),
    "list_sort": _ordered("collections.sort", nulls=True),
    "list_sort_by": _sort_by,
    "list_distinct": _ordered("collections.distinct", nulls=True),
    "truncate_to": _truncate_to,
    "parse_time": _by_pattern("reader"),
    "format_time": _by_pattern("writer"),
    **{each.name: _read for each in FAMILIES["json"]},
    "to_json": _to_json,
    "json_to": _json_to,
}
