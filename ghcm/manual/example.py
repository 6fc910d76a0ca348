"""Examples: a text of the language, and what it gives; a test executes each on the reference and in the native forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ghcm.functions import Failure


@dataclass(frozen=True, slots=True)
class Example:
    """An expression and its value as JSON, or the reason for which a record that needs it becomes a dead letter.

    `given`: the type and the value of the record `r` that the expression reads, where constants cannot say it:
    `("{ n: int32 }", "{ n: 7 }")`. `declares`: records that the expression names.
    """

    text: str
    gives: str = ""
    fails: Failure | None = None
    given: tuple[str, str] = ("{ n: int }", "{ n: 0 }")
    declares: str = ""

    def program(self) -> str:
        """The program that replies with the value."""
        type_, value = self.given
        fields = type_.strip().removeprefix("{").removesuffix("}").strip()
        return (
            f"program example\n\nrecord Given {{ {fields} }}\n{self.declares}\n"
            f"responsive batch example {{\n  memory([{value}]).as(Given).map(r => {self.text}).reply()\n}}\n"
        )


@dataclass(frozen=True, slots=True)
class Aggregated:
    """An aggregate of `value` over the values of a list, and its result as JSON."""

    text: str
    values: str
    gives: str

    def program(self) -> str:
        """The program that replies with the result."""
        pairs = f'memory({self.values}).map_to_pair(v => ("k", v))'
        return (
            "program example\n\nresponsive batch example {\n"
            f"  {pairs}.aggregate_by_key(result = {self.text}).map(p => p.value.result).reply()\n}}\n"
        )


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The statements of a unit, and what it leaves, line by line: the records of the reply as JSON, `sink: record`,
    `call unit: arguments`, `dead letter (reason): input`.

    `declares`: records, sinks and other units. `unit`: its kind; where it is a responsive batch, the last statement is
    replied. `files`: the texts of files by path, or of what comes in at a socket by its address. `sinks`: the records
    that sinks hold, as JSON lines.
    """

    text: str
    gives: tuple[str, ...]
    declares: str = ""
    unit: str = "responsive batch"
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    sinks: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def program(self) -> str:
        """The whole program."""
        replies = self.unit == "responsive batch" and not self.text.endswith((".reply()", ".to(out)"))
        body = "\n".join(f"  {line}" for line in f"{self.text}{'.reply()' if replies else ''}".splitlines())
        return f"program example\n\n{self.declares}\n\n{self.unit} example {{\n{body}\n}}\n"
