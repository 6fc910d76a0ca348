"""Python's own words: those that mean the same in the language, and those that are refused with what to write instead.

Methods of `str`, `bytes`, `datetime` and `timedelta` are functions of the language only where they mean the same:
`strip()` without characters cuts Unicode's white space, `split()` too, and they stay refused. No stand-in can see
`and`, `or`, `not`, `if`, `in`, `is`, chains of comparisons, loops and most built-in functions.
"""

import ast as python
import builtins
import dis
import inspect
import random
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import date, datetime
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ghcm.language.fluent.positions import mistake, of_code, source_of, span_at, span_of_node
from ghcm.source import Span

WHY = "It is called once, with stand-ins for its values; what Python decides by itself is not seen."

_ANYTHING = (
    '"and", "or", "not" and "if" cannot be traced',
    "write &, | and ~, if_else(c, a, b) for a choice, .is_null() for a null test",
)
_ASKED = {
    "max": "write fn.max(a, b)",
    "min": "write fn.min(a, b)",
    "any": "write a | b",
    "all": "write a & b",
    "bool": "write the condition itself",
    "filter": "write .filter(...)",
    "sorted": "write .sort(...)",
}


def decided(span: Span) -> tuple[str, str]:
    """Message and hint for where Python asked whether a value is true."""
    match _written(span):
        case None:
            return _ANYTHING
        case python.BoolOp(op=python.And()):
            return '"and" cannot be traced', "write (a) & (b), with parentheses around comparisons"
        case python.BoolOp():
            return '"or" cannot be traced', "write (a) | (b), with parentheses around comparisons"
        case python.UnaryOp(op=python.Not()):
            return '"not" cannot be traced', "write ~(a)"
        case python.IfExp():
            return '"if" cannot be traced', "write if_else(condition, yes, no)"
        case python.Compare(ops=[python.In() | python.NotIn()]):
            return '"in" cannot be traced', "write xs.contains(x), m.has_key(k), or fn.contains([...], x)"
        case python.Compare(ops=[_, _, *_]):
            return "comparisons cannot be chained", "write (a < b) & (b < c)"
        case python.Call(func=python.Name(id=name)):
            return f'"{name}" cannot be traced', _ASKED.get(name, 'call a Python function: .python("module:function")')
        case _:  # whatever else Python asks whether it is true
            return _of_choice(span)


def _written(span: Span) -> python.expr | None:
    """What the user wrote there; None where it is no expression alone."""
    try:
        return python.parse(span.source.text[span.start : span.end].strip(), mode="eval").body
    except SyntaxError:
        return None


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
_LOOPED = {
    **{name: f"write xs.{name}()" for name in ("sum", "min", "max")},
    **{name: f"write xs.{name}(lambda x: ...)" for name in ("map", "filter", "any", "all")},
    "sorted": "write xs.sort()",
    "set": "write xs.distinct()",
    "len": "write xs.length()",
}


def iterated(span: Span) -> tuple[str, str]:
    """Message and hint for where Python went through the items of a value."""
    match _written(span):
        case python.Call(func=python.Name(id=name)):
            return f'"{name}" of Python cannot be traced', _LOOPED.get(name, _LOOP[1])
        case python.Compare(ops=[python.In() | python.NotIn()]):
            return '"in" cannot be traced', "write xs.contains(x)"
        case _:  # whatever else Python goes through
            return _LOOP


_BUILT_IN = {
    "sum": "lambda a, b: a + b",
    "min": "lambda a, b: fn.min(a, b)",
    "max": "lambda a, b: fn.max(a, b)",
    "len": "lambda x: x.length()",
}


def parameters_of_lambda(function: Callable[..., object], span: Span) -> list[str]:
    """The names of the parameters without a default; one with a default is Python's way to keep a constant."""
    if inspect.isbuiltin(function) and function.__name__ in _BUILT_IN:
        hint = f"write {_BUILT_IN[function.__name__]}"
        raise mistake("GHCM-131", f'"{function.__name__}" of Python cannot be traced', span, hint=hint)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise mistake("GHCM-131", "this function cannot be traced", span, hint="write lambda x: ...") from None
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(each.kind in variable and each.default is inspect.Parameter.empty for each in parameters):
        raise mistake("GHCM-131", "a lambda takes plain parameters only", span, hint="write lambda a, b: ...")
    return [each.name for each in parameters if each.default is inspect.Parameter.empty]


_OF_OBJECTS = {
    "isinstance": "the types of fields are known; is_(x, Login) asks which record of a union x is",
    "type": "the types of fields are known",
    "hash": "write x.crc32() or x.md5()",
    "id": "",
}
"""Functions of Python that look at an object and not at its value."""


