"""Expressions as Python: plain operators where nothing can go wrong, checked helpers where it can; lambdas over lists
as comprehensions.

An argument that may be null is tested first; arguments are evaluated from the left, all of them where one could fail,
so that a record fails here exactly when it fails in the reference.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import assert_never

from ghcm.codegen.expressions import can_fail
from ghcm.codegen.native.names import Names
from ghcm.codegen.native.rows.functions import HANDLED, ROW_FUNCTIONS, perhaps_null
from ghcm.codegen.native.rows.text import Binding, Code, Module, literal, tuple_text
from ghcm.codegen.native.texts import AND, ATOM, BITOR, COMPARE, IF, OR
from ghcm.expr import (
    Call,
    Each,
    Expr,
    ForEach,
    Get,
    If,
    Let,
    Literal,
    MakeList,
    MakeStruct,
    Param,
    Try,
    Var,
    bound_names,
    free_names,
    walk,
)
from ghcm.functions import FUNCTIONS, Nulls
from ghcm.types import Struct, is_nullable, strip


@dataclass
class RowScope:
    """The expressions of one generated function: its names, and the variables of lambdas that stand in it."""

    module: Module
    names: Names
    bindings: dict[str, Binding] = field(default_factory=dict[str, Binding])
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    shared: dict[str, Code] = field(default_factory=dict[str, Code])

    def share(self, *exprs: Expr) -> list[str]:
        """Lines that compute what the expressions hold more than once and what cannot fail, so that it is done once."""
        inner = bound_names(*exprs)
        parts = (part for expr in exprs for part in walk(expr))
        found = [part for part in parts if isinstance(part, Call) and not (can_fail(part) or free_names(part) & inner)]
        counted = Counter(map(repr, found))
        lines: list[str] = []
        for part in sorted(found, key=lambda part: len(repr(part))):
            if counted[repr(part)] > 1 and repr(part) not in self.shared and not _is_cheap(part):
                code = self.value(part)
                name = self.names.new(part.function)
                lines.append(f"{name} = {code.inner}")
                self.shared[repr(part)] = Code(name, simple=True)
        return lines

    def bind(self, variable: Var, binding: Binding) -> None:
        """Let a variable stand for something from here on."""
        self.bindings[variable.name] = binding
        self.shared.clear()

    def value(self, expr: Expr) -> Code:
        """The code of an expression."""
        match expr:
            case Literal(value=value, type=type_):
                return literal(value, type_)
            case Var(name=name):
                return self.bindings[name].whole()
            case Param(name=name):
                return Code(self.parameters.setdefault(name, self.names.new(name)), simple=True)
            case Get():
                return self._get(expr)
            case Call():
                return self._call(expr)
            case If(condition=condition, then=then, otherwise=otherwise):
                test = self.truth(condition)
                return Code(f"{self.value(then).at(OR)} if {test.at(OR)} else {self.value(otherwise).at(IF)}", IF)
            case MakeStruct(values=values):
                return Code(tuple_text([self.value(each).inner for each in values]))
            case MakeList(items=items):
                return Code(f"[{', '.join(self.value(each).inner for each in items)}]")
            case ForEach():
                return for_each(self, expr)
            case Let():
                return let(self, expr)
            case Try(body=body):
                return attempt(self, body)
            case _:
                assert_never(expr)

    def inside(self, variable: Var, code: Code, body: Expr) -> Code:
        """The code of an expression in which a name is bound."""
        before = self.bindings.get(variable.name)
        self.bindings[variable.name] = Binding(value=code)
        made = self.value(body)
        if before is None:
            del self.bindings[variable.name]
        else:
            self.bindings[variable.name] = before
        return made

    def opened(self, expr: Expr, lines: list[str]) -> Expr:
        """The body inside all `Let` that stand around it, whose values get variables by lines added here."""
        while isinstance(expr, Let):
            code = self.value(expr.value)
            name = self.names.new(expr.variable.name)
            lines.append(f"{name} = {code.inner}")
            self.bindings[expr.variable.name] = Binding(value=Code(name, simple=True))
            expr = expr.body
        return expr

    def truth(self, expr: Expr) -> Code:
        """Code that Python takes for true exactly where the expression is true."""
        if isinstance(expr, Call):
            match expr.function:
                case "or":
                    left, right = map(self.truth, expr.arguments)
                    return Code(f"{left.at(OR)} or {right.at(OR)}", OR)
                case "and" if not is_nullable(expr.arguments[0].type) or not can_fail(expr.arguments[1]):
                    left, right = map(self.truth, expr.arguments)
                    return Code(f"{left.at(AND)} and {right.at(AND)}", AND)
                case "not" if is_nullable(expr.arguments[0].type):
                    return Code(f"{self.value(expr.arguments[0]).at(BITOR)} is False", COMPARE)
                case _:
                    if (
                        is_nullable(expr.type)
                        and FUNCTIONS[expr.function].nulls is Nulls.PROPAGATE
                        and not can_fail(expr)
                    ):
                        return self._true_where_present(expr)
        return self.value(expr)

    def temporary(self, code: Code, wish: str = "t") -> tuple[str, str]:
        """Code that keeps the value and code that repeats it; the same where it is cheap to repeat."""
        if code.simple and not code.written and code.text != "None":  # `None[0]` warns unrun
            return code.text, code.text
        name = self.names.new(wish)
        return f"({name} := {code.inner})", name

    # --- parts -------------------------------------------------------------------------------------------------------

    def _get(self, expr: Get) -> Code:
        if isinstance(expr.of, Var):
            binding = self.bindings[expr.of.name]
            if binding.value is None:
                return binding.columns[expr.field]
        struct = strip(expr.of.type)
        assert isinstance(struct, Struct)
        index = struct.index(expr.field)
        of = self.value(expr.of)
        if of.inner == "None":
            return of
        if not is_nullable(expr.of.type):
            return Code(f"{of.at(ATOM)}[{index}]", simple=of.simple)
        first, again = self.temporary(of)
        return Code(f"None if {first} is None else {again}[{index}]", IF)

    def _call(self, expr: Call) -> Code:
        if self.shared and (shared := self.shared.get(repr(expr))):
            return shared
        if FUNCTIONS[expr.function].nulls is Nulls.HANDLED:
            return HANDLED[expr.function](self, expr)
        nullable = any(is_nullable(each.type) for each in expr.arguments)
        codes = [self.value(each) for each in expr.arguments]
        if _is_null(expr, codes):
            return Code("None", simple=True)
        if not nullable:
            return ROW_FUNCTIONS[expr.function](self, expr, codes)
        tests, known = self._tests(expr, codes)
        if not tests:
            return ROW_FUNCTIONS[expr.function](self, expr, known)
        inner = ROW_FUNCTIONS[expr.function](self, expr, known)
        return Code(f"None if {tests} else {inner.at(IF)}", IF)

    def _tests(self, expr: Call, codes: list[Code]) -> tuple[str, list[Code]]:
        """Whether any argument is null, all evaluated from the left; and the arguments as they are known behind that
        test.
        """
        partial = [can_fail(each) for each in expr.arguments]
        needed = [perhaps_null(each) or fails for each, fails in zip(expr.arguments, partial, strict=True)]
        every = True in needed and any(partial[needed.index(True) + 1 :])
        tests: list[str] = []
        known: list[Code] = []
        for code, need in zip(codes, needed, strict=True):
            if not need:
                known.append(code)
                continue
            first, again = self.temporary(code)
            tests.append(f"({first} is None)" if every else f"{first} is None")
            known.append(Code(again, simple=True))
        return (" | " if every else " or ").join(tests), known

    def _true_where_present(self, expr: Call) -> Code:
        tests: list[str] = []
        known: list[Code] = []
        codes = [self.value(each) for each in expr.arguments]
        if _is_null(expr, codes):
            return Code("False", simple=True)
        for each, code in zip(expr.arguments, codes, strict=True):
            if perhaps_null(each):
                first, again = self.temporary(code)
                tests.append(f"{first} is not None")
                known.append(Code(again, simple=True))
            else:
                known.append(code)
        inner = ROW_FUNCTIONS[expr.function](self, expr, known)
        return Code(" and ".join([*tests, inner.at(AND)]), AND)


def _is_cheap(call: Call) -> bool:
    """Whether computing it again costs less than a variable."""
    return call.function in (
        "is_null",
        "is_not_null",
        "known",
        "widen",
        "not",
        "and",
        "or",
        "coalesce",
        "to_micros",
        "from_micros",
    )


def _is_null(expr: Call, codes: list[Code]) -> bool:
    """Whether an argument is always null and none can fail: the result is null, and Python warns of `None[0]`."""
    return any(code.inner == "None" for code in codes) and not any(map(can_fail, expr.arguments))


# --- lambdas over lists, let and try ----------------------------------------------------------------------------------


def for_each(scope: RowScope, expr: ForEach) -> Code:
    """A comprehension; null of a null list."""
    items = scope.value(expr.list)
    if perhaps_null(expr.list):
        first, again = scope.temporary(items, "items")
        return Code(f"None if {first} is None else {_loop(scope, expr, again).at(IF)}", IF)
    if ":=" in items.text:  # Python keeps no value inside what a comprehension goes through
        first, again = scope.temporary(items, "items")
        return Code(f"({first}, {_loop(scope, expr, again).inner})[1]")
    return _loop(scope, expr, items.at(OR))


def _loop(scope: RowScope, expr: ForEach, items: str) -> Code:
    name = scope.names.new(expr.item.name)
    body = scope.inside(expr.item, Code(name, simple=True), expr.body)
    match expr.kind:
        case Each.MAP:
            return Code(f"[{body.inner} for {name} in {items}]")
        case Each.FILTER:
            return Code(f"[{name} for {name} in {items} if {body.at(OR)}]")
        case Each.ANY | Each.ALL:
            values = f"[{body.inner} for {name} in {items}]"
            plain = not is_nullable(expr.body.type)
            helper = expr.kind.value if plain else f"checked.{expr.kind.value}_of"
            return Code(f"{helper}({values})")
        case _:
            assert_never(expr.kind)


def let(scope: RowScope, expr: Let) -> Code:
    """The body beside a value that is kept under a name: the second of the two is the result."""
    value = scope.value(expr.value)
    name = scope.names.new(expr.variable.name)
    body = scope.inside(expr.variable, Code(name, simple=True), expr.body)
    return Code(f"(({name} := {value.inner}), {body.inner})[1]")


def attempt(scope: RowScope, body: Expr) -> Code:
    """The value, or None where it fails."""
    code = scope.value(body)
    return Code(f"checked.attempt(lambda: {code.inner})", ATOM) if can_fail(body) else code
