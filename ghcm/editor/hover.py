"""What stands at a place of a program, in words: its type, or what the operator or function does."""

from __future__ import annotations

from ghcm.editor.document import Document
from ghcm.editor.names import Node, path_to, struct_of
from ghcm.functions import FUNCTIONS, Function
from ghcm.language import ast
from ghcm.lowering import Notes
from ghcm.lowering.expressions.applications import CALLABLE
from ghcm.operators import OPERATORS, Operator
from ghcm.types import Collection, Type


def hover(document: Document, offset: int) -> str | None:
    """Markdown about what stands at an offset; None where there is nothing to say."""
    place = document.place(offset)
    if place is None:
        return None
    for declaration in place.piece.declarations:
        path = path_to(declaration, place.offset)
        if len(path) > 1:
            notes = document.notes_of(place.piece.declarations)
            return _words(path, notes, document.program)
    return None


def about_operator(operator: Operator) -> str:
    """An operator with its arguments and what it does."""
    arguments = ", ".join(each.name if each.required else f"{each.name} = …" for each in operator.arguments)
    return f"```istream\n{operator.name}({arguments})\n```\n{operator.meaning}; gives {operator.gives}"


def about_function(function: Function) -> str:
    """A function with its signature and what it does."""
    fails = f"; fails: {', '.join(each.value for each in function.failures)}" if function.failures else ""
    return f"```istream\n{function.signature}\n```\n{function.says}{fails}"


def _words(path: tuple[Node, ...], notes: Notes, program: ast.Program) -> str | None:
    node, around = path[-1], path[-2]
    called = isinstance(around, ast.Apply) and around.function is node
    match node:
        case ast.Attribute(of=of, name=name) if called:
            of_collection = isinstance(notes.of(of.span), Collection)
            return _callable(name, of_collection or name not in CALLABLE)
        case ast.Ref(name=name) if called:
            return _callable(name, name in OPERATORS and name not in CALLABLE) or _record(name, program)
        case ast.NamedType(name=name) | ast.RecordExpr(name=str(name)):
            return _record(name, program)
        case ast.Attribute(name=name) | ast.Ref(name=name) | ast.Name(text=name):
            type_ = notes.of(node.span)
            return _typed(name, type_) if type_ is not None else _record(name, program)
        case _:
            type_ = notes.of(node.span)
            return None if type_ is None else f"```istream\n{type_}\n```"


def _callable(name: str, operator: bool) -> str | None:
    if operator and name in OPERATORS:
        return about_operator(OPERATORS[name])
    return about_function(FUNCTIONS[CALLABLE[name]]) if name in CALLABLE else None


def _typed(name: str, type_: Type | Collection) -> str:
    struct = struct_of(type_)
    fields = [f"  {each.name}: {each.type}" for each in struct.fields] if struct else []
    inside = "\n" + "\n".join(fields) if fields else ""
    return f"```istream\n{name}: {type_}{inside}\n```"


def _record(name: str, program: ast.Program) -> str | None:
    for declaration in program.declarations:
        if declaration.name.text == name and declaration.span is not None:
            span = declaration.span
            return f"```istream\n{span.source.text[span.start : span.end].split(chr(10) + chr(10), 1)[0]}\n```"
    return None
