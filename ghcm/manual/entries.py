"""The entries of the manual: what the tables and the examples say of one name, as words that any page can lay out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache

from ghcm.aggregates import AGGREGATES, Rule
from ghcm.errors import suggest
from ghcm.functions import FAMILIES, Example, Function, Nulls
from ghcm.functions import OPERATORS as SYMBOLS
from ghcm.manual import aggregates
from ghcm.manual.aggregates import Aggregated
from ghcm.manual.forms import FORMS, Form
from ghcm.operators import OPERATORS, Argument, Operator, Pipeline, Role
from ghcm.support import Engine, Never, NotYet, Support, Yes


class Kind(Enum):
    """What a name is."""

    OPERATOR = "operator"
    AGGREGATE = "aggregate"
    FORM = "form"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is so: `nulls`: "a null argument gives null"."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Shown:
    """An example as it is shown: what is written, what goes in, and the lines that it gives."""

    text: str
    given: str
    gives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """What the manual says of one operator, aggregate or function. `names`: what programs write."""

    kind: Kind
    name: str
    names: tuple[str, ...]
    area: str
    signature: str
    meaning: str
    facts: tuple[Fact, ...]
    examples: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class Area:
    """Entries that belong together."""

    kind: Kind
    name: str
    entries: tuple[Entry, ...]


_ROLES = {Role.SOURCE: "sources and reads", Role.TRANSFORM: "transformations", Role.END: "ends"}


@cache
def areas() -> tuple[Area, ...]:
    """All of the manual in the order of its pages: operators by role, aggregates, forms, functions by family."""
    by_role = [
        Area(Kind.OPERATOR, name, tuple(_operator(each) for each in OPERATORS.values() if each.role is role))
        for role, name in _ROLES.items()
    ]
    aggregated = Area(Kind.AGGREGATE, "aggregates", tuple(map(_aggregate, AGGREGATES.values())))
    by_family = [
        Area(Kind.FUNCTION, family, tuple(_function(each, family) for each in table))
        for family, table in FAMILIES.items()
    ]
    forms = Area(Kind.FORM, "forms of expressions", tuple(map(_form, FORMS)))
    return (*by_role, aggregated, forms, *by_family)


def entries() -> Iterator[Entry]:
    """Every entry."""
    return (entry for area in areas() for entry in area.entries)


def find(name: str, first: Kind = Kind.OPERATOR) -> tuple[Entry, ...]:
    """What there is of that name, entries of the kind `first` before others: `join` is an operator and a function."""
    found = [entry for entry in entries() if name in (*entry.names, entry.name)]
    return tuple(sorted(found, key=lambda entry: entry.kind is not first))


def unknown(name: str, kind: Kind | None = None) -> str:
    """The name that was perhaps meant, of one kind where it is said, as a hint; empty where none is near."""
    return suggest(name, sorted({each for entry in entries() if kind in (None, entry.kind) for each in entry.names}))


def _operator(operator: Operator) -> Entry:
    bounded = ", bounded input only" if operator.needs_bounded else ""
    takes = " or ".join(shape.value for shape in operator.takes) or "nothing"
    facts = [
        Fact("takes", f"{takes}{bounded}"),
        Fact("gives", operator.gives),
        Fact("exchange", operator.exchange),
        Fact("state", "kept" if operator.stateful else "none"),
        Fact("dead letters", ", ".join(each.value for each in operator.failures) or "none"),
        *(Fact(engine.value, _support(operator.support(engine))) for engine in Engine),
    ]
    name, area, shown = operator.name, _ROLES[operator.role], tuple(map(_pipeline, operator.examples))
    signature = f"{name}({', '.join(map(_argument, operator.arguments))})"
    return Entry(Kind.OPERATOR, name, (name,), area, signature, operator.meaning, tuple(facts), shown)


def _argument(argument: Argument) -> str:
    kind = " | ".join((*argument.choices, *([] if argument.kind == "name" and argument.choices else [argument.kind])))
    text = f"{argument.name}: {kind}" if argument.positional else f"{argument.name} = {kind}"
    text += ", ..." if argument.repeated else ""
    return text if argument.required else f"[{text}]"


def _support(support: Support) -> str:
    match support:
        case Yes():
            return "yes"
        case NotYet(reason):
            return f"not yet: {reason}"
        case Never(reason):
            return f"no: {reason}"


def _pipeline(example: Pipeline) -> Shown:
    text = f"{example.declares}\n\n{example.text}" if example.declares else example.text
    files = [f"{path}:\n{content.rstrip()}" for path, content in example.files.items()]
    held = [f"{name} holds:\n" + "\n".join(rows) for name, rows in example.sinks.items()]
    return Shown(text, "\n".join([*files, *held]), example.gives)


def _aggregate(rule: Rule) -> Entry:
    facts = (
        Fact("argument", rule.takes[0].lower() + rule.takes[1:].removesuffix(".")),
        Fact("nulls", "are skipped"),
        Fact("of nothing", rule.nothing.value),
        Fact("state of bounded size", rule.merges or "no" if rule.merges is not True else "yes"),
        Fact("engines", "all, the same"),
    )
    name = rule.function.value
    shown = tuple(map(_aggregated, aggregates.EXAMPLES.get(rule.function, ())))
    return Entry(Kind.AGGREGATE, name, (name,), "aggregates", rule.signature, rule.meaning, facts, shown)


def _aggregated(example: Aggregated) -> Shown:
    return Shown(example.text, f"value: each of {example.values}", (example.gives,))


def _form(form: Form) -> Entry:
    facts = (Fact("in Python", form.python), Fact("engines", "all, the same"))
    shown = tuple(map(_expression, form.examples))
    return Entry(Kind.FORM, form.names[0], form.names, "forms of expressions", form.text, form.meaning, facts, shown)


def _function(function: Function, family: str) -> Entry:
    nulls = "a null argument gives null" if function.nulls is Nulls.PROPAGATE else "as the meaning says"
    constants = ", ".join(str(index + 1) for index in function.constants)
    facts = [
        Fact("nulls", nulls),
        Fact("fails with", ", ".join(each.value for each in function.failures) or "nothing"),
        *([Fact("constant arguments", constants)] if constants else ()),
        *(Fact(engine.value, _support(function.support(engine))) for engine in Engine),
    ]
    names, shown = _written(function), tuple(map(_expression, function.examples))
    said = (function.signature, function.says)
    return Entry(Kind.FUNCTION, function.name, names, family, *said, tuple(facts), shown)


_WORDS = {"is_null": ("is null",), "is_not_null": ("is not null",), "neg": ("-",)}
"""How programs write what is neither called nor an operator between two operands."""


def _written(function: Function) -> tuple[str, ...]:
    """What programs call it: `min` of `least`, `+` of `add`."""
    called = re.findall(r"(\w+)\(", function.signature)
    symbols = [symbol for symbol, name in SYMBOLS.items() if name == function.name]
    return tuple(dict.fromkeys([*called, *symbols, *_WORDS.get(function.name, ())])) or (function.name,)


def _expression(example: Example) -> Shown:
    reads = bool(re.search(r"\br\b(?!')", example.text))
    given = "r: {} = {}".format(*example.given) if reads else example.declares
    return Shown(example.text, given, (f"fails: {example.fails.value}" if example.fails else example.gives,))
