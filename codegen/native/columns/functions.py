"""The functions of the language as Polars: total over those of `ghcm.functions.FUNCTIONS` that have a columnar form.

Most are texts of that table; what no text can say stands here. Calls that have no columnar form because of their types
or constants are refused with the reason; such a chain runs by rows.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from ghcm import types
from ghcm.codegen.native.columns.text import Column, dtype_text, either, where
from ghcm.codegen.native.snippets import (
    ALL,
    ATOM,
    BITAND,
    BITOR,
    COMPARE,
    PRODUCT,
    SUM,
    UNARY,
    Slot,
    Snippet,
    digits,
    kind_of,
    may_be_empty,
    polars_pattern,
    quoted,
    snippet,
    zone,
)
from ghcm.expr import Call, Expr
from ghcm.failing import call_can_fail, constant
from ghcm.functions import FUNCTIONS, text_for
from ghcm.functions.logic import NESTED
from ghcm.support import Never
from ghcm.types import is_nullable, strip
from ghcm.values.texts import parse_subnet


class Scope(Protocol):
    """What a function may ask of the expression around it."""

    def value(self, node: Expr) -> Column:
        """The column of an expression."""
        ...


Emit = Callable[[Scope, Call], Column]
"""The column of a call."""


def written(scope: Scope, expr: Call) -> Column:
    """A call as the table of functions writes it in Polars, with a mask of the records that fail."""
    function, kind, count = FUNCTIONS[expr.function], kind_of(expr), len(expr.arguments)
    safe = not call_can_fail(expr)
    text = text_for(function.polars, kind, count, safe=safe)
    assert isinstance(text, str), f"no text of {expr.function} of {kind}"
    fails = text_for(function.polars_fails, kind, count, safe=safe) or ""
    assert isinstance(fails, str), f"no text of {expr.function} of {kind}"
    texts = [snippet(each) for each in (text, fails) if each]
    mentioned = frozenset[int]().union(*(each.arguments() for each in texts))
    everything = any(isinstance(part, Slot) and part.index == ALL for each in texts for part in each.parts)
    wanted = range(count) if everything else sorted(index for index in mentioned if index < count)
    found = {index: scope.value(expr.arguments[index]) for index in wanted}
    inherited = _masks(found.values())
    value, *masks = (_filled(each, expr, found) for each in texts)
    if text == "{0}":
        value = found[0]
    return Column(value.text, value.level, either(inherited, *masks), value.bare)


def _filled(text: Snippet, expr: Call, found: Mapping[int, Column]) -> Column:
    given: list[str] = []

    def write(slot: Slot) -> str:
        if slot.index == ALL:
            return ", ".join(column.text for column in found.values())
        if slot.way == "zone":
            return zone(expr, slot.index)
        match slot.of:
            case "type":
                return dtype_text(expr.type)
            case "pattern":
                return polars_pattern(expr, whole=slot.way == "whole")
            case "":
                column = found.get(slot.index)
                if column is None:
                    return slot.default or ""
                if slot.way == "given" and is_nullable(expr.arguments[slot.index].type):
                    given.append(f"{column.at(ATOM)}.is_not_null()")
                return column.bare if slot.way == "bare" and column.bare is not None else column.at(slot.level)
            case _:
                return digits(expr, slot)

    filled = text.filled(write)
    return Column(f"pl.when({', '.join(given)}).then({filled})") if given else Column(filled, text.level)


# --- pieces ----------------------------------------------------------------------------------------------------------


def _arguments(scope: Scope, expr: Call) -> list[Column]:
    return [scope.value(each) for each in expr.arguments]


def _masks(columns: Iterable[Column]) -> Column | None:
    """Where any of the columns fails."""
    return either(*(column.fails for column in columns))


def _infix(operator: str, level: int, left: Column, right: Column) -> Column:
    """`left operator right`, with a bare literal where the other side is an expression."""
    one = left.bare if left.bare is not None and right.bare is None else left.at(level)
    two = right.bare if right.bare is not None else right.at(level + 1)
    if left.bare is not None and right.bare is not None:
        one, two = left.text, right.text
    return Column(f"{one} {operator} {two}", level)


def _counted(column: Column, kind: types.Type) -> Column:
    """Ints as they are, timestamps and durations as microseconds."""
    counted = isinstance(kind, types.Timestamp | types.Duration)
    return Column(f"columns.micros({column.text})") if counted else column


def _helper(name: str, *arguments: Column | str | int) -> Column:
    """A call of `<module>.<function>` in `ghcm.runtime.native.column_functions`; constants are Python's."""
    texts = [each.text if isinstance(each, Column) else str(each) for each in arguments]
    return Column(f"column_{name}({', '.join(texts)})")


