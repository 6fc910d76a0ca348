"""Expressions as Python: plain operators where nothing can go wrong, checked helpers where it can; lambdas over lists
as comprehensions.

An argument that may be null is tested first; arguments are evaluated from the left, all of them where one could fail,
so that a record fails here exactly when it fails in the reference.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import assert_never

from ghcm import expr
from ghcm.codegen.native.names import Names
from ghcm.codegen.native.rows.functions import HANDLED, ROW_FUNCTIONS, perhaps_null
from ghcm.codegen.native.rows.text import Binding, Code, literal, tuple_text
from ghcm.codegen.native.sections import Module
from ghcm.codegen.native.snippets import AND, ATOM, BITOR, COMPARE, IF, OR
from ghcm.expr import bound_names, folded_from, free_names, walk
from ghcm.failing import can_fail
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

    def share(self, *exprs: expr.Expr) -> list[str]:
        """Lines that compute what the expressions hold more than once and what cannot fail, so that it is done once.
        What counts on a test that something is not null stays behind the test.
        """
        inner = bound_names(*exprs)
        parts = (part for node in exprs for part in walk(node))
        found = [
            part
            for part in parts
            if isinstance(part, expr.Call) and not (can_fail(part) or _is_tested(part) or free_names(part) & inner)
        ]
        counted = Counter(map(repr, found))
        lines: list[str] = []
        for part in sorted(found, key=lambda part: len(repr(part))):
            if counted[repr(part)] > 1 and repr(part) not in self.shared and part.function not in _CHEAP:
                code = self.value(part)
                name = self.names.new(part.function)
                lines.append(f"{name} = {code.inner}")
                self.shared[repr(part)] = Code(name, simple=True)
        return lines

    def bind(self, variable: expr.Var, binding: Binding) -> None:
        """Let a variable stand for something from here on."""
        self.bindings[variable.name] = binding
        self.shared.clear()

    def value(self, node: expr.Expr) -> Code:
        """The code of an expression."""
        match node:
            case expr.Literal(value=value, type=type_):
                return literal(value, type_)
            case expr.Var(name=name):
                return self.bindings[name].whole()
            case expr.Param(name=name):
                return Code(self.parameters.setdefault(name, self.names.new(name)), simple=True)
            case expr.Get():
                return self._get(node)
            case expr.Call():
                return self._call(node)
            case expr.If(condition=condition, then=then, otherwise=otherwise):
                test = self.truth(condition)
                return Code(f"{self.value(then).at(OR)} if {test.at(OR)} else {self.value(otherwise).at(IF)}", IF)
            case expr.MakeStruct(values=values):
                return Code(tuple_text([self.value(each).inner for each in values]))
            case expr.MakeList(items=items):
                return Code(f"[{', '.join(self.value(each).inner for each in items)}]")
            case expr.ForEach():
                return for_each(self, node)
            case expr.Let():
                return let(self, node)
            case expr.Try(body=body):
                return attempt(self, body)
            case _:
                assert_never(node)

    def inside(self, variable: expr.Var, code: Code, body: expr.Expr) -> Code:
        """The code of an expression in which a name is bound."""
        before = self.bindings.get(variable.name)
        self.bindings[variable.name] = Binding(value=code)
        made = self.value(body)
        if before is None:
            del self.bindings[variable.name]
        else:
            self.bindings[variable.name] = before
        return made

    def opened(self, node: expr.Expr, lines: list[str]) -> expr.Expr:
        """The body inside all `Let` that stand around it, whose values get variables by lines added here."""
        while isinstance(node, expr.Let):
            code = self.value(node.value)
            name = self.names.new(node.variable.name)
            lines.append(f"{name} = {code.inner}")
            self.bindings[node.variable.name] = Binding(value=Code(name, simple=True))
            node = node.body
        return node

    def truth(self, node: expr.Expr) -> Code:
        """Code that Python takes for true exactly where the expression is true."""
        if isinstance(node, expr.Call):
            match node.function:
                case "or":
                    left, right = map(self.truth, node.arguments)
                    return Code(f"{left.at(OR)} or {right.at(OR)}", OR)
                case "and" if not is_nullable(node.arguments[0].type) or not can_fail(node.arguments[1]):
                    left, right = map(self.truth, node.arguments)
                    return Code(f"{left.at(AND)} and {right.at(AND)}", AND)
                case "not" if is_nullable(node.arguments[0].type):
                    return Code(f"{self.value(node.arguments[0]).at(BITOR)} is False", COMPARE)
                case _:
                    if (
                        is_nullable(node.type)
                        and FUNCTIONS[node.function].nulls is Nulls.PROPAGATE
                        and not can_fail(node)
                    ):
                        return self._true_where_present(node)
        return self.value(node)

    def temporary(self, code: Code, wish: str = "t") -> tuple[str, str]:
        """Code that keeps the value and code that repeats it; the same where it is cheap to repeat."""
        if code.simple and not code.written and code.text != "None":  # `None[0]` warns unrun
            return code.text, code.text
        name = self.names.new(wish)
        return f"({name} := {code.inner})", name

    # --- parts -------------------------------------------------------------------------------------------------------

    def _get(self, node: expr.Get) -> Code:
        if isinstance(node.of, expr.Var):
            binding = self.bindings[node.of.name]
            if binding.value is None:
                return binding.columns[node.field]
        struct = strip(node.of.type)
        assert isinstance(struct, Struct)
        index = struct.index(node.field)
        of = self.value(node.of)
        if of.inner == "None":
            return of
        if not is_nullable(node.of.type):
            return Code(f"{of.at(ATOM)}[{index}]", simple=of.simple)
        first, again = self.temporary(of)
        return Code(f"None if {first} is None else {again}[{index}]", IF)

    def _call(self, node: expr.Call) -> Code:
        if self.shared and (shared := self.shared.get(repr(node))):
            return shared
        if FUNCTIONS[node.function].nulls is Nulls.HANDLED:
            return HANDLED[node.function](self, node)
        nullable = any(is_nullable(each.type) for each in node.arguments)
        codes = [self.value(each) for each in node.arguments]
        if _is_null(node, codes):
            return Code("None", simple=True)
        tests, known = self._tests(node, codes) if nullable else ("", codes)
        inner = ROW_FUNCTIONS[node.function](self, node, known)
        return Code(f"None if {tests} else {inner.at(IF)}", IF) if tests else inner

    def _tests(self, node: expr.Call, codes: list[Code]) -> tuple[str, list[Code]]:
        """Whether any argument is null, all evaluated from the left; and the arguments as they are known behind that
        test.
        """
        partial = [can_fail(each) for each in node.arguments]
        needed = [perhaps_null(each) or fails for each, fails in zip(node.arguments, partial, strict=True)]
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

    def _true_where_present(self, node: expr.Call) -> Code:
        tests: list[str] = []
        known: list[Code] = []
        codes = [self.value(each) for each in node.arguments]
        if _is_null(node, codes):
            return Code("False", simple=True)
        for each, code in zip(node.arguments, codes, strict=True):
            if perhaps_null(each):
                first, again = self.temporary(code)
                tests.append(f"{first} is not None")
                known.append(Code(again, simple=True))
            else:
                known.append(code)
        inner = ROW_FUNCTIONS[node.function](self, node, known)
        return Code(" and ".join([*tests, inner.at(AND)]), AND)


def _is_tested(part: expr.Expr) -> bool:
    return any(isinstance(each, expr.Call) and each.function == "known" for each in walk(part))


_CHEAP = {"is_null", "is_not_null", "known", "widen", "not", "and", "or", "coalesce", "to_micros", "from_micros"}
"""Functions that cost less than a variable."""


def _is_null(node: expr.Call, codes: list[Code]) -> bool:
    """Whether an argument is always null and none can fail: the result is null, and Python warns of `None[0]`."""
    return any(code.inner == "None" for code in codes) and not any(map(can_fail, node.arguments))


# --- lambdas over lists, let and try ----------------------------------------------------------------------------------


def for_each(scope: RowScope, node: expr.ForEach) -> Code:
    """A comprehension; null of a null list."""
    if node.kind is expr.Each.FOLD:
        return _fold(scope, node)
    items = scope.value(node.list)
    if perhaps_null(node.list):
        first, again = scope.temporary(items, "items")
        return Code(f"None if {first} is None else {_loop(scope, node, again).at(IF)}", IF)
    if ":=" in items.text:  # Python keeps no value inside what a comprehension goes through
        first, again = scope.temporary(items, "items")
        return Code(f"({first}, {_loop(scope, node, again).inner})[1]")
    return _loop(scope, node, items.at(OR))


def _fold(scope: RowScope, node: expr.ForEach) -> Code:
    """A function of the value so far and an item, called for each item."""
    first, items = map(scope.value, folded_from(node))
    name = scope.names.new(node.item.name)
    body = scope.inside(node.item, Code(name, simple=True), node.body)
    return Code(f"checked.folded(lambda {name}: {body.inner}, {first.inner}, {items.inner})", ATOM)


def _loop(scope: RowScope, node: expr.ForEach, items: str) -> Code:
    name = scope.names.new(node.item.name)
    body = scope.inside(node.item, Code(name, simple=True), node.body)
    match node.kind:
        case expr.Each.MAP:
            return Code(f"[{body.inner} for {name} in {items}]")
        case expr.Each.FILTER:
            return Code(f"[{name} for {name} in {items} if {body.at(OR)}]")
        case expr.Each.ANY | expr.Each.ALL:
            values = f"[{body.inner} for {name} in {items}]"
            plain = not is_nullable(node.body.type)
            helper = node.kind.value if plain else f"checked.{node.kind.value}_of"
            return Code(f"{helper}({values})")
        case expr.Each.FOLD:
            raise AssertionError("a fold is no comprehension")
        case _:
            assert_never(node.kind)


def let(scope: RowScope, node: expr.Let) -> Code:
    """The body beside a value that is kept under a name: the second of the two is the result."""
    value = scope.value(node.value)
    name = scope.names.new(node.variable.name)
    body = scope.inside(node.variable, Code(name, simple=True), node.body)
    return Code(f"(({name} := {value.inner}), {body.inner})[1]")


def attempt(scope: RowScope, body: expr.Expr) -> Code:
    """The value, or None where it fails."""
    code = scope.value(body)
    return Code(f"checked.attempt(lambda: {code.inner})", ATOM) if can_fail(body) else code
