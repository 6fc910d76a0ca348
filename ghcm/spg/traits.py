"""The facts of an operation, said once beside its class by `@operation`: what wiring, verifier, optimiser, pictures and
code generators read in place of a list of classes.

It knows no operation. What an operation makes of its records is no fact of this kind: the reference says it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import TypeVar, dataclass_transform

C = TypeVar("C")

TIME, WATERMARK = "@time", "@watermark"
"""The hidden columns of event time: a record's own, and that of its partition just before it."""
TIMED = frozenset({TIME, WATERMARK})


class Role(Enum):
    """Where in a graph it stands: what begins it, what goes on, and the three ends, which give nothing on."""

    SOURCE = "source"
    TRANSFORM = "transform"
    SINK = "sink"
    CALL = "call"
    REPLY = "reply"

    @property
    def ends(self) -> bool:
        """Whether its records leave the unit."""
        return self in (Role.SINK, Role.CALL, Role.REPLY)


class Arity(Enum):
    """The least and the greatest number of inputs."""

    NONE = (0, 0)
    ONE = (1, 1)
    TWO = (2, 2)
    SOME = (1, 1_000_000)


class State(Enum):
    """What it keeps of records that have gone through: nothing, something of each key, or of the whole input."""

    NONE = "none"
    KEYED = "keyed"
    WHOLE = "whole"


class Together(Enum):
    """Which records have to meet in one instance: none, those of a key, equal ones by some columns, or all; or those of
    a key where they are pairs, else all.
    """

    NONE = "none"
    KEY = "key"
    EQUAL = "equal"
    ALL = "all"
    KEY_OR_ALL = "key or all"


class Time(Enum):
    """What becomes of event time: kept, declared anew, that of the window's end, that of what was joined, or gone."""

    KEEPS = "keeps"
    DECLARES = "declares"
    WINDOW = "window"
    JOINS = "joins"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The facts of one operation. What is left out is what holds of operations on single records.

    `word`: its name in the language, that of its class where none is given. `label`: its line in pictures, with its
    fields in braces; empty where `ghcm.spg.labels` writes it. `hidden`: the hidden columns that it reads whatever is
    asked of it. `picks`: it gives on some of its records as they are, and all its functions are predicates.
    """

    word: str = ""
    label: str = ""
    role: Role = Role.TRANSFORM
    arity: Arity = Arity.ONE
    state: State = State.NONE
    exchange: Together = Together.NONE
    time: Time = Time.KEEPS
    hidden: frozenset[str] = frozenset()
    picks: bool = False


_TRAITS: dict[type, Traits] = {}


@dataclass_transform(frozen_default=True)
def operation(facts: Traits) -> Callable[[type[C]], type[C]]:
    """Makes a class frozen data with these facts."""

    def made(plain: type[C]) -> type[C]:
        frozen = dataclass(frozen=True, slots=True)(plain)
        _TRAITS[frozen] = replace(facts, word=facts.word or snake(plain.__name__))
        return frozen

    return made


def traits_of(op: object) -> Traits:
    """The facts of an operation; KeyError for what is none."""
    return _TRAITS[type(op)]


def hidden_before(op: object, behind: frozenset[str]) -> frozenset[str]:
    """The hidden columns that an operation reads, and those that it keeps of what is wanted behind it."""
    facts = traits_of(op)
    return facts.hidden | (behind if facts.time is Time.KEEPS else frozenset[str]())


@cache
def snake(name: str) -> str:
    """The name of a class as the text form writes it.

    >>> snake("GroupByKey")
    'group_by_key'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
