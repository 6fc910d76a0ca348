"""docs/operations.md: the settings and the service that it shows."""

import configparser
import re
from pathlib import Path

from ghcm.runtime.settings import Settings, load_settings
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_settings_are_the_defaults_but_for_the_form_of_logs(tmp_path: Path) -> None:
    (tmp_path / "ghcm.toml").write_text(block("toml"))
    shown, default = load_settings(directory=tmp_path, environment={}), Settings()
    assert (shown.restarts, shown.limits, shown.quotas) == (default.restarts, default.limits, default.quotas)
    assert shown.log == default.log.model_copy(update={"format": "json"})


def test_the_service_starts_the_daemon_and_is_watched() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[method-assign,assignment]
    unit.read_string(block("ini"))
    service = unit["Service"]
    assert service["Type"] == "notify"
    name, value = service["Environment"].split("=")
    assert load_settings(environment={name: value}).log.format == "json"
    assert (service["ProtectSystem"], service["PrivateTmp"]) == (
        "strict",
        "yes",
    )  # else Spark has no folder for its own
    assert f"--home-dir {service['WorkingDirectory']} {service['User']}`" in PAGE  # ProtectHome hides others
