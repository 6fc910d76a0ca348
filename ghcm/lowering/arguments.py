"""The arguments of an operator or connector, matched with what its table asks for.

Everything that the table knows is checked here: names, number, kinds, choices. What a lambda may say is its operator's
matter.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from ghcm.codes import Code
from ghcm.errors import Reported, suggest
from ghcm.language import ast
from ghcm.lowering.context import Context
from ghcm.operators import Argument
from ghcm.source import Span
from ghcm.types import Bool, Duration, Int, String

_LITERALS = {
    "duration": "a duration such as 10s",
    "int": "a whole number",
    "float": "a number",
    "string": "a string",
    "name": "a name",
}
_WRITTEN_OUT = "It is written out: the unit is planned before a call says what its parameters are."


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of one call by name; `rest` are those of a repeated argument, in order."""

    context: Context
    owner: str
    declared: tuple[Argument, ...]
    values: Mapping[str, ast.Argument]
    rest: tuple[ast.Argument, ...]
    dropped: bool = False
    """Whether an argument was reported and left out, so that what it was for is no second mistake."""

    def expr(self, name: str) -> ast.Expr | None:
        """The argument as written, or None where it is not given."""
        argument = self.values.get(name)
        return None if argument is None else argument.value

    def required(self, name: str) -> ast.Expr:
        """The argument as written; Reported where it is not given."""
        written = self.expr(name)
        if written is None:
            raise Reported
        return written

    def span(self, name: str) -> Span | None:
        """Where the argument's value stands."""
        argument = self.values.get(name)
        return None if argument is None else argument.value.span

    def duration(self, name: str, *, least: int = 0) -> int | None:
        """A constant duration in microseconds, `least` at least; None where it is missing or was reported."""
        match self.expr(name):
            case ast.Literal(value=int(value), type=Duration()) if value >= least:
                return value
            case ast.Literal(value=int(), type=Duration()):
                self._report(Code.OUT_OF_RANGE, name, "is too short")
            case ast.Ref():
                self.wrong(name, "a duration such as 10s", hint=_WRITTEN_OUT)
            case _:  # whatever else is written is none; where nothing is, nothing is wrong
                self.wrong(name, "a duration such as 10s")
        return None

    def integer(self, name: str, default: int | None = None, *, least: int = 0) -> int | None:
        """A constant whole number, `least` at least; the default where it is missing or was reported."""
        match self.expr(name):
            case ast.Literal(value=int(value), type=Int()) if value >= least:
                return value
            case ast.Literal(type=Int()) | ast.Unary(op="-", operand=ast.Literal(type=Int())):
                self._report(Code.OUT_OF_RANGE, name, f"is less than {least}")
            case ast.Ref():
                self.wrong(name, "a whole number", hint=_WRITTEN_OUT)
            case _:  # as above
                self.wrong(name, "a whole number")
        return default

    def number(self, name: str) -> float | None:
        """A constant number that is not negative; None where it is missing or was reported."""
        match self.expr(name):
            case ast.Literal(value=int() | float() as value, type=type_) if not isinstance(type_, Bool | Duration):
                return float(value)
            case _:  # as above
                self.wrong(name, "a number that is not negative")
                return None

    def string(self, name: str) -> str | None:
        """A constant string; None where it is missing or was reported."""
        match self.expr(name):
            case ast.Literal(value=str(value), type=String()):
                return value
            case _:  # as above
                self.wrong(name, "a string")
                return None

    def topic(self, name: str) -> str | None:
        """A constant name of a topic of Kafka; None where it is missing or was reported."""
        found = self.string(name)
        if found is None or re.fullmatch(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}", found):
            return found
        self.wrong(name, 'the name of a topic: at most 249 letters, digits, ".", "_" and "-"')
        return None

    def flag(self, name: str, default: bool = False) -> bool:
        """`true` or `false`; the default where it is missing or was reported."""
        match self.expr(name):
            case ast.Literal(value=bool(value)):
                return value
            case _:  # as above
                self.wrong(name, "true or false")
                return default

    def choice(self, name: str, default: str) -> str:
        """One of the names that the table lists; the default where it is missing or was reported."""
        choices = next((each.choices for each in self.declared if each.name == name), ())
        match self.expr(name):
            case None:
                return default
            case ast.Ref(name=value) if value in choices:
                return value
            case found:  # any other expression is none
                quoted = found.value if isinstance(found, ast.Literal) and isinstance(found.value, str) else ""
                said = found.name if isinstance(found, ast.Ref) else quoted
                message = f'"{name}" of "{self.owner}" is one of {", ".join(choices)}'
                hint = f"Write {name} = {quoted}, without quotes." if quoted in choices else suggest(said, choices)
                self.context.report(Code.ARGUMENT_KIND, message, found.span, hint=hint)
                return quoted if quoted in choices else default

    def wrong(self, name: str, wanted: str, *, hint: str = "") -> Reported:
        """Report an argument that is there and is of another kind."""
        return self._report(Code.ARGUMENT_KIND, name, f"is {wanted}", hint) if name in self.values else Reported()

    def _report(self, code: Code, name: str, problem: str, hint: str = "") -> Reported:
        return self.context.report(code, f'"{name}" of "{self.owner}" {problem}', self.span(name), hint=hint)


