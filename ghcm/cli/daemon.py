"""How commands find the daemon: its state directory from the option, the environment or ghcm.toml, and its socket."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ghcm.errors import GhcmError

if TYPE_CHECKING:
    from ghcm.runtime.daemon.protocol import Control
    from ghcm.runtime.daemon.state import StateDirectory


def state_of(state: Path | None) -> StateDirectory:
    """The state directory that the option names, else the settings."""
    from ghcm.runtime.daemon.state import StateDirectory
    from ghcm.runtime.settings import load_settings

    return StateDirectory(load_settings({"state": state}).state)


def control(state: Path | None) -> Control:
    """The client's side of the control socket."""
    from ghcm.runtime.daemon.protocol import Control

    return Control(state_of(state).control)


def request(
    url: str, body: object = None, *, method: str, timeout: float, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The JSON answer of the Supervisor; a problem it reports is raised as GhcmError."""
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=timeout) as answer:
            return cast("dict[str, Any]", json.load(answer))
    except urllib.error.HTTPError as refused:
        with refused:
            raise _problem(refused.read(), refused.code) from None
    except (urllib.error.URLError, TimeoutError) as error:
        raise GhcmError(f"the Supervisor at {url} does not answer", code="GHCM-727", detail=str(error)) from None


def _problem(body: bytes, status: int) -> GhcmError:
    try:
        problem = json.loads(body)
        code, message = str(problem["code"]), str(problem["message"])
    except (ValueError, KeyError, TypeError):
        message = f"the Supervisor answered with HTTP {status}"
        return GhcmError(message, code="GHCM-727", hint="ghcm logs http shows why.")
    return GhcmError(message, code=code, detail=str(problem.get("detail", "")), hint=str(problem.get("hint", "")))
