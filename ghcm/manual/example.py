"""Examples of aggregates and operators: a text of the language, and what it gives; a test executes each on the
reference and in the native forms. Those of functions stand in their rows.
"""

from __future__ import annotations

from dataclasses import dataclass


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
