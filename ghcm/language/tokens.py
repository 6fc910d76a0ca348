"""The first stage of the text front end: from program text to the tokens that the grammar reads.

Reports every mistake of a single token (unknown characters, unclosed strings and brackets, operators of other
languages), repairs it where the meaning is plain, and puts a `_SEP` wherever a declaration, statement or field ends. It
knows nothing of the grammar's rules.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lark import Token
from lark.lexer import LexerThread

from ghcm.errors import Diagnostics
from ghcm.language.tables import lexer, words
from ghcm.source import Source, Span

SEPARATOR = "_SEP"

CLOSERS = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
_SIGNS = {"LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "LBRACE": "{", "RBRACE": "}"}
_ARITHMETIC = frozenset(("COALESCE", "PLUS", "MINUS", "FLOOR", "TIMES", "OVER", "MODULO"))
_LOGIC = frozenset(("EQ", "NE", "LE", "GE", "LT", "AND", "OR", "IS", "THEN", "ELSE", "EQUAL", "ARROW", "IN", "RANGE"))
_NEVER_LAST = _ARITHMETIC | _LOGIC | {"COMMA", "COLON", "DOT", "AT", "NOT", "IF", "MATCH", "LET", "SPREAD"}
_NEVER_FIRST = _ARITHMETIC | _LOGIC | {"GT", "DOT", "COMMA", "COLON", "RPAR", "RSQB", "RBRACE"}
UNITS = ("STREAM", "BATCH", "RESPONSIVE")
DECLARING = frozenset(("PROGRAM", "RECORD", "ENUM", "UNION", "CACHE", "SINK", *UNITS, "FUNCTION"))

_FOREIGN = {
    "&&": "AND", "||": "OR", "->": "ARROW", "<>": "NE", "===": "EQ", "!==": "NE", ":=": "EQUAL", "!": "NOT",
    "**": "TIMES",
}  # fmt: skip
"""Operators of other languages, and which of ours is meant; `**` has none, and goes on as a product."""


@dataclass(slots=True)
class Tokens:
    """The tokens of one source, and the offsets of mistakes, near which others are not worth a message."""

    source: Source
    tokens: list[Token] = field(default_factory=list[Token])
    damaged: list[int] = field(default_factory=list[int])


def span_of(source: Source, token: Token) -> Span:
    """Where a token stands."""
    start = token.start_pos or 0
    return Span(source, start, token.end_pos if token.end_pos is not None else start)


def raw_tokens(source: Source) -> Iterator[Token]:
    """Every token, comments and white space included; together they are the whole text."""
    found: Iterator[Token] = LexerThread.from_text(lexer(), source.text).lex(None)  # type: ignore[no-untyped-call]
    return found


def read_tokens(source: Source, problems: Diagnostics) -> Tokens:
    """The tokens for the grammar, mistakes reported and repaired."""
    found = Tokens(source)
    lexemes = list(_repaired(found, problems))
    found.tokens = list(_separated(_balanced(lexemes, found, problems)))
    return found


def begins_declaration(tokens: list[Token], index: int) -> bool:
    """Whether a declaration begins at `index`: its word, and behind it on the line a name. Only a pattern of a match
    looks like that, too, and an arrow or `or` stands behind it."""
    if tokens[index].type not in DECLARING or index + 1 >= len(tokens):
        return False
    behind = tokens[index + 1]
    named = behind.line == tokens[index].line and (behind.type == "NAME" or behind.type in DECLARING)
    return named and not (index + 2 < len(tokens) and tokens[index + 2].type in ("ARROW", "OR"))


# --- mistakes of one token -------------------------------------------------------------------------------------------


def _repaired(found: Tokens, problems: Diagnostics) -> Iterator[Token]:
    for token in raw_tokens(found.source):
        span = span_of(found.source, token)
        match token.type:
            case "SPACE" | "COMMENT":
                continue
            case "FOREIGN" | "FOREIGN_NOT":
                kind = _FOREIGN[token.value]
                hint = "multiply, or use a Python function" if token.value == "**" else f'write "{words()[kind]}"'
                problems.error("GHCM-107", f'"{token.value}" is no operator here', span, hint=hint)
                yield Token.new_borrow_pos(kind, token.value, token)
            case "OPEN_STRING":
                hint = f"add {token.value.removeprefix('r')[0]} at its end"
                problems.error("GHCM-102", "a string is not closed", span, detail=_STRING_DETAIL, hint=hint)
                found.damaged.append(span.start)
                yield Token.new_borrow_pos("STRING", '""', token)
                yield from _swallowed(token)
            case "BAD_NUMBER":
                message, hint = f'"{token.value}" is no number', _number_hint(token.value)
                problems.error("GHCM-104", message, span, detail=_NUMBER_DETAIL, hint=hint)
                yield Token.new_borrow_pos("INT", "0", token)
            case "UNKNOWN":
                _unknown(token, found, problems)
            case _:
                yield token


def _swallowed(token: Token) -> Iterator[Token]:
    """The brackets at the end of an unclosed string, which were meant to be code."""
    kinds = {sign: kind for kind, sign in _SIGNS.items() if kind in CLOSERS.values()}
    text = token.rstrip()
    for sign in text[len(text.rstrip("".join(kinds))) :]:
        yield Token.new_borrow_pos(kinds[sign], sign, token)


_STRING_DETAIL = "A string ends on the line on which it begins."
_NUMBER_DETAIL = "Numbers look like 10, 1_000, 1.5 and 2e9, durations like 500us, 10ms, 10s, 5m, 2h and 1d."


_LONG_UNITS = {
    "micros": "us", "millis": "ms", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "min": "m", "mins": "m",
    "minute": "m", "minutes": "m", "hour": "h", "hours": "h", "day": "d", "days": "d",
}  # fmt: skip


def _number_hint(text: str) -> str:
    unit = text.lstrip("0123456789_.").lower()
    return f'write "{text[: -len(unit)]}{_LONG_UNITS[unit]}"' if unit in _LONG_UNITS else ""


def _unknown(token: Token, found: Tokens, problems: Diagnostics) -> None:
    span = span_of(found.source, token)
    found.damaged.append(span.start)
    letter = token.value.isalpha()
    if letter and found.damaged[-2:-1] == [span.start - 1] and found.source.text[span.start - 1].isalpha():
        return
    hint = "names are of ASCII letters, digits and _" if letter else ""
    if token.value in "“”„«»‘’`":
        hint = "strings stand in \"double\" or 'single' quotes"
    if token.value in "&|":
        hint = f'write "{"and" if token.value == "&" else "or"}"'
    problems.error("GHCM-101", f'"{token.value}" has no meaning here', span, hint=hint)


# --- brackets --------------------------------------------------------------------------------------------------------


def _balanced(tokens: list[Token], found: Tokens, problems: Diagnostics) -> list[tuple[Token, int]]:
    """Each token with its depth: 0 outside, 1 in the body of a declaration, 2 and more in brackets.

    What is missing is added and what is too much is left out, so that brackets always match behind this stage.
    """
    code = [token for token in tokens if token.type not in ("NEWLINE", "SEMICOLON")]
    position = {id(token): index for index, token in enumerate(code)}
    stack: list[Token] = []
    result: list[tuple[Token, int]] = []
    first_of_line = True
    for token in tokens:
        if token.type in CLOSERS.values():
            depth = next((n for n in reversed(range(len(stack))) if CLOSERS[stack[n].type] == token.type), None)
            if depth is None:
                _closes_nothing(token, stack, found, problems)
                continue
            why = f'"{_SIGNS[token.type]}" on line {token.line} comes first.'
            result += _close_from(depth + 1, stack, token, why, found, problems)
            stack.pop()
        elif stack and first_of_line and token.type in DECLARING and begins_declaration(code, position[id(token)]):
            why = f"A declaration begins on line {token.line}, inside it."
            result += _close_from(0, stack, token, why, found, problems)
            result.append((Token.new_borrow_pos("NEWLINE", "\n", token), 0))
        result.append((token, _depth(stack)))
        if token.type in CLOSERS:
            stack.append(token)
        first_of_line = token.type == "NEWLINE"
    if tokens:
        result += _close_from(0, stack, tokens[-1], "The program ends inside it.", found, problems)
    return result


def _depth(stack: list[Token]) -> int:
    return len(stack) if not stack or stack[0].type == "LBRACE" else len(stack) + 1


def _closes_nothing(token: Token, stack: list[Token], found: Tokens, problems: Diagnostics) -> None:
    span = span_of(found.source, token)
    found.damaged.append(span.start)
    hint = f'the innermost open bracket is "{_SIGNS[stack[-1].type]}" of line {stack[-1].line}' if stack else ""
    problems.error("GHCM-106", f'"{_SIGNS[token.type]}" closes nothing', span, hint=hint)


def _close_from(
    depth: int, stack: list[Token], before: Token, why: str, found: Tokens, problems: Diagnostics
) -> list[tuple[Token, int]]:
    """Report the brackets that are open from `depth` on, and give the missing ones, right before a token."""
    added: list[tuple[Token, int]] = []
    while len(stack) > depth:
        opener = stack.pop()
        closer = CLOSERS[opener.type]
        span = span_of(found.source, opener)
        found.damaged.append(span.start)
        message, hint = f'"{_SIGNS[opener.type]}" is never closed', f'add the "{_SIGNS[closer]}" that belongs to it'
        problems.error("GHCM-105", message, span, detail=why, hint=hint)
        added.append((Token.new_borrow_pos(closer, _SIGNS[closer], before), _depth(stack)))
    return added


# --- ends of statements ----------------------------------------------------------------------------------------------


def _separated(tokens: list[tuple[Token, int]]) -> Iterator[Token]:
    last: Token | None = None
    pending: Token | None = None
    for token, depth in tokens:
        if token.type == "SEMICOLON":
            pending = token
        elif token.type == "NEWLINE":
            if depth < 2 and pending is None and last is not None and last.type not in _NEVER_LAST:
                pending = token
        else:
            if pending is not None and last is not None and not _joins(pending, last, token, depth):
                yield Token.new_borrow_pos(SEPARATOR, pending.value, pending)
            yield token
            last, pending = token, None


def _joins(separator: Token, last: Token, token: Token, depth: int) -> bool:
    """Whether no separator is wanted between two tokens: at a border of a body, and where a line goes on."""
    if (last.type == "LBRACE" and depth == 1) or token.type == "RBRACE":
        return True
    header_goes_on = depth == 0 and token.type in ("LBRACE", "ON", "ENGINE", "PARALLELISM")
    return separator.type == "NEWLINE" and (token.type in _NEVER_FIRST or header_goes_on)