def _failing(column: Column, *masks: Column | None) -> Column:
    """The column with these masks instead of its own."""
    return Column(column.text, column.level, either(*masks), column.bare)


# --- arithmetic and comparison ---------------------------------------------------------------------------------------


def _arithmetic(operator: str, level: int, name: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found, kind, result = _arguments(scope, expr), kind_of(expr), strip(expr.type)
        masks = _masks(found)
        if isinstance(kind, types.List):
            return _failing(_helper("collections.joined", *found), masks)
        if isinstance(kind, types.Decimal):
            assert isinstance(result, types.Decimal)
            units = [f"columns.units({column.text})" for column in found]
            if level == SUM:
                scales = [of.scale for each in expr.arguments if isinstance(of := strip(each.type), types.Decimal)]
                parts = zip(units, scales, strict=True)
                units = [f"column_numbers.scaled({text}, {result.scale - scale})" for text, scale in parts]
            total = f" {operator} ".join(units)
            return Column(f"columns.decimal({total}, {result.precision}, {result.scale})", fails=masks)
        if isinstance(kind, types.Float | types.String):
            return _failing(_infix(operator, level, *found), masks)
        counts = [_counted(column, strip(each.type)) for column, each in zip(found, expr.arguments, strict=True)]
        value = _infix(operator, level, *counts)
        if isinstance(result, types.Timestamp | types.Duration):
            value = Column(f"columns.{result}({value.text})")
        known = (each if each.bare is None else each.bare for each in counts)
        return _failing(value, masks, _helper(f"numbers.{name}_fails", *known))

    return emit


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _comparison(operator: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        left, right = found = _arguments(scope, expr)
        if left.bare is not None and right.bare is None:
            return _failing(_infix(_MIRRORED.get(operator, operator), COMPARE, _tight(right), left), _masks(found))
        return _failing(_infix(operator, COMPARE, _tight(left), _tight(right)), _masks(found))

    return emit


def _tight(column: Column) -> Column:
    return column if column.level > COMPARE else Column(f"({column.text})", ATOM, column.fails, column.bare)


# --- three-valued logic ----------------------------------------------------------------------------------------------


def _and(scope: Scope, expr: Call) -> Column:
    left, right = _arguments(scope, expr)
    undecided = left.at(BITAND) if not is_nullable(expr.arguments[0].type) else f"{left.at(ATOM)}.fill_null(True)"
    fails = either(left.fails, where(undecided, right.fails))
    return Column(f"{left.at(BITAND)} & {right.at(BITAND + 1)}", BITAND, fails)


def _or(scope: Scope, expr: Call) -> Column:
    left, right = _arguments(scope, expr)
    undecided = left.at(ATOM) if not is_nullable(expr.arguments[0].type) else f"{left.at(ATOM)}.fill_null(False)"
    fails = either(left.fails, where(f"~{undecided}", right.fails))
    return Column(f"{left.at(BITOR)} | {right.at(BITOR + 1)}", BITOR, fails)


def _coalesce(scope: Scope, expr: Call) -> Column:
    texts: list[str] = []
    missing, fails = "", None
    for each in expr.arguments:
        column = scope.value(each)
        texts.append(column.text)
        fails = either(fails, where(missing, column.fails) if missing else column.fails)
        missing = f"{missing} & {column.at(ATOM)}.is_null()" if missing else f"{column.at(ATOM)}.is_null()"
        if not is_nullable(each.type):
            break
    return Column(f"pl.coalesce({', '.join(texts)})", fails=fails)


# --- strings and lists -----------------------------------------------------------------------------------------------


def _replace(scope: Scope, expr: Call) -> Column:
    old, new = (constant(each) for each in expr.arguments[1:])
    if not isinstance(old, str) or not isinstance(new, str):
        several = _arguments(scope, expr)
        return _failing(_helper("texts.replace", *several), _masks(several))
    found = scope.value(expr.arguments[0])
    text = f"{found.at(ATOM)}.str.replace_all({quoted(old)}, {quoted(new)}, literal=True)"
    return Column(text, fails=found.fails) if old else found


def _join(scope: Scope, expr: Call) -> Column:
    texts, between = found = _arguments(scope, expr)
    if constant(expr.arguments[1]) is None:
        return _failing(_helper("texts.join", *found), _masks(found))
    return Column(f"{texts.at(ATOM)}.list.join({between.bare})", fails=_masks(found))


_DAY = 10
"""So many code points of the text of a timestamp are those of its day."""


def _left(scope: Scope, expr: Call) -> Column:
    text, count = expr.arguments[0], constant(expr.arguments[1])
    if not isinstance(count, int) or count < 0:
        found = _arguments(scope, expr)
        return _failing(_helper("texts.left", *found), _masks(found), _helper("texts.count_fails", *found))
    day = _day_text(scope, text) if count <= _DAY else None
    value = day or scope.value(text)
    return value if day and count == _DAY else Column(f"{value.at(ATOM)}.str.slice(0, {count})", fails=value.fails)


def _day_text(scope: Scope, text: Expr) -> Column | None:
    """What the text of a timestamp begins with; None for any other text."""
    if not (isinstance(text, Call) and text.function == "to_string" and isinstance(kind_of(text), types.Timestamp)):
        return None
    found = scope.value(text.arguments[0])
    micros = Column(f"columns.micros({found.text})")
    return _failing(_helper("time_texts.day_text", micros), found.fails, _helper("time.outside", micros))


def _to_enum(scope: Scope, expr: Call) -> Column:
    found, enum = scope.value(expr.arguments[0]), strip(expr.type)
    assert isinstance(enum, types.Enumeration)
    known = f"{found.at(ATOM)}.is_in([{', '.join(map(quoted, enum.values))}])"
    return _failing(found, found.fails, Column(f"~{known}", UNARY))


def _total(scope: Scope, expr: Call) -> Column:
    found, to = scope.value(expr.arguments[0]), strip(expr.type)
    match to:
        case types.Float():
            return _failing(_helper("collections.float_sum", found), found.fails)
        case types.Decimal():
            return _failing(_helper("collections.exact_sum", found, to.precision, to.scale), found.fails)
        case _:  # whole numbers and durations
            total = _helper("collections.whole_sum", found, dtype_text(to))
            return _failing(total, found.fails, _helper("collections.sum_fails", found))


def _item_of(expr: Call) -> types.Type:
    kind = kind_of(expr)
    assert isinstance(kind, types.List)
    return strip(kind.item)


def _mean(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    name = "float_mean" if isinstance(_item_of(expr), types.Float) else "whole_mean"
    return _failing(_helper(f"collections.{name}", found), found.fails)


# --- addresses and time ----------------------------------------------------------------------------------------------


def _of_columns(name: str, scope: Scope, expr: Call) -> Column:
    found = _arguments(scope, expr)
    return _failing(_helper(name, *found), _masks(found), _helper(f"{name}_fails", *found))


def _in_subnet(scope: Scope, expr: Call) -> Column:
    text = constant(expr.arguments[1])
    if not isinstance(text, str) or parse_subnet(text) is None:
        return _of_columns("network.in_any_subnet", scope, expr)
    found = scope.value(expr.arguments[0])
    value = _helper("network.in_subnet", found, quoted(text))
    return _failing(value, found.fails, Column(f"~column_network.is_ip({found.text})", UNARY))


def _subnet_of(scope: Scope, expr: Call) -> Column:
    prefix = constant(expr.arguments[1])
    if not isinstance(prefix, int) or not 0 <= prefix <= 128:
        return _of_columns("network.any_subnet_of", scope, expr)
    found = scope.value(expr.arguments[0])
    value = _helper("network.subnet_of", found, prefix)
    return _failing(value, found.fails, _helper("network.subnet_of_fails", found, prefix))


def _truncate_to(scope: Scope, expr: Call) -> Column:
    found, unit = scope.value(expr.arguments[0]), constant(expr.arguments[1])
    assert isinstance(unit, str), "the lowering takes constants only"
    if isinstance(kind_of(expr), types.Date):
        value = _helper("time.date_start", found, quoted(unit))
        return _failing(value, found.fails, _helper("time.date_outside", found))
    given = f"{_counted(found, kind_of(expr)).text}, {quoted(unit)}{zone(expr, 2)}"
    value = Column(f"columns.timestamp(column_time.start({given}))")
    return _failing(value, found.fails, _helper("time.start_fails", given))


COLUMN_FUNCTIONS: dict[str, Emit] = {
    **{name: written for name, function in FUNCTIONS.items() if not isinstance(function.polars, Never | None)},
    "add": _arithmetic("+", SUM, "add"),
    "sub": _arithmetic("-", SUM, "subtract"),
    "mul": _arithmetic("*", PRODUCT, "multiply"),
    "eq": _comparison("=="),
    "ne": _comparison("!="),
    "lt": _comparison("<"),
    "le": _comparison("<="),
    "gt": _comparison(">"),
    "ge": _comparison(">="),
    "and": _and,
    "or": _or,
    "coalesce": _coalesce,
    "replace": _replace,
    "join": _join,
    "left": _left,
    "to_enum": _to_enum,
    "list_sum": _total,
    "list_mean": _mean,
    "in_subnet": _in_subnet,
    "subnet_of": _subnet_of,
    "truncate_to": _truncate_to,
}
"""The functions by name."""

# --- refusals --------------------------------------------------------------------------------------------------------


def refusal(call: Call) -> str:
    """Why a call has no columnar form; "" where it has one."""
    polars, kind = FUNCTIONS[call.function].polars, kind_of(call)
    found = text_for(polars, kind, len(call.arguments), safe=False)
    if isinstance(found, Never):
        return f"{call.function}{'' if found is polars else f' of {kind}'}: {found.reason}"
    refuse = REFUSALS.get(call.function)
    return refuse(call) if refuse is not None else ""


def _refuse_items(call: Call) -> str:
    kind = kind_of(call)
    read_alike = types.Bool | types.Date | types.Int | types.String | types.Timestamp
    plain = not isinstance(kind, types.List) or isinstance(kind.item, read_alike)
    return "" if plain else "contains: Polars compares floats, nulls and nested values inside lists in its own way"


def _refuse_empty(call: Call) -> str:
    reason = "the pattern matches the empty text, and Rust leaves out some empty matches"
    return f"{call.function}: {reason}" if may_be_empty(call) else ""


def _refuse_nested(call: Call) -> str:
    item = _item_of(call)
    if call.function == "list_sort_by" and isinstance(item, types.Struct):
        item = strip(item.fields[0].type)
    nested = isinstance(item, types.Struct | types.List | types.Null)
    return f"{call.function} of {item}: {NESTED.reason}" if nested else ""


def _refuse_exponents(call: Call) -> str:
    kind = kind_of(call)
    if isinstance(kind, types.Decimal) and kind.scale > _EXACT_POWERS:
        return f"to_float of {kind}: no float is so great a power of ten"
    return ""


_EXACT_POWERS = 22
"""So great a power of ten is a float."""

REFUSALS: dict[str, Callable[[Call], str]] = {
    "contains": _refuse_items,
    "to_float": _refuse_exponents,
    **dict.fromkeys(("extract_all", "replace_pattern", "count_matches"), _refuse_empty),
    **dict.fromkeys(("list_min", "list_max", "list_sort", "list_sort_by", "list_distinct"), _refuse_nested),
}
"""By name, what says why a call has no columnar form; "" where it has one. The table says more."""
