from lark import Lark

from ghcm.language.tokens import STARTS, grammar_text


def test_the_grammar_has_no_conflict_and_no_terminals_that_collide() -> None:
    Lark(grammar_text(), parser="lalr", lexer="basic", strict=True, start=list(STARTS))
