"""What to write instead of the Python that no stand-in can see: `and`, `or`, `not`, `if`, `in`, chains, built-ins."""

from __future__ import annotations

import ast as python

from ghcm.language.fluent.places import span_of_node
from ghcm.source import Span

WHY = "It is called once, with stand-ins for its values; what Python decides by itself is not seen."

_ANYTHING = (
    '"and", "or", "not" and "if" cannot be traced',
    "write &, | and ~, if_else(c, a, b) for a choice, .is_null() for a null test",
)
_BUILT_IN = {
    "max": "write fn.max(a, b)",
    "min": "write fn.min(a, b)",
    "any": "write a | b",
    "all": "write a & b",
    "bool": "write the condition itself",
    "filter": "write .filter(...)",
    "sorted": "write .sort(...)",
}


def decided(span: Span) -> tuple[str, str]:
    """Message and hint for a place where Python asked whether a value is true."""
    try:
        node = python.parse(span.source.text[span.start : span.end].strip(), mode="eval").body
    except SyntaxError:
        return _ANYTHING
    match node:
        case python.BoolOp(op=python.And()):
            return '"and" cannot be traced', "write (a) & (b), with parentheses around comparisons"
        case python.BoolOp():
            return '"or" cannot be traced', "write (a) | (b), with parentheses around comparisons"
        case python.UnaryOp(op=python.Not()):
            return '"not" cannot be traced', "write ~(a)"
        case python.IfExp():
            return '"if" cannot be traced', "write if_else(condition, yes, no)"
        case python.Compare(ops=[python.In() | python.NotIn()]):
            return (
                '"in" cannot be traced',
                "write xs.contains(x), m.has_key(k), or fn.contains([...], x)",
            )
        case python.Compare(ops=[_, _, *_]):
            return "comparisons cannot be chained", "write (a < b) & (b < c)"
        case python.Call(func=python.Name(id=name)):
            return f'"{name}" cannot be traced', _BUILT_IN.get(
                name, 'call a Python function: .python("module:function")'
            )
        case _:
            return _of_choice(span)


def _of_choice(span: Span) -> tuple[str, str]:
    """The same where the whole condition of an `if` stands."""
    try:
        tree = python.parse(span.source.text)
    except SyntaxError:
        return _ANYTHING
    for node in python.walk(tree):
        if isinstance(node, python.IfExp | python.If) and span_of_node(span.source, node.test) == span:
            return '"if" cannot be traced', "write if_else(condition, yes, no)"
    return _ANYTHING


_LOOP = (
    "a loop over a value cannot be traced",
    "write xs.map(lambda x: ...) for the items of a list, or .filter, .any, .all",
)
_METHODS = {
    **{name: f"write xs.{name}()" for name in ("sum", "min", "max")},
    **{name: f"write xs.{name}(lambda x: ...)" for name in ("map", "filter", "any", "all")},
    "sorted": "write xs.sort()",
    "set": "write xs.distinct()",
    "len": "write xs.length()",
}


def iterated(span: Span) -> tuple[str, str]:
    """Message and hint for a place where Python went through the items of a value."""
    try:
        node = python.parse(span.source.text[span.start : span.end].strip(), mode="eval").body
    except SyntaxError:
        return _LOOP
    match node:
        case python.Call(func=python.Name(id=name)):
            return f'"{name}" of Python cannot be traced', _METHODS.get(name, _LOOP[1])
        case python.Compare(ops=[python.In() | python.NotIn()]):
            return '"in" cannot be traced', "write xs.contains(x)"
        case _:
            return _LOOP
