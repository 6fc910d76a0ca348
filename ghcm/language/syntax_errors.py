"""Syntax errors: what each says (what was expected in words, what was found, the likely fix), and the pieces in which a
wrong program is parsed again, so that each can report its own.

Pieces are made of tokens alone: declarations, and in them statements or fields. A border is a separator outside
brackets, or the word of a declaration where one can only begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from lark import Token
from lark.exceptions import UnexpectedToken

from ghcm.errors import Diagnostic
from ghcm.language.literals import RESERVED
from ghcm.language.tables import fed_parser, words
from ghcm.language.tokens import CLOSERS, DECLARING, SEPARATOR, UNITS, Tokens, begins_declaration, span_of
from ghcm.source import Source, Span

_WORDS = {
    SEPARATOR: "the end of the line",
    "$END": "the end of the line",
    "NAME": "a name",
    "STRING": "a string",
    "INT": "a whole number",
    "DURATION": "a duration",
    "FLOAT": "a number",
}
_SOFT = DECLARING | {"ON", "ENGINE", "PARALLELISM", "BY", "FROM", "WITH"}
_COMPARISONS = frozenset(("EQ", "NE", "LE", "GE", "LT", "GT", "IS", "IN"))
_INFIX = _COMPARISONS | {
    "COALESCE", "PLUS", "MINUS", "FLOOR", "TIMES", "OVER", "MODULO", "AND", "OR", "DOT", "LPAR", "LSQB", "NOT", "WITH",
}  # fmt: skip
_OPERAND = frozenset(("INT", "FLOAT", "DURATION", "STRING", "TRUE", "FALSE", "NULL", "LPAR", "LSQB", "LBRACE", "NAME"))
_VALUE = _OPERAND | _SOFT | {"MINUS", "NOT", "IF", "MATCH", "LET", "AT"}
_HABITS = {
    "var": "write name = ...",
    "val": "write name = ...",
    "const": "write name = ...",
    "return": "the last line of a responsive unit ends in .reply()",
    "def": "write function NAME(x: int) : int = ..., stream NAME { ... } or batch NAME { ... }",
    "lambda": "write x => ...",
    "for": "write a pipeline: .map(x => ...)",
    "while": "write .iterate(...)",
}


_OPERATORS = {
    "?": "write if ... then ... else ...",
    "if": "write if ... then ... else ...",
    "like": "write contains(x, part), starts_with(x, part) or matches(x, pattern)",
    "between": "write a <= x and x <= b",
    "..": "a range is a case of match; elsewhere write a <= x and x <= b",
    "mod": "write %",
    "when": "write if ... then ... else ...",
    "contains": "write part in x",
    "as": "write to_int(x), to_float(x) or to_string(x)",
}
"""Operators of other languages, and what to write instead."""


@dataclass(frozen=True, slots=True)
class _Scene:
    """A wrong token (None: the piece ended too early), its neighbours, and the kinds that could have stood there."""

    piece: Piece
    before: Token | None
    found: Token | None
    after: str
    accepted: frozenset[str]

    @property
    def kind(self) -> str:
        return "$END" if self.found is None else self.found.type

    @property
    def ends(self) -> bool:
        return self.found is None or self.found.type == SEPARATOR


def explain(piece: Piece, error: UnexpectedToken, source: Source) -> Diagnostic:
    """The message for the first wrong token of a piece."""
    index = next((i for i, token in enumerate(piece.tokens) if token is error.token), len(piece.tokens))
    before = piece.tokens[index - 1] if index else None
    found = piece.tokens[index] if index < len(piece.tokens) else None
    after = piece.tokens[index + 1].type if index + 1 < len(piece.tokens) else ""
    scene = _Scene(piece, before, found, after, _accepted(piece, index))
    span = _position(scene, source)
    reserved = _reserved_word(scene)
    if reserved is not None:
        elsewhere = f'; a field may say where it stands in the source: kind: string from "{reserved}"'
        hint = f"choose another name{elsewhere if piece.rule == 'field' else ''}"
        return Diagnostic("GHCM-108", f'"{reserved}" is a reserved word', span_of(source, reserved), hint=hint)
    habit = _habit(scene)
    if habit is not None and before is not None:
        return Diagnostic("GHCM-100", f'"{before}" is no word of this language', span_of(source, before), hint=habit)
    code, message, detail, hint = _operator(scene) or _form(scene) or _general(scene)
    return Diagnostic(code, message, span, detail, hint)


def _accepted(piece: Piece, index: int) -> frozenset[str]:
    parser = fed_parser(piece.rule)
    for token in piece.tokens[:index]:
        parser.feed_token(token)
    kinds: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
    return frozenset(kinds)


def _position(scene: _Scene, source: Source) -> Span:
    if scene.found is not None and not scene.ends:
        return span_of(source, scene.found)
    end = 0 if scene.before is None else span_of(source, scene.before).end
    return Span(source, end, end)


# --- common mistakes: code, message, detail, hint --------------------------------------------------------------------

_Words = tuple[str, str, str, str]

_UNITS = {
    word: unit
    for unit, words in {
        "ms": ("ms", "milli", "millisecond"),
        "s": ("s", "sec", "second"),
        "m": ("m", "min", "minute"),
        "h": ("h", "hour"),
        "d": ("d", "day"),
    }.items()
    for word in words
}
"""How people write units of time, in the singular, and how the language does."""


def _reserved_word(scene: _Scene) -> Token | None:
    """A reserved word that stands where a name is declared or given, if that is the mistake."""
    before, found, accepted = scene.before, scene.found, scene.accepted
    if before is not None and before in RESERVED and scene.kind in ("EQUAL", "COLON", "ARROW"):
        return before
    declares = "INT" not in accepted or scene.after in ("EQUAL", "COLON", "ARROW")
    if found is not None and found in RESERVED and "NAME" in accepted and declares:
        return found
    return None


def _operator(scene: _Scene) -> _Words | None:
    """Mistakes around the operators of expressions."""
    kind, accepted = scene.kind, scene.accepted
    if kind == "EQUAL" and "EQ" in accepted:
        return "GHCM-109", '"=" gives a name, it does not compare', "", 'write "==" to compare'
    if kind in _COMPARISONS and "AND" in accepted:
        return "GHCM-118", "comparisons cannot be chained", *_chained(scene)
    if kind in ("IF", "MATCH", "LET") and "INT" in accepted:
        return "GHCM-100", f'"{scene.found}" cannot stand inside an operation', "", "put it in parentheses"
    if kind == "NOT" and "INT" in accepted:
        return "GHCM-100", '"not" cannot stand inside an operation', "", 'put "not ..." in parentheses'
    return None


def _chained(scene: _Scene) -> tuple[str, str]:
    """How a second comparison is read, and what to write: `a == b ?? c == d` is none of what people mean by it."""
    kinds = [each.type for each in scene.piece.tokens]
    end = next((at for at, each in enumerate(scene.piece.tokens) if each is scene.found), len(kinds))
    begin = max((at for at in range(end) if kinds[at] in _COMPARISONS), default=end)
    if "COALESCE" not in kinds[begin:end]:
        return "", 'write "a < b and b < c"'
    return '"??" binds tighter than comparisons: a == b ?? c == d is a == (b ?? c) == d.', 'write "(a == b) ?? c"'


def _form(scene: _Scene) -> _Words | None:
    """Mistakes in the form of choices and declarations."""
    kind, accepted, rule = scene.kind, scene.accepted, scene.piece.rule
    if "ELSE" in accepted:
        detail = 'An "if" always has both values.'
        return "GHCM-100", f'expected "else", found {_found(scene)}', detail, "write if ... then ... else ..."
    if "IN" in accepted and "NOT" not in accepted and "AND" in accepted and scene.ends:
        hint = "in a unit, x = ... gives a name to a collection"
        return "GHCM-100", f'expected "in", found {_found(scene)}', 'A "let" is written let x = ... in ... .', hint
    if "THEN" in accepted and kind == "COLON":
        return "GHCM-100", 'expected "then", found ":"', "", "write if ... then ... else ..."
    if rule == "program" and scene.before is None:
        detail = "A program begins with its name."
        return "GHCM-116", f'expected "program", found {_found(scene)}', detail, 'add "program NAME" as the first line'
    if {"LBRACE", "ON"} <= accepted and "INT" not in accepted and scene.ends:
        return "GHCM-100", 'expected "{", found the end of the line', "", "the body of a unit stands in braces"
    if accepted == frozenset(("LBRACE", "DOT", "LPAR", "LSQB")):
        return "GHCM-100", f'expected "{{", found {_found(scene)}', "", "put what match looks at in parentheses"
    if rule == "declaration" and scene.before is None:
        detail = "Outside of units stand records, enums, unions, caches, sinks, functions and units."
        hint = "pipelines stand inside a unit: stream NAME { ... }"
        return "GHCM-121", f"expected a declaration, found {_found(scene)}", detail, hint
    return None


def _habit(scene: _Scene) -> str | None:
    """What to write instead of a word of other languages, if that is the mistake."""
    return _HABITS.get(str(scene.before)) if scene.kind in {"NAME", *_SOFT} else None


def _comment(scene: _Scene) -> str:
    """The hint for a comment of other languages: text behind "//" that nobody took for a division."""
    if scene.found is None:
        return ""
    tokens = scene.piece.tokens
    end = next((at for at, each in enumerate(tokens, 1) if each is scene.found), len(tokens))
    line = [each for each in tokens[:end] if each.line == scene.found.line]
    return 'a comment begins with "#"' if scene.after == "FLOOR" or "//" in line else ""


def _field(scene: _Scene) -> str:
    """The name behind a dot that is wrong here."""
    tokens = scene.piece.tokens
    at = next(at for at, each in enumerate(tokens) if each is scene.found)
    return str(tokens[at + 1]) if scene.after == "NAME" else "name"


def _unit(word: Token | None) -> str | None:
    """How the language writes this unit of time."""
    said = str(word)
    return _UNITS.get(said) or _UNITS.get(said.removesuffix("s"))


def _general(scene: _Scene) -> _Words:
    known = _OPERATORS.get(str(scene.found), "") if "AND" in scene.accepted else ""
    hint = _comment(scene) or known
    if scene.kind == "STRING" and scene.before in ("date", "timestamp"):
        hint = f"beside a {scene.before} the text stands alone; elsewhere write to_{scene.before}({scene.found})"
    if scene.before is not None and scene.before.type in ("INT", "FLOAT") and (unit := _unit(scene.found)):
        hint = f"a duration is one word: {scene.before}{unit}"
    if scene.kind == "STRING" and scene.before == "f":
        hint = 'write "..." + to_string(x) + "..."'
    if scene.kind == "STRING" and scene.after == "COLON" and "NAME" in scene.accepted:
        hint = f"names of fields stand without quotes; a map is written map_of({scene.found}, ...)"
    if scene.kind == "DOT" and set(scene.accepted) == {"COLON"}:
        hint = f"a field has a name: {{ {_field(scene)}: {scene.before}.{_field(scene)} }}"
    if scene.kind == "SPREAD" and "RSQB" in scene.accepted:
        hint = "lists are joined by xs + [x]"
    if scene.before == "distinct" and scene.kind == "NAME":
        hint = f"write distinct_count({scene.found})"
    return "GHCM-100", f"expected {_expected(scene)}, found {_found(scene)}", "", hint


# --- in words --------------------------------------------------------------------------------------------------------


def _expected(scene: _Scene) -> str:
    rest, said = set(scene.accepted), list[str]()
    if rest >= _OPERAND:
        said.append("an expression")
        rest -= _VALUE
    elif "NAME" in rest:
        said.append("a name")
        rest -= _SOFT | {"NAME"}
    infix = _INFIX if "NOT" in scene.accepted else _INFIX - {"IN"}  # else it is the one of "let"
    if len(rest & infix) > 3:
        said.append("an operator")
        rest -= infix | {"ARROW", "LBRACE", "COLON"}
    ends = rest & {SEPARATOR, "$END"}
    said += sorted(map(_word, rest - ends))
    if ends:
        said.append('"{"' if scene.piece.rule == "unit_header" else _WORDS[SEPARATOR])
    return ", ".join(said[:-1]) + f" or {said[-1]}" if len(said) > 1 else said[0]


def _word(kind: str) -> str:
    return _WORDS.get(kind) or f'"{words()[kind]}"'


def _found(scene: _Scene) -> str:
    token = scene.found
    match scene.kind:
        case "_SEP":
            return '";"' if token == ";" else "the end of the line"
        case "$END":
            return "nothing" if scene.before is None else "the end of the line"
        case "NAME":
            return f'the name "{token}"'
        case "STRING":
            return "a string"
        case "INT" | "FLOAT":
            return f"the number {token}"
        case "DURATION":
            return f"the duration {token}"
        case _:
            return f'"{token}"'


# --- how a program with errors falls apart --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens that one start rule of the grammar should accept."""

    rule: str
    tokens: tuple[Token, ...]

    @property
    def start(self) -> int:
        """Where it begins, as an offset."""
        return self.tokens[0].start_pos or 0 if self.tokens else 0

    @property
    def end(self) -> int:
        """Where it ends, exclusive."""
        return self.tokens[-1].end_pos or 0 if self.tokens else 0


