"""SECURITY.md: the pages, commands, options, settings, scopes and figures that it names are there as it says."""

import re
from typing import cast

import click
import typer

from ghcm.cli.main import application
from ghcm.runtime.access.scopes import Action
from ghcm.runtime.pubsub.envelope import LIMIT
from ghcm.runtime.settings import Settings
from ghcm.runtime.unpacking import MOST_BYTES
from ghcm.supervisor.access.identity import _OF_ISSUER_SECONDS
from tests.conftest import ROOT

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
CODE = re.findall(r"`([^`]+)`", PAGE)


def test_each_page_and_heading_that_it_leads_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)#?([^)]*)\)", PAGE)
    assert len(links) > 5
    for page, anchor in links:
        headings = re.findall(r"^#+ (.*)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert not anchor or anchor in [re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings]


def test_each_command_and_option_is_there() -> None:
    group = cast("click.Group", typer.main.get_command(application()))
    commands = {each.split()[1] for each in CODE if each.startswith("ghcm ") and not each.split()[1].startswith("--")}
    options = {word for each in CODE for word in each.split() if word.startswith("--")}
    assert commands and commands <= {*group.commands}
    known = {option for each in (group, *group.commands.values()) for found in each.params for option in found.opts}
    assert options and options <= known


def test_each_setting_is_one_and_reads_what_is_said() -> None:
    said = [found for each in CODE if (found := re.fullmatch(r"\[(\w+)\] (\w+)(?: = (\w+))?", each))]
    assert said
    for section, name, value in (found.groups() for found in said):
        model = type(getattr(Settings(), section))
        assert name in model.model_fields
        if value is not None:
            assert getattr(model.model_validate({name: value}), name) is (value == "true")


def test_scopes_and_figures_are_those_of_the_code() -> None:
    actions = {each.value for each in Action}
    named = {each for each in CODE if f"without `{each}`" in PAGE}
    assert named and named <= actions
    assert f"at most {LIMIT // 1024} KiB (a bundle {MOST_BYTES // 2**20} MiB" in PAGE
    assert f"its head {Settings().http.header_bytes // 1024} KiB" in PAGE
    assert _OF_ISSUER_SECONDS == 8 * 3600 and re.search(r"holds for\s+eight hours", PAGE)
