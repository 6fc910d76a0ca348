"""Writes docs/reference.md from the tables of operators and functions, so that the page cannot say anything else than
the checker does.

Run `python docs/build_reference.py` after changing a table; a test compares the page with the tables.
"""

from __future__ import annotations

from pathlib import Path

from ghcm.aggregates import AGGREGATES, Rule
from ghcm.functions import FAMILIES, Function, Nulls
from ghcm.operators import OPERATORS, Argument, Engine, Never, NotYet, Operator, Role, Yes

__all__ = ["PAGE", "reference"]

PAGE = Path(__file__).parent / "reference.md"

_HEAD = """# Reference: operators and functions

Made from `ghcm/operators.py`, `ghcm/aggregates.py` and `ghcm/functions/` by `docs/build_reference.py`; do not edit.

Kinds of argument: *lambda1* and *lambda2* are `x => ...` and `(a, b) => ...`; *duration* is `500ms`, `10s`, `5m`,
`2h`, `1d`.
An argument in brackets may be left out; one with `=` is given by name.
"""

_FORMS: tuple[tuple[str, str, str], ...] = (
    (
        "`xs.map(x => x * r.n)`",
        "`r.xs.map(lambda x: x * r.n)`",
        "the list of the values; a null list gives null, here and below",
    ),
    (
        "`xs.filter(x => x > 0)`",
        "`r.xs.filter(lambda x: x > 0)`",
        "the items for which it is true",
    ),
    (
        "`xs.any(x => x > 0)`, `xs.all(x => x > 0)`",
        "`r.xs.any(lambda x: x > 0)`",
        "`or`, `and` of the values, null as there",
    ),
    (
        "`let x = a + b in x * x`",
        "`x = r.a + r.b` in a `def`",
        "a value that is computed once",
    ),
    (
        "`match x { 0 or 1 => a, 3..9 => b, null => c, _ => d }`",
        "`match_(x, {(0, 1): a, between(3, 9): b, None: c}, otherwise=d)`",
        "the case that fits; both ends are in a range",
    ),
    (
        "`if a then b else c`",
        "`if_else(a, b, c)`",
        "one of two values",
    ),
    (
        "`try(to_int(x))`",
        "`try_(x.to_int())`",
        "the value, null where it would fail",
    ),
    (
        "`x is null`, `x is not null`, `x ?? y`",
        "`x.is_null()`, `x.is_not_null()`, `coalesce(x, y)`",
        "tests for null, and another value for it",
    ),
    (
        "`r with { bytes: 0 }`",
        "`r.with_(bytes=0)`",
        "the record with other values in some fields",
    ),
    (
        "`r.only(ts, src)`, `r.without(label)`",
        '`r.only("ts", "src")`',
        "a record of some of its fields",
    ),
    (
        '`"a" + to_string(x)`',
        '`f"a{x}"`',
        "a text; null where x is",
    ),
    (
        "`function half(x: int?) : int? = x // 2`",
        "`@program.function` above a typed `def`",
        "a function: `half(x)` or `x.half()`; it cannot call itself",
    ),
)
"""Text, Python, meaning."""

_OF_LISTS = "The function of a list is evaluated for every item: a record fails where it fails for any of them.\n"

_COLUMNS = "| written | meaning | nulls | fails with | columnar form |\n|---|---|---|---|---|"


def reference() -> str:
    """The whole page as Markdown."""
    roles = {Role.SOURCE: "Sources and reads", Role.TRANSFORM: "Transformations", Role.END: "Ends"}
    parts = [_HEAD]
    for role, title in roles.items():
        parts.append(f"## {title}\n")
        parts += [_operator(each) for each in OPERATORS.values() if each.role is role]
    parts.append("## Aggregates\n\nOf `aggregate_by_key` and of the arguments of a published call. All skip nulls.\n")
    parts.append("| written | meaning | of nothing | state of bounded size |\n|---|---|---|---|")
    parts += [_aggregate(each) for each in AGGREGATES.values()]
    parts.append("\n## Forms of expressions\n\n| text | Python | meaning |\n|---|---|---|")
    parts += [f"| {' | '.join(form)} |" for form in _FORMS]
    parts.append(f"\n{_OF_LISTS}")
    parts.append("## Functions of expressions\n")
    parts.append(
        "Every engine has every function; one without a columnar form is run by the native engine row by row.\n"
    )
    for family, table in FAMILIES.items():
        parts.append(f"### {family.capitalize()}\n\n{_COLUMNS}")
        parts += [*map(_function, table), ""]
    return "\n".join(parts) + "\n"


def _operator(operator: Operator) -> str:
    arguments = ", ".join(map(_argument, operator.arguments))
    takes = " or ".join(shape.value for shape in operator.takes) or "nothing"
    lines = [
        f"### `{operator.name}({arguments})`\n",
        f"{operator.meaning[0].upper()}{operator.meaning[1:]}.\n",
        f"* takes: {takes}{', bounded input only' if operator.needs_bounded else ''}",
        f"* gives: {operator.gives}",
        f"* exchange: {operator.exchange}; {'keeps state' if operator.stateful else 'keeps no state'}",
    ]
    if operator.failures:
        lines.append(f"* dead letters: {', '.join(failure.value for failure in operator.failures)}")
    lines.append(f"* engines: {'; '.join(_support(operator, engine) for engine in Engine)}\n")
    return "\n".join(lines)


def _argument(argument: Argument) -> str:
    kind = " | ".join(argument.choices) or argument.kind
    text = f"{argument.name}: {kind}" if argument.positional else f"{argument.name} = {kind}"
    text += ", ..." if argument.repeated else ""
    return text if argument.required else f"[{text}]"


def _support(operator: Operator, engine: Engine) -> str:
    match operator.support(engine):
        case Yes():
            return f"{engine.value}: yes"
        case NotYet(reason):
            return f"{engine.value}: not yet ({reason})"
        case Never(reason):
            return f"{engine.value}: never ({reason})"


def _function(function: Function) -> str:
    nulls = "a null argument gives null" if function.nulls is Nulls.PROPAGATE else "as said"
    failures = ", ".join(failure.value for failure in function.failures) or "nothing"
    columnar = f"no: {function.columnar.reason}" if isinstance(function.columnar, Never) else "yes"
    return f"| `{function.signature}` | {function.meaning} | {nulls} | {failures} | {columnar} |"


def _aggregate(rule: Rule) -> str:
    return f"| `{rule.signature}` | {rule.meaning} | {rule.nothing.value} | {'yes' if rule.merges else 'no'} |"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
