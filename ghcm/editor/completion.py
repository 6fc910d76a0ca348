"""What can be written at an offset: columns behind a record, operators behind a collection, names elsewhere.

The text up to the offset is closed with what its open brackets ask for, so that it parses whatever stands behind it.
Arguments that take any expression ask for nothing; of those that are one of a few words the words are proposed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import product

from ghcm.aggregates import AGGREGATES
from ghcm.editor.document import Document, Piece, parse_piece
from ghcm.editor.hover import about_function, about_operator, names_at, path_to
from ghcm.functions import FUNCTIONS, resolve
from ghcm.language import ast
from ghcm.language.literals import RESERVED
from ghcm.lowering import look
from ghcm.lowering.declarations.sinks import CACHE_ARGUMENTS, SINK_ARGUMENTS
from ghcm.lowering.drafts import wants_final
from ghcm.lowering.expressions.aggregates import ARGUMENTS, of_aggregates
from ghcm.lowering.expressions.applications import CALLABLE
from ghcm.lowering.expressions.parts import EACH, WHOLE
from ghcm.lowering.operators import SOURCES
from ghcm.lowering.operators.times import WINDOWS
from ghcm.lowering.types import BUILT_IN
from ghcm.operators import OPERATORS, Argument, Role
from ghcm.types import Collection, Duration, Float, Int, List, String, Struct, Type, strip


class Kind(Enum):
    """What a proposal is, and what editors call that."""

    COLUMN = "Field"
    OPERATOR = "Method"
    FUNCTION = "Function"
    NAME = "Variable"
    RECORD = "Struct"
    ARGUMENT = "Property"
    WORD = "Keyword"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One thing that can be written: the text, what it is, its type in short, and what it does."""

    text: str
    kind: Kind
    detail: str = ""
    words: str = ""


_HERE = "here__"
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_ENDINGS = (("()", ""), ("", ""), (": 0", ""), ("", " {}"))
"""What makes a name an operator call, a value or a type, a field of a record that is made, or the type of a parameter;
and what stands behind the brackets that are closed."""

_TYPES = (ast.RecordDecl, ast.EnumDecl, ast.UnionDecl)
_LEXEMES = re.compile(r'"(?:[^"\\\n]|\\.)*"?|#[^\n]*|[()\[\]{}]')


def complete(document: Document, offset: int) -> list[Proposal]:
    """The proposals at an offset of the document, the likeliest first."""
    position = document.position(offset)
    if position is None:
        return []
    before = re.sub(r"\w+\Z", "", position.piece.source.text[position.piece.header : position.offset])
    closers = _closers(before)
    for ending, end in _ENDINGS:
        piece = parse_piece(document.name, f"{before}{_HERE}{ending}{closers}{end}")
        if piece.declarations and (found := _proposals(piece, document.program)):
            return found
    return []


def _proposals(piece: Piece, whole: ast.Program) -> list[Proposal]:
    declaration = piece.declarations[-1]
    path = path_to(declaration, piece.source.text.index(_HERE))
    program = _with(whole, declaration)
    match path[-1]:
        case ast.Attribute() as node:
            return _behind(node, program, declaration)
        case ast.NamedType():
            records = (each.name.text for each in program.declarations if isinstance(each, _TYPES))
            return [Proposal(name, Kind.RECORD) for name in (*records, *sorted(BUILT_IN))]
        case ast.Ref():
            return list(_names(path, program))
        case ast.Name() if isinstance(path[-2], ast.RecordExpr):
            return _fields(path[-2], program)
        case _:
            return []


def _closers(before: str) -> str:
    """What closes the brackets that are open at the end of the text."""
    opened: list[str] = []
    for found in _LEXEMES.findall(before):
        if found in _CLOSERS:
            opened.append(_CLOSERS[found])
        elif opened and found == opened[-1]:
            opened.pop()
    return "".join(reversed(opened))


def _fields(written: ast.RecordExpr, program: ast.Program) -> list[Proposal]:
    """The fields of a record that have no value yet."""
    given = {name.text for name, _ in written.fields}
    for each in program.declarations:
        if isinstance(each, ast.RecordDecl) and each.name.text == written.name:
            return [Proposal(f"{part.name.text}: ", Kind.COLUMN) for part in each.fields if part.name.text not in given]
    return []


def _with(program: ast.Program, declaration: ast.Declaration) -> ast.Program:
    """The program with the declaration instead of the one of its name."""
    others = tuple(each for each in program.declarations if each.name.text != declaration.name.text)
    return ast.Program(program.name, (*others, declaration))


def _behind(node: ast.Attribute, program: ast.Program, declaration: ast.Declaration) -> list[Proposal]:
    """What can follow a dot."""
    of = node.of
    found = look(program, [declaration.name.text]).of(of.span)
    if isinstance(found, Collection):
        follows = (each for each in OPERATORS.values() if each.role is not Role.SOURCE)
        taken = (each for each in follows if found.shape in each.takes or wants_final(each.takes, found))
        return [_operator(each.name) for each in taken]
    if found is not None:
        return [*_columns(found), *_methods(found)]
    named = next((each for each in program.declarations if isinstance(of, ast.Ref) and each.name.text == of.name), None)
    if isinstance(named, ast.UnitDecl):
        return [Proposal(each.name.text, Kind.NAME) for each in named.body if isinstance(each, ast.Assign)]
    if isinstance(named, ast.EnumDecl):
        return [Proposal(each.text, Kind.NAME, named.name.text) for each in named.values if each.text.isidentifier()]
    return [_operator("read")] if named else []


def _operator(name: str) -> Proposal:
    return Proposal(name, Kind.OPERATOR, OPERATORS[name].gives, about_operator(OPERATORS[name]))


