"""The tables of the grammar, from which tokens are read and parsed.

They are made once, by `python -m ghcm.language.tables` after a change of `grammar.lark`, and shipped beside it: making
them takes longer than checking a program. Tables of another grammar or another lark are not used but made anew.
"""

import hashlib
import json
from collections.abc import Iterator
from copy import copy
from functools import cache
from importlib.resources import files
from typing import Any

import lark
from lark import Lark, Token
from lark.common import LexerConf
from lark.grammar import Rule
from lark.lexer import BasicLexer, Lexer, LexerState, TerminalDef
from lark.parsers.lalr_interactive_parser import InteractiveParser

STARTS = ("program", "declaration", "unit_header", "statement", "field", "expr")

_HOME = files("ghcm.language")
_SHIPPED = "grammar.json"
_SHIFT = 0
"""How lark writes the action that goes on to another state; any other one reduces by a rule."""


def grammar_text() -> str:
    """The grammar as it is written."""
    return _HOME.joinpath("grammar.lark").read_text(encoding="utf-8")


@cache
def grammar() -> Lark:
    """The tables of the grammar: the shipped ones if they are its own."""
    return shipped() or made()


def made() -> Lark:
    """The tables, made from the grammar, in which a test finds no conflict (`strict`): that takes as long again."""
    return Lark(grammar_text(), parser="lalr", lexer=_Fed, propagate_positions=True, start=list(STARTS))


def shipped() -> Lark | None:
    """The tables that stand beside the grammar, or None if they are missing or of another grammar or lark."""
    path = _HOME.joinpath(_SHIPPED)
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if found["made_from"] != _made_from():
        return None
    data, parser = found["data"], found["data"]["parser"]["parser"]
    data["options"]["lexer"] = data["parser"]["lexer_conf"]["lexer_type"] = _Fed
    parser["tokens"] = _numbered(parser["tokens"])
    parser["states"] = {state: _numbered(actions) for state, actions in _numbered(parser["states"]).items()}
    return Lark.load({"data": data, "memo": _numbered(found["memo"])})  # pyright: ignore[reportUnknownMemberType]


@cache
def words() -> dict[str, str]:
    """How each terminal is written; of names, numbers and strings the pattern."""
    return {each.name: each.pattern.value for each in grammar().terminals}


def fed_parser(rule: str) -> InteractiveParser:
    """A parser of one start rule that waits for tokens."""
    return grammar().parse_interactive(start=rule)  # pyright: ignore[reportUnknownMemberType]


@cache
def lexer() -> BasicLexer:
    """The reader of tokens, white space and comments included."""
    conf = copy(grammar().lexer_conf)
    conf.ignore, conf.skip_validation = (), True
    return BasicLexer(conf)


class _Fed(Lexer):
    """The parser is fed with tokens and reads no text."""

    def __init__(self, conf: LexerConf) -> None:
        self.conf = conf

    def lex(self, lexer_state: LexerState, parser_state: object) -> Iterator[Token]:
        """Give nothing."""
        yield from ()


def _made_from() -> dict[str, str]:
    return {"grammar": hashlib.sha256(grammar_text().encode()).hexdigest(), "lark": lark.__version__}


def _numbered(named: dict[str, Any]) -> dict[int, Any]:
    """The dictionary with the whole numbers as keys that JSON has made texts of."""
    return {int(key): value for key, value in named.items()}


def _in_order(parser: dict[str, Any]) -> dict[str, Any]:
    """The automaton with its tokens numbered by name and its states as they are reached from the start rules.

    lark numbers them in the order of sets of texts, which is another one in each run of Python.
    """
    names: dict[int, str] = parser["tokens"]
    tokens = {name: number for number, name in enumerate(sorted(names.values()))}
    by_name = {
        state: sorted((names[token], action) for token, action in actions.items())
        for state, actions in parser["states"].items()
    }
    reached = {state: number for number, (_, state) in enumerate(sorted(parser["start_states"].items()))}
    waiting = list(reached)
    for state in waiting:
        for _, (kind, target) in by_name[state]:
            if kind == _SHIFT and target not in reached:
                reached[target] = len(reached)
                waiting.append(target)

    def action(kind: int, target: Any) -> tuple[int, Any]:
        return kind, reached[target] if kind == _SHIFT else target

    return {
        "tokens": {number: name for name, number in tokens.items()},
        "states": {reached[state]: {tokens[name]: action(*each) for name, each in by_name[state]} for state in reached},
        "start_states": {rule: reached[state] for rule, state in parser["start_states"].items()},
        "end_states": {rule: reached[state] for rule, state in parser["end_states"].items()},
    }


def document() -> str:
    """The tables as text; the same bytes whenever they are made of one grammar by one lark."""
    data, memo = made().memo_serialize([TerminalDef, Rule])  # pyright: ignore[reportUnknownMemberType]
    data["options"]["lexer"] = data["parser"]["lexer_conf"]["lexer_type"] = None
    data["parser"]["parser"] = _in_order(data["parser"]["parser"])
    return json.dumps({"made_from": _made_from(), "data": data, "memo": memo}, separators=(",", ":"), sort_keys=True)


if __name__ == "__main__":
    with open(str(_HOME.joinpath(_SHIPPED)), "w", encoding="utf-8") as file:
        file.write(f"{document()}\n")