_CLOCKS = (datetime.now, datetime.today, date.today, time.time, time.time_ns, time.monotonic)
_CHANCES = (random.random, random.randint, random.choice, random.uniform, uuid.uuid1, uuid.uuid4)
_ONCE = "It is asked once, when the program is read, and every record would get the same answer."


def _refuse_asked_once(code: CodeType, names: Mapping[str, object]) -> None:
    """Refuse clocks and chance, whose answer would be a constant of the program. `names` are the globals."""
    found: object = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            found = names.get(str(instruction.argval))
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(found, type | ModuleType):
            found = getattr(found, str(instruction.argval), None)
        else:
            found = None
        clock = found in _CLOCKS or instruction.argval == "utcnow"
        if clock or found in _CHANCES:
            message = f'"{instruction.argval}" looks at a clock' if clock else f'"{instruction.argval}" draws lots'
            hint = "give the moment as a parameter of the unit, or compare with the event time of the record"
            hint = hint if clock else "sample(0.1) takes a part of the records"
            raise mistake("GHCM-131", message, _position(code, instruction), detail=_ONCE, hint=hint)


def refuse_object_checks(code: CodeType | None, names: Mapping[str, object]) -> None:
    """Refuse `is` and the like, which no object can intercept: traced, they would always say the same. `names` are the
    globals, which may have a function of the user's own under such a name."""
    if code is None:
        return
    _refuse_asked_once(code, names)
    for instruction in dis.get_instructions(code):
        called = instruction.argval if instruction.opname == "LOAD_GLOBAL" else None
        if called in _OF_OBJECTS and called not in names:
            message = f'"{called}" of Python cannot be traced'
            detail = "It looks at the stand-in for a value, so that the answer would always be the same."
            raise mistake("GHCM-131", message, _position(code, instruction), detail=detail, hint=_OF_OBJECTS[called])
        if instruction.opname == "IS_OP" or instruction.opname.endswith(("_IF_NONE", "_IF_NOT_NONE")):
            at, hint = _position(code, instruction), "write x.is_null() or x.is_not_null()"
            detail = "Python compares stand-ins, so that the answer would always be the same."
            raise mistake("GHCM-130", '"is" cannot be traced', at, detail=detail, hint=hint)


def _position(code: CodeType, instruction: dis.Instruction) -> Span:
    where = instruction.positions
    return (span_at(source_of(code.co_filename), where) if where else None) or of_code(code)


METHODS: dict[str, tuple[str, int, tuple[object, ...]]] = {
    "startswith": ("starts_with", 1, ()),
    "endswith": ("ends_with", 1, ()),
    "removeprefix": ("remove_prefix", 1, ()),
    "removesuffix": ("remove_suffix", 1, ()),
    "find": ("index_of", 1, ()),
    "rfind": ("last_index_of", 1, ()),
    "count": ("count_of", 1, ()),
    "strip": ("trim", 1, ()),
    "lstrip": ("trim_start", 1, ()),
    "rstrip": ("trim_end", 1, ()),
    "rjust": ("pad_start", 1, (" ",)),
    "ljust": ("pad_end", 1, (" ",)),
    "encode": ("to_bytes", 0, ()),
    "decode": ("from_bytes", 0, ()),
    "hex": ("to_hex", 0, ()),
    "strftime": ("format_time", 1, ()),
    "isoweekday": ("day_of_week", 0, ()),
    "date": ("to_date", 0, ()),
    "timestamp": ("to_seconds", 0, ()),
    "total_seconds": ("to_seconds", 0, ()),
}
"""From a method of Python to the function, how many arguments it takes here, and what is added to them."""


def with_words(function: Callable[..., object], length: Callable[[Any], object]) -> Callable[..., object]:
    """The same function, in which `len` can see values of the program; what it calls keeps its own."""
    code = getattr(function, "__code__", None)
    if not isinstance(function, FunctionType) or code is None or "len" not in code.co_names:
        return function
    if "len" in function.__globals__ and function.__globals__["len"] is not builtins.len:
        return function
    names = {**function.__globals__, "len": length}
    made = FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def python_function(function: object, span: Span) -> tuple[str, object]:
    """The name `module:function`, and its annotated result; ProgramError where nothing could find it."""
    if isinstance(function, str):
        return function, None
    if not callable(function) or not hasattr(function, "__code__"):
        raise mistake("GHCM-132", "this is no Python function", span, hint='name it: "module:function"')
    name = str(getattr(function, "__qualname__", ""))
    if not name.isidentifier():
        hint = "define it with def at the top of a module"
        raise mistake("GHCM-132", f'"{name}" cannot be found again when the program runs', span, hint=hint)
    hints: Mapping[str, object] = getattr(function, "__annotations__", {})
    annotation = hints.get("return")
    if isinstance(annotation, str):
        annotation = eval(annotation, getattr(function, "__globals__", {}))
    return f"{getattr(function, '__module__', '')}:{name}", annotation