def _function(name: str) -> Proposal:
    function = FUNCTIONS[CALLABLE[name]]
    return Proposal(name, Kind.FUNCTION, function.signature, about_function(function))


def _columns(type_: Type) -> Iterator[Proposal]:
    struct = strip(type_)
    if isinstance(struct, Struct):
        for field in struct.fields:
            yield Proposal(field.name, Kind.COLUMN, str(field.type))


def _methods(type_: Type) -> Iterator[Proposal]:
    """The functions that take such a value first, and what goes through the items of a list."""
    if isinstance(strip(type_), List):
        forms = {name: f"xs.{name}(x => ...)" for name in (*EACH, *WHOLE)} | {"fold": "xs.fold(0, (so_far, x) => ...)"}
        yield from (Proposal(name, Kind.FUNCTION, form) for name, form in forms.items())
    for name, function in sorted(CALLABLE.items()):
        if FUNCTIONS[function].method and _takes(function, type_):
            yield _function(name)


@lru_cache(maxsize=4096)
def _takes(function: str, first: Type) -> bool:
    """Whether any usual further arguments make a call that fits."""
    others = dict.fromkeys((String(), Int(), Duration(), Float(), first))
    further = (each for count in range(3) for each in product(others, repeat=count))
    return any(resolve(FUNCTIONS[function], (first, *each)) is not None for each in further)


def _names(path: tuple[ast.Node, ...], program: ast.Program) -> Iterator[Proposal]:
    names = names_at(path, program)
    calls = [each for each in path if isinstance(each, ast.Apply) and each.function is not path[-1]]
    call = calls[-1] if calls else None
    connectors = connectors_of(path[0])
    if connectors and call is None:
        yield from (Proposal(each, Kind.OPERATOR) for each in connectors)
        return
    if call is not None and not any(isinstance(each, ast.Lambda) for each in path[path.index(call) :]):
        declared = arguments_of(call, connectors)
        argument = asked(call, path[-1], declared)
        words = words_of(argument, names.declared) if argument is not None else ()
        yield from (Proposal(each, Kind.WORD) for each in words)
        if words:
            return
        yield from _arguments(call, declared)
        if connectors:
            return
    yield from (Proposal(text, Kind.NAME) for text in names.values)
    in_expression = any(isinstance(each, ast.Lambda) for each in path)
    for text, declaration in names.declared.items():
        if isinstance(declaration, _TYPES) or not in_expression:
            yield Proposal(text, Kind.RECORD if isinstance(declaration, _TYPES) else Kind.NAME)
    if not in_expression:
        yield from map(_operator, SOURCES)
        return
    yield from map(_function, sorted(CALLABLE))
    yield from (Proposal(word, Kind.WORD) for word in RESERVED)


def _arguments(call: ast.Apply, declared: Iterable[Argument]) -> Iterator[Proposal]:
    """The arguments that have not been given."""
    given = {each.name for each in call.arguments}
    for argument in declared:
        if argument.name not in given:
            yield Proposal(f"{argument.name} = ", Kind.ARGUMENT, argument.kind)
            yield from (Proposal(each, Kind.WORD) for each in argument.choices)


_RECORDS = (ast.RecordDecl, ast.UnionDecl)


def connectors_of(declaration: object) -> Mapping[str, tuple[Argument, ...]]:
    """What a sink or a msg cache can be, with the arguments; nothing for any other declaration."""
    match declaration:
        case ast.SinkDecl():
            return SINK_ARGUMENTS
        case ast.CacheDecl():
            return CACHE_ARGUMENTS
        case _:
            return {}


def arguments_of(call: ast.Apply, connectors: Mapping[str, tuple[Argument, ...]]) -> tuple[Argument, ...]:
    """The arguments that are declared for what is called; none for functions."""
    if not isinstance(call.function, ast.Attribute | ast.Ref):
        return ()
    name = call.function.name
    if isinstance(call.function, ast.Ref) and name in ARGUMENTS:
        return ARGUMENTS[name]
    return connectors[name] if name in connectors else OPERATORS[name].arguments if name in OPERATORS else ()


def asked(call: ast.Apply, node: ast.Node, declared: tuple[Argument, ...]) -> Argument | None:
    """The argument of which `node`, or a call of it, is the value; None where it is none that is declared."""
    index = 0
    for given in call.arguments:
        if given.value is node or (isinstance(given.value, ast.Apply) and given.value.function is node):
            if given.name is None:
                unnamed = [each for each in declared if each.positional]
                left = unnamed[index:] or [each for each in unnamed[-1:] if each.repeated]
                return left[0] if left else None
            others = (each for each in declared if each.repeated)
            return next((each for each in declared if each.name == given.name), next(others, None))
        index += given.name is None
    return None


def words_of(argument: Argument, declared: Mapping[str, ast.Declaration]) -> tuple[str, ...]:
    """All that can stand there; nothing where it may be any expression."""
    match argument.kind:
        case "window":
            return tuple(WINDOWS)
        case "aggregate":
            functions = {name: each for name, each in declared.items() if isinstance(each, ast.FunctionDecl)}
            return (*(rule.function.value for rule in AGGREGATES.values()), *of_aggregates(functions))
        case "sink":
            return tuple(name for name, each in declared.items() if isinstance(each, ast.SinkDecl))
        case "record":
            return tuple(name for name, each in declared.items() if isinstance(each, _RECORDS))
        case "service":
            return ("redis", "sql", "http", "memory")
        case "field":
            records = (each for each in declared.values() if isinstance(each, ast.RecordDecl))
            return tuple(dict.fromkeys(field.name.text for record in records for field in record.fields))
        case _:
            return argument.choices