def match_arguments(owner: str, declared: tuple[Argument, ...], written: ast.Apply, context: Context) -> Given:
    """The arguments by name; Reported where one that is required is missing. Superfluous ones are reported and left
    out."""
    positional = [argument for argument in declared if argument.positional and not argument.repeated]
    repeated = next((argument for argument in declared if argument.repeated), None)
    values: dict[str, ast.Argument] = {}
    rest: list[ast.Argument] = []
    options = {argument.name for argument in declared if not argument.repeated}
    superfluous: list[str] = []
    for argument in written.arguments:
        if argument.name is None and positional:
            free = positional.pop(0)
            values[free.name] = argument
        elif repeated is not None and (
            argument.name is None or (repeated.kind == "aggregate" and argument.name not in options)
        ):
            rest.append(argument)
        elif argument.name is None:
            _too_many(owner, declared, argument, context)
            superfluous.append("")
        elif argument.name in values:
            message = f'"{owner}" is given "{argument.name}" twice'
            context.report(Code.ARGUMENT_UNKNOWN, message, argument.span or argument.value.span)
        elif argument.name in options:
            values[argument.name] = argument
            positional = [each for each in positional if each.name != argument.name]
        else:
            _unknown(owner, declared, argument, context)
            superfluous.append(argument.name)
    missing = [each for each in declared if each.required and not each.repeated and each.name not in values]
    for lacking in missing:
        if lacking.name in misspelt(superfluous, [each.name for each in missing]):
            continue
        what = _LITERALS.get(lacking.kind, "")
        message = f'"{owner}" lacks its argument "{lacking.name}"'
        context.report(Code.ARGUMENT_MISSING, message, written.span, detail=f"It is {what}." if what else "")
    if repeated is not None and repeated.required and not rest:
        raise context.report(Code.ARGUMENT_MISSING, f'"{owner}" is given nothing to work on', written.span)
    if missing:
        raise Reported
    return Given(context, owner, declared, values, tuple(rest), bool(superfluous))


def misspelt(written: list[str], missing: list[str]) -> set[str]:
    """Which of the missing names were written, but wrongly: they were reported where they stand."""
    return {close for name in written for close in get_close_matches(name, missing, n=1)}


_INSTEAD = {"distinct": "It is of whole records; key_by(x).present(1d) leaves the first of those of one x."}
"""What to write where an operator is given more than it takes, as other systems have it."""


def _too_many(owner: str, declared: tuple[Argument, ...], argument: ast.Argument, context: Context) -> None:
    named = [each.name for each in declared if not each.positional]
    hint = f"By name it takes {', '.join(named)}." if named else ""
    hint = _INSTEAD.get(owner, hint)
    count = sum(each.positional for each in declared)
    takes = f"{count} argument{'s' if count != 1 else ''}" if count else "no arguments"
    without = " without a name" if named else ""
    message = f'"{owner}" takes {takes}{without}'
    context.report(Code.ARGUMENT_UNKNOWN, message, argument.span or argument.value.span, hint=hint)


def _unknown(owner: str, declared: tuple[Argument, ...], argument: ast.Argument, context: Context) -> None:
    names = [each.name for each in declared if not each.repeated]
    message = f'"{owner}" has no argument "{argument.name}"'
    detail = f"It takes {', '.join(names)}." if names else "It takes none."
    hint = suggest(argument.name or "", names)
    context.report(Code.ARGUMENT_UNKNOWN, message, argument.span or argument.value.span, detail=detail, hint=hint)