def pieces(found: Tokens) -> Iterator[Piece]:
    """The pieces of a program, in order."""
    declarations = list(_declarations(found.tokens))
    for index, tokens in enumerate(declarations):
        if index == 0:
            yield Piece("program", tokens)
        else:
            yield from _declaration(tokens)


def _declarations(tokens: list[Token]) -> Iterator[tuple[Token, ...]]:
    depth, begin = 0, 0
    for index, token in enumerate(tokens):
        after_separator = index > 0 and tokens[index - 1].type == SEPARATOR
        if after_separator and index > begin and (depth == 0 or begins_declaration(tokens, index)):
            yield _trimmed(tokens[begin:index])
            begin, depth = index, 0
        depth += _opened(token)
    yield _trimmed(tokens[begin:])


def _opened(token: Token) -> int:
    """How much deeper in brackets it leads."""
    return (token.type in CLOSERS) - (token.type in CLOSERS.values())


def _declaration(tokens: tuple[Token, ...]) -> Iterator[Piece]:
    rule = "field" if tokens[0].type == "RECORD" else "statement" if tokens[0].type in UNITS else ""
    depths = accumulate(map(_opened, tokens), initial=0)
    opened = zip(tokens, depths, strict=False)
    body = next((index for index, (each, depth) in enumerate(opened) if each.type == "LBRACE" and depth == 0), None)
    if not rule or body is None:
        yield Piece("declaration", tokens)
        return
    if rule == "statement":
        yield Piece("unit_header", tokens[:body])
    else:
        yield Piece("declaration", (*tokens[: body + 1], Token.new_borrow_pos("RBRACE", "}", tokens[body])))
    end = len(tokens) - (tokens[-1].type == "RBRACE")
    for part in _parts(tokens[body + 1 : end], rule):
        yield Piece(rule, part)


def _parts(tokens: tuple[Token, ...], rule: str) -> Iterator[tuple[Token, ...]]:
    """Statements or fields. In a field "<" and ">" are brackets of a type, which no line outlives where one is open."""
    typed = rule == "field"
    depth, angles, begin = 0, 0, 0
    for index, token in enumerate(tokens):
        comma = typed and angles == 0 and token.type == "COMMA"
        if depth == 0 and (comma or token.type == SEPARATOR):
            if index > begin:
                yield tokens[begin:index]
            begin, angles = index + 1, 0
        depth += _opened(token)
        angles = max(0, angles + (token.type == "LT") - (token.type == "GT"))
    if len(tokens) > begin:
        yield tokens[begin:]


def _trimmed(tokens: list[Token]) -> tuple[Token, ...]:
    return tuple(tokens[:-1] if tokens and tokens[-1].type == SEPARATOR else tokens)
