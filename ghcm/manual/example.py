"""Examples: a text of the language, and what it gives; a test executes each on the reference and in the native forms."""

from __future__ import annotations

from dataclasses import dataclass

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
