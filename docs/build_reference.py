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
    parts.append("\n## Functions of expressions\n")
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
