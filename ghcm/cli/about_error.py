"""What `ghcm explain --error CODE` says: what the code of a message stands for, and what to do."""

from __future__ import annotations

from ghcm.cli import terminal
from ghcm.codes import KINDS, Code, Kind
from ghcm.errors import GhcmError

_OF_PROGRAMS = "Do what the hint of the message says; docs/errors.md has an example."


def about_error(code: str, *, json: bool) -> None:
    """Print what a code stands for, given as `GHCM-207` or `207`; GhcmError if no message has it."""
    kinds = {kind.code: kind for kind in KINDS}
    kinds |= {each.value: Kind(each.value, each.meaning, _OF_PROGRAMS) for each in Code}
    wanted = code.upper() if code.upper().startswith("GHCM-") else f"GHCM-{code}"
    found = kinds.get(wanted)
    if found is None:
        hint = "docs/errors.md lists all of them."
        raise GhcmError(f'"{code}" is no code of an error', code="GHCM-623", hint=hint)
    if json:
        terminal.json_line({"code": found.code, "meaning": found.meaning, "remedy": found.remedy})
    else:
        terminal.say(f"{found.code}: {found.meaning}\n\n  {found.remedy}")
