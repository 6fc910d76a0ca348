"""The TextMate grammar by which editors colour IStream, made from the words of the language.

Patterns keep to what Oniguruma and Python's `re` read alike, so that tests can use them.
"""

from collections.abc import Iterable

from ghcm.language.literals import RESERVED
from ghcm.language.tables import grammar, words
from ghcm.lowering.expressions.applications import CALLABLE
from ghcm.lowering.expressions.typed import METHODS
from ghcm.lowering.operators.times import WINDOWS
from ghcm.lowering.types import BUILT_IN
from ghcm.operators import OPERATORS
from ghcm.reducers import AggregateFunction
from ghcm.spg.sinks import SINKS

_CONSTANTS = ("null", "true", "false")
_CALLED = (*(each.value for each in AggregateFunction), *METHODS, *SINKS, *WINDOWS)
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"


def textmate() -> dict[str, object]:
    """The grammar as an editor reads it from JSON."""
    control = [word for word in RESERVED if word not in _CONSTANTS]
    return {
        "name": "IStream",
        "scopeName": "source.istream",
        "fileTypes": ["istream"],
        "patterns": [
            {"name": "comment.line.number-sign.istream", "match": r"#.*$"},
            _string('"', "double"),
            _string("'", "single"),
            _declaration(),
            {
                "name": "constant.numeric.istream",
                "match": r"\b[0-9][0-9_]*(\.[0-9]+)?([eE][+-]?[0-9]+|us|ms|s|m|h|d)?\b",
            },
            {"name": "constant.language.istream", "match": _words(_CONSTANTS)},
            {"name": "keyword.control.istream", "match": _words(control)},
            {"name": "variable.parameter.istream", "match": rf"\b{_NAME}(?=\s*(?:,\s*{_NAME}\s*)?\)?\s*=>)"},
            {"name": "variable.parameter.istream", "match": rf"\b{_NAME}(?=\s*=(?![=>]))"},
            {"name": "support.function.operator.istream", "match": rf"{_words(OPERATORS)}(?=\s*\()"},
            {"name": "support.function.istream", "match": rf"{_words((*CALLABLE, *_CALLED))}(?=\s*\()"},
            {"name": "support.type.istream", "match": _words(BUILT_IN)},
            {"name": "keyword.other.istream", "match": r"\b(?:from|by|on|with)(?=\s+[\w\"'{])"},
            {"name": "entity.name.type.istream", "match": r"\b[A-Z][A-Za-z0-9_]*\b"},
            {"name": "keyword.operator.istream", "match": r"=>|==|!=|<=|>=|\?\?|//|[-+*/%<>=?@]"},
        ],
    }


def _string(quote: str, word: str) -> dict[str, object]:
    return {
        "name": f"string.quoted.{word}.istream",
        "begin": f"r?{quote}",
        "end": f"{quote}|$",
        "patterns": [{"name": "constant.character.escape.istream", "match": r"\\."}],
    }


def _declaration() -> dict[str, object]:
    """`stream monitor`, with the words that begin a declaration: they may be names too, so that their rule has them."""
    rules = (each.expansion for each in grammar().rules if each.origin.name == "name")
    names = {expansion[0].name for expansion in rules if len(expansion) == 1} - {"NAME", "ON", "FROM", "RESPONSIVE"}
    return {
        "match": rf"^\s*((?:responsive\s+)?(?:{'|'.join(sorted(words()[name] for name in names))}))\s+({_NAME})",
        "captures": {"1": {"name": "storage.type.istream"}, "2": {"name": "entity.name.function.istream"}},
    }


def _words(words: Iterable[str]) -> str:
    return rf"\b(?:{'|'.join(sorted(words))})\b"
