"""What callers may do: scopes, and callers who have them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ghcm.errors import GhcmError

ALL = "*"


class Action(StrEnum):
    """What can be allowed."""

    CALL = "call"
    """Call a unit, and follow the calls that one has made."""
    READ = "read"
    """See calls, of whomever; and where all units of a program are allowed, its sinks, charts and failed records."""
    CANCEL = "cancel"
    """Cancel calls, of whomever."""
    SUBMIT = "submit"
    """Submit programs, which are code with the rights of the daemon, and stop them: whole ones alone."""


_OF_UNITS = "|".join(action for action in Action if action is not Action.SUBMIT)
_PATTERN = re.compile(
    rf"(?P<action>{_OF_UNITS}):(?P<program>\w+|\*)(?:/(?P<unit>\w+|\*))?"
    rf"|{Action.SUBMIT}(?::(?P<submitted>\w+|\*)(?:/\*)?)?"
)


@dataclass(frozen=True, slots=True)
class Scope:
    """One action on a unit of a program, or on all (`*`).

    >>> str(parse_scope("read:lake"))
    'read:lake/*'
    >>> parse_scope("call:lake/rebuild").covers(Action.CALL, "lake", "rebuild")
    True
    """

    action: Action
    program: str = ALL
    unit: str = ALL

    def covers(self, action: Action, program: str, unit: str) -> bool:
        """Whether it allows this; the unit `*` stands for all of them."""
        return self.action is action and self.program in (ALL, program) and self.unit in (ALL, unit)

    def __str__(self) -> str:
        return f"{self.action}:{self.program}/{self.unit}"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. As text the name, which no two callers share; it is empty where nobody has said who he is."""

    name: str
    scopes: tuple[Scope, ...] = ()

    def may(self, action: Action, program: str, unit: str = ALL) -> bool:
        """Whether a scope allows it."""
        return any(scope.covers(action, program, unit) for scope in self.scopes)

    def sees(self, program: str) -> bool:
        """Whether anything of the program is allowed, so that it is no secret which units it has."""
        return any(scope.program in (ALL, program) for scope in self.scopes)

    def programs(self, action: Action) -> list[str]:
        """The programs that it is allowed on, as scopes name them: `*` is all of them."""
        return [scope.program for scope in self.scopes if scope.action is action]

    def __str__(self) -> str:
        return self.name


ANYONE = Caller("")
"""Somebody who has not said who he is."""

LOCAL = Caller("local", tuple(Scope(action) for action in Action if action is not Action.SUBMIT))
"""Whoever asks on the loopback address where no tokens are needed: any user of the machine, so that he may have nothing
run as the daemon's.
"""


def parse_scope(text: str) -> Scope:
    """The scope of a text: `call:PROGRAM/UNIT`, `read:PROGRAM` for all units, `read:*` for all programs;
    `submit:PROGRAM`, `submit` for all. GhcmError if it is none.
    """
    found = _PATTERN.fullmatch(text)
    if found is None:
        detail = f"The actions are {', '.join(Action)}."
        hint = "write call:PROGRAM/UNIT, read:PROGRAM for all of its units, read:* for all programs, submit:PROGRAM."
        raise GhcmError(f'"{text}" is no scope', code="GHCM-630", detail=detail, hint=hint)
    if found["action"] is None:
        return Scope(Action.SUBMIT, found["submitted"] or ALL)
    return Scope(Action(found["action"]), found["program"], found["unit"] or ALL)


def parse_scopes(text: str) -> tuple[Scope, ...]:
    """The scopes of a text that has commas between them. GhcmError if there are none, or one is none."""
    return tuple(parse_scope(each.strip()) for each in text.split(","))


def known_scopes(texts: Iterable[str]) -> tuple[Scope, ...]:
    """Those of these texts that are scopes; others mean something to somebody else."""
    return tuple(parse_scope(each) for each in texts if _PATTERN.fullmatch(each))
