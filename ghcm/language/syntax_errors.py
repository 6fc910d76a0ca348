"""What a syntax error says: what was expected in words, what was found, and the likely fix."""

from __future__ import annotations

from lark import Token
from lark.exceptions import UnexpectedToken

from ghcm.errors import Diagnostic
from ghcm.language.pieces import Piece
from ghcm.language.tokens import SEPARATOR, grammar, span_of
from ghcm.source import Source, Span

__all__ = ["RESERVED", "explain"]

RESERVED = ("if", "then", "else", "match", "is", "not", "and", "or", "null", "true", "false")

_WORDS = {
    SEPARATOR: "the end of the line", "$END": "the end of the line", "NAME": "a name", "STRING": "a string",
    "INT": "a whole number", "DURATION": "a duration", "FLOAT": "a number",
}  # fmt: skip
_SOFT = frozenset("PROGRAM RECORD CACHE SINK STREAM BATCH RESPONSIVE ON FROM".split())
_VALUES = frozenset("INT FLOAT DURATION STRING TRUE FALSE NULL LPAR LSQB LBRACE MINUS NOT IF MATCH AT".split())
_INFIX = frozenset("EQ NE LE GE LT GT COALESCE PLUS MINUS FLOOR TIMES OVER MODULO AND OR IS DOT LPAR".split())
_COMPARISONS = ("EQ", "NE", "LE", "GE", "LT", "GT", "IS")


def explain(piece: Piece, error: UnexpectedToken, source: Source) -> Diagnostic:
    """The message for the first wrong token of a piece."""
    index = next((i for i, token in enumerate(piece.tokens) if token is error.token), len(piece.tokens))
    accepted = _accepted(piece, index)
    before = piece.tokens[index - 1] if index else None
    found = piece.tokens[index] if index < len(piece.tokens) else None
    span = _place(found, before, source)
    special = _special(found, before, piece, index, accepted)
    if special is not None:
        code, message, detail, hint = special
        at = span_of(source, before) if code == "GHCM-108" and before is not None and _reserved(before) else span
        return Diagnostic(code, message, at, detail, hint)
    message = f"expected {_expected(accepted, piece.rule)}, found {_found(found, piece.rule)}"
    return Diagnostic("GHCM-100", message, span)


def _accepted(piece: Piece, index: int) -> frozenset[str]:
    parser = grammar().parse_interactive(start=piece.rule)
    for token in piece.tokens[:index]:
        parser.feed_token(token)
    return frozenset(parser.accepts())


def _place(found: Token | None, before: Token | None, source: Source) -> Span | None:
    if found is not None and found.type != SEPARATOR:
        return span_of(source, found)
    if before is None:
        return Span(source, 0, 0)
    end = span_of(source, before).end
    return Span(source, end, end)


# --- in words --------------------------------------------------------------------------------------------------------


def _expected(accepted: frozenset[str], rule: str) -> str:
    rest = set(accepted)
    words: list[str] = []
    if "NAME" in rest and rest >= _VALUES - {"AT"} - _INFIX:
        words.append("an expression")
        rest -= _VALUES | _SOFT | {"NAME"}
    elif "NAME" in rest:
        words.append("a name")
        rest -= _SOFT | {"NAME"}
    if len(rest & _INFIX) > 3:
        words.append("an operator")
        rest -= _INFIX
    if {"RECORD", "CACHE", "SINK"} <= rest:
        words.append("a declaration (record, cache, sink, stream, batch, responsive)")
        rest -= _SOFT
    ends = {SEPARATOR, "$END"} & rest
    named = sorted(_word(kind) for kind in rest - ends)
    words += named
    if ends:
        words.append(_WORDS[SEPARATOR] if rule != "unit_header" else '"{"')
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _word(kind: str) -> str:
    if kind in _WORDS:
        return _WORDS[kind]
    definition = next((each for each in grammar().terminals if each.name == kind), None)
    return f'"{definition.pattern.value}"' if definition is not None else kind.lower()


def _found(token: Token | None, rule: str) -> str:
    if token is None:
        return {"program": "the end of the line", "unit_header": '"{"'}.get(rule, "the end of it")
    match token.type:
        case "_SEP":
            return '";"' if token == ";" else "the end of the line"
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


def _reserved(token: Token) -> bool:
    return str(token) in RESERVED


# --- common mistakes -------------------------------------------------------------------------------------------------

_Special = tuple[str, str, str, str]


def _special(
    found: Token | None, before: Token | None, piece: Piece, index: int, accepted: frozenset[str]
) -> _Special | None:
    kind = found.type if found is not None else "$END"
    previous = before.type if before is not None else ""
    if (
        before is not None
        and _reserved(before)
        and kind in ("EQUAL", "COLON", "ARROW", "LBRACE")
        and "NAME" in accepted
    ):
        return _reserved_word(before)
    if found is not None and _reserved(found) and "NAME" in accepted:
        return _reserved_word(found)
    if kind == "EQUAL" and "EQ" in accepted:
        return ("GHCM-109", '"=" gives a name, it does not compare', "", 'write "==" to compare')
    if kind in _COMPARISONS and "AND" in accepted and "EQ" not in accepted:
        return ("GHCM-118", "comparisons cannot be chained", "", 'write "a < b and b < c"')
    if "ELSE" in accepted:
        return (
            "GHCM-100",
            f'expected "else", found {_found(found, piece.rule)}',
            'An "if" always has both values.',
            "write if ... then ... else ...",
        )
    if kind == "COLON" and "THEN" in accepted:
        return ("GHCM-100", 'expected "then", found ":"', "", "write if ... then ... else ...")
    if piece.rule == "program" and index == 0:
        return (
            "GHCM-116",
            f'expected "program" and its name, found {_found(found, piece.rule)}',
            "",
            'the first line is "program NAME"',
        )
    return _foreign_habit(found, before, previous, piece, accepted)


def _foreign_habit(
    found: Token | None, before: Token | None, previous: str, piece: Piece, accepted: frozenset[str]
) -> _Special | None:
    words = {"let": "name = ...", "var": "name = ...", "val": "name = ...", "const": "name = ...", "lambda": "x => ...",
             "def": "stream NAME { ... }", "return": "name = ...", "for": "a pipeline: .map(x => ...)", "while": ".iterate(...)"}  # fmt: skip
    if before is not None and str(before) in words and found is not None and found.type in ("NAME", *_SOFT):
        return ("GHCM-100", f'"{before}" is no word of this language', "", f"write {words[str(before)]}")
    if piece.rule == "declaration" and found is piece.tokens[0]:
        detail = "Outside of units stand records, caches, sinks and units."
        hint = "pipelines stand inside a unit: stream NAME { ... }"
        return ("GHCM-121", f"expected a declaration, found {_found(found, piece.rule)}", detail, hint)
    if (
        found is not None
        and found.type == "IF"
        and "EQ" not in accepted
        and previous in ("PLUS", "MINUS", "TIMES", "OVER")
    ):
        return ("GHCM-100", '"if" inside an operation', "", 'put "if ... then ... else ..." in parentheses')
    return None


def _reserved_word(token: Token) -> _Special:
    hint = f'choose another name; a field may say where it stands in the source: kind: string from "{token}"'
    return ("GHCM-108", f'"{token}" is a reserved word and cannot be a name', "", hint)
