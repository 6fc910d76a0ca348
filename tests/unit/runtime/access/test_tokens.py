"""Tokens and their scopes, as they are made, kept and ended."""

import hmac
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from ghcm.cli.main import application
from ghcm.errors import GhcmError
from ghcm.runtime.access.scopes import Action, Scope, known_scopes, parse_scope, parse_scopes
from ghcm.runtime.access.tokens import TokenFile

NAMES = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,8}\Z") | st.just("*")
READ = parse_scopes("read:lake")
_OF_UNITS = st.builds(Scope, st.sampled_from([each for each in Action if each is not Action.SUBMIT]), NAMES, NAMES)
SCOPES = _OF_UNITS | st.builds(Scope, st.just(Action.SUBMIT), NAMES)


@given(SCOPES)
def test_scopes_are_read_as_they_are_printed(scope: Scope) -> None:
    assert parse_scope(str(scope)) == scope


@given(SCOPES, st.sampled_from(Action), NAMES, NAMES)
def test_a_scope_covers_its_own_action_on_its_own_units_alone(
    scope: Scope, action: Action, program: str, unit: str
) -> None:
    fits = all(mine in ("*", asked) for mine, asked in ((scope.program, program), (scope.unit, unit)))
    assert scope.covers(action, program, unit) == (scope.action is action and fits)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "read",
        "write:lake",
        "read:",
        "read:lake/",
        "read:a/b/c",
        "read:la ke",
        "read:a,",
        "submit:",
        "submit:lake/unit",
    ],
)
def test_what_is_no_scope_is_refused(text: str) -> None:
    with pytest.raises(GhcmError) as refused:
        parse_scopes(text)
    assert refused.value.code == "GHCM-630"


def test_what_somebody_else_means_is_no_scope_of_ours() -> None:
    assert known_scopes(["openid", "call:lake/rebuild", "email"]) == parse_scopes("call:lake/rebuild")


def test_who_may_submit_without_a_name_may_submit_all_programs() -> None:
    assert parse_scope("submit") == parse_scope("submit:*") == Scope(Action.SUBMIT)
    assert known_scopes(["submit", "submit:lake/unit"]) == (Scope(Action.SUBMIT),)


def test_only_the_hash_of_a_token_is_kept_and_for_its_owner_alone(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "state" / "tokens.json")
    token, text = tokens.create("ann", READ, 60)
    assert tokens.find(text) == token
    secret = text.split("_", 2)[2]
    assert len(secret) >= 43  # 256 bits
    assert secret not in tokens.path.read_text() and secret not in repr(token)
    assert token.digest not in repr(token)
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600


def test_another_text_is_no_token(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    _, text = tokens.create("ann", READ, 60)
    others = (text[:-1], text + "x", text.upper(), f" {text}", "", "ghcm_", "ghcm__", text.replace("ghcm_", "other_"))
    assert [other for other in others if tokens.find(other) is not None] == []


def test_a_wrong_secret_takes_as_long_as_the_right_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, compared = TokenFile(tmp_path / "tokens.json"), list[tuple[str, str]]()
    token, text = tokens.create("ann", READ, 60)
    same = hmac.compare_digest

    def comparing(left: str, right: str) -> bool:
        compared.append((left, right))
        return same(left, right)

    monkeypatch.setattr(hmac, "compare_digest", comparing)
    texts = [text, text[:-1], f"ghcm_{token.id}_", "ghcm_00000000_x", "x", ""]
    assert [tokens.find(each) for each in texts] == [token, *[None] * 5]
    assert len(compared) == len(texts) and {len(each) for pair in compared for each in pair} == {64}


def test_a_token_has_its_time(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    token, text = tokens.create("ann", READ, 60)
    assert tokens.find(text, token.expires - 1) == token
    assert tokens.find(text, token.expires) is None


def test_a_process_that_looks_sees_what_another_changes(tmp_path: Path) -> None:
    server, command = TokenFile(tmp_path / "tokens.json"), TokenFile(tmp_path / "tokens.json")
    assert server.all() == {}
    token, text = command.create("ann", READ, 60)
    assert server.find(text) == token
    command.revoke(token.id)
    assert server.find(text) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("scopes", ["write:lake"]), ("digest", "é"), ("digest", None), ("expires", "soon"), ("name", None), ("id", [])],
)
def test_a_file_that_somebody_has_spoilt_is_told_as_such(tmp_path: Path, field: str, value: object) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    tokens.create("ann", READ, 60)
    good = json.loads(tokens.path.read_text())
    documents: list[object] = [[], {"tokens": ["ann"]}, {"tokens": [good["tokens"][0] | {field: value}]}]
    for spoilt in documents:
        tokens.path.write_text(json.dumps(spoilt))
        with pytest.raises(GhcmError) as told:
            tokens.find("ghcm_00000000_x")
        assert told.value.code == "GHCM-632"


def test_tokens_that_are_made_at_once_are_all_there(tmp_path: Path) -> None:
    def make(number: int) -> str:
        return TokenFile(tmp_path / "tokens.json").create(f"n{number}", READ, 60)[1]

    with ThreadPoolExecutor(8) as threads:
        texts = list(threads.map(make, range(24)))
    tokens = TokenFile(tmp_path / "tokens.json")
    assert all(tokens.find(text) for text in texts)


def test_a_token_that_is_not_there_cannot_be_revoked(tmp_path: Path) -> None:
    with pytest.raises(GhcmError) as refused:
        TokenFile(tmp_path / "tokens.json").revoke("00000000")
    assert refused.value.code == "GHCM-631"


def test_the_command_makes_lists_and_revokes(tmp_path: Path) -> None:
    def ghcm(*words: str) -> Result:
        return CliRunner().invoke(application(["token"]), ["token", *words, "--state", str(tmp_path)])

    token = json.loads(ghcm("create", "ann", "--scope", "call:lake/rebuild,read:lake", "--json").stdout)
    tokens = TokenFile(tmp_path / "tokens.json")
    found = tokens.find(token["token"])
    assert found is not None and found.name == "ann"
    listed = ghcm("list")
    assert token["id"] in listed.stdout and "call:lake/rebuild" in listed.stdout
    assert token["token"] not in listed.stdout
    assert ghcm("revoke", token["id"]).exit_code == 0
    assert tokens.find(token["token"]) is None
    wrong = ghcm("create", "ann", "--scope", "everything")
    assert wrong.exit_code == 2 and "GHCM-630" in wrong.stderr
