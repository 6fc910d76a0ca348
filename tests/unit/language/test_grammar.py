from importlib.resources import files
from typing import Any

import pytest
from lark import Lark
from lark.parsers.lalr_analysis import Shift

from ghcm.language import tables
from ghcm.language.tables import STARTS, document, grammar_text, made, shipped


def test_the_grammar_has_no_conflict_and_no_terminals_that_collide() -> None:
    Lark(grammar_text(), parser="lalr", lexer="basic", strict=True, start=list(STARTS))


def test_the_shipped_tables_are_those_of_the_grammar() -> None:
    found, fresh = shipped(), made()
    assert found is not None, "the grammar or lark has changed: run python -m ghcm.language.tables"
    assert _terminals(found) == _terminals(fresh)
    _same_automaton(_parse_table(found), _parse_table(fresh))


def test_they_are_made_with_the_same_bytes_in_every_run() -> None:
    shipped_text = files("ghcm.language").joinpath("grammar.json").read_text(encoding="utf-8")
    assert document() == shipped_text.removesuffix("\n")


def test_tables_of_another_grammar_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    other = grammar_text() + "// changed\n"
    monkeypatch.setattr(tables, "grammar_text", lambda: other)
    assert shipped() is None


def _terminals(lark: Lark) -> list[tuple[object, ...]]:
    return [(each.name, str(each.pattern.to_regexp()), each.priority) for each in lark.terminals]


def _rule(rule: Any) -> tuple[object, ...]:
    options = rule.options
    return rule, rule.alias, rule.order, options.expand1, options.keep_all_tokens, tuple(options.empty_indices)


def _parse_table(lark: Lark) -> Any:
    frontend: Any = lark.parser
    return frontend.parser._parse_table


def _same_automaton(one: Any, other: Any) -> None:
    """Whether both take the same steps from every start; how their states are numbered does not matter."""
    pairs = {one.start_states[start]: other.start_states[start] for start in STARTS}
    waiting = list(pairs)
    while waiting:
        state = waiting.pop()
        actions, others = one.states[state], other.states[pairs[state]]
        assert actions.keys() == others.keys()
        for token, (action, target) in actions.items():
            other_action, other_target = others[token]
            assert action == other_action
            if action is not Shift:
                assert _rule(target) == _rule(other_target)
            elif target not in pairs:
                pairs[target] = other_target
                waiting.append(target)
            else:
                assert pairs[target] == other_target
    assert {start: pairs[state] for start, state in one.end_states.items()} == other.end_states
