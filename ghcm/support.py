"""Which engine can run what: the words in which the tables of operators and functions say it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Engine(Enum):
    """Who can run a task. The native engine has two forms: a task without a columnar form runs by rows."""

    REFERENCE = "reference"
    ROW = "native, row form"
    COLUMNAR = "native, columnar form"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Yes:
    """It runs there."""


@dataclass(frozen=True, slots=True)
class NotYet:
    """It will run there; `reason` says what it waits for. `code` and `hint` belong to the message about a program."""

    reason: str
    code: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Never:
    """It cannot run there; `reason` says why. `code` and `hint` belong to the message about a program."""

    reason: str
    code: str = ""
    hint: str = ""


RUNS: Mapping[str, tuple[str, ...]] = {"stream": ("native",), "batch": ("native", "spark")}
"""The engines that run the units of each kind, by the names that programs and bundles give them."""

MOST_INSTANCES = 64
"""How many instances a task has at most, whoever asks for them."""

Support: TypeAlias = Yes | NotYet | Never
YES = Yes()
