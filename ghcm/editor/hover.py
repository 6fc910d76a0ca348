"""What a name in a program stands for: names in sight, where each is declared, and what it is in words."""

from dataclasses import dataclass

from ghcm.editor.document import Document
from ghcm.functions import FUNCTIONS, Function
from ghcm.language import ast, trees
from ghcm.lowering import Notes
from ghcm.lowering.expressions.applications import CALLABLE
from ghcm.operators import OPERATORS, Operator
from ghcm.source import Span
from ghcm.types import Collection, Struct, Type, strip


@dataclass(frozen=True, slots=True)
class Names:
    """The names in sight of a node, each with where it is declared: of values, innermost first, and of the rest."""

    values: dict[str, Span | None]
    declared: dict[str, ast.Declaration]


def path_to(tree: ast.Node, offset: int) -> tuple[ast.Node, ...]:
    """The nodes around an offset of the tree's source, from the outermost."""
    found: list[ast.Node] = []
    node: ast.Node | None = tree
    while node is not None:
        found.append(node)
        node = next((each for each in trees.parts(node) if _holds(each, offset)), None)
    return tuple(found)


def names_at(path: tuple[ast.Node, ...], program: ast.Program) -> Names:
    """The names in sight of the innermost node of a path."""
    found: list[ast.Name] = []
    for node in path:
        match node:
            case ast.UnitDecl(parameters=parameters, body=body):
                found = [each.name for each in (*body, *parameters) if not isinstance(each, ast.Do)]
            case ast.Lambda(parameters=names):
                found = [*names, *found]
            case _:
                pass
    values: dict[str, Span | None] = {}
    for name in found:
        values.setdefault(name.text, name.span)
    return Names(values, {each.name.text: each for each in reversed(program.declarations)})


def definition(path: tuple[ast.Node, ...], program: ast.Program, notes: Notes) -> Span | None:
    """Where the innermost name of a path is declared."""
    names = names_at(path, program)
    node = path[-1]
    match node:
        case ast.Ref(name=name):
            return _named(name, names)
        case ast.NamedType(name=name) | ast.RecordExpr(name=str(name)):
            found = names.declared.get(name)
            return found.name.span if found else None
        case ast.Attribute(of=of, name=name):
            return _member(of, name, names, notes)
        case ast.Name(text=text) if len(path) > 1:
            return _given(path[-2], text, names)
        case _:
            return None


def struct_of(type_: object) -> Struct | None:
    """The fields that a value, or a record of a collection, has."""
    plain = strip(type_.element if isinstance(type_, Collection) else type_)  # type: ignore[arg-type]
    return plain if isinstance(plain, Struct) else None


def _named(name: str, names: Names) -> Span | None:
    if name in names.values:
        return names.values[name]
    found = names.declared.get(name)
    return found.name.span if found else None


def _member(of: ast.Node, name: str, names: Names, notes: Notes) -> Span | None:
    """A field of a record, a table of a unit, or a value of an enum."""
    if isinstance(of, ast.Ref):
        unit = names.declared.get(of.name)
        if isinstance(unit, ast.EnumDecl):
            return next((each.span for each in unit.values if each.text == name), None)
        if isinstance(unit, ast.UnitDecl):
            return next(
                (each.name.span for each in unit.body if isinstance(each, ast.Assign) and each.name.text == name), None
            )
    struct = struct_of(notes.of(of.span))
    return None if struct is None else _field(names.declared.get(struct.name or ""), name)


def _given(around: ast.Node, text: str, names: Names) -> Span | None:
    match around:
        case ast.UnitDecl(cache=ast.Name(text=cache)) if cache == text:
            return _named(text, names)
        case ast.RecordExpr(name=str(record)):
            return _field(names.declared.get(record), text)
        case _:
            return None


def _field(record: ast.Declaration | None, name: str) -> Span | None:
    if not isinstance(record, ast.RecordDecl):
        return None
    return next((each.name.span for each in record.fields if each.name.text == name), None)


def _holds(node: ast.Node, offset: int) -> bool:
    if node.span is None:
        return any(_holds(each, offset) for each in trees.parts(node))
    return node.span.start <= offset <= node.span.end


def hover(document: Document, offset: int) -> str | None:
    """Markdown about what stands at an offset; None where there is nothing to say."""
    found = found_at(document, offset)
    return None if found is None else _words(*found, document.program)


def found_at(document: Document, offset: int) -> tuple[tuple[ast.Node, ...], Notes] | None:
    """The nodes around an offset of the document, and what the lowering knows of their declaration."""
    position = document.position(offset)
    if position is None:
        return None
    for declaration in position.piece.declarations:
        path = path_to(declaration, position.offset)
        if len(path) > 1:
            return path, document.notes_of(position.piece.declarations)
    return None


def about_operator(operator: Operator) -> str:
    """An operator with its arguments and what it does."""
    arguments = ", ".join(each.name if each.required else f"{each.name} = …" for each in operator.arguments)
    return f"```istream\n{operator.name}({arguments})\n```\n{operator.meaning}; gives {operator.gives}"


def about_function(function: Function) -> str:
    """A function with its signature and what it does."""
    fails = f"; fails: {', '.join(each.value for each in function.failures)}" if function.failures else ""
    return f"```istream\n{function.signature}\n```\n{function.says}{fails}"


def _words(path: tuple[ast.Node, ...], notes: Notes, program: ast.Program) -> str | None:
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
