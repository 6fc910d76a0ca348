"""Examples of the aggregates: a text of the language, and what it gives; a test executes each on the reference and in
the native forms. Those of operators and functions stand in their rows.
"""

from dataclasses import dataclass

from ghcm.reducers import AggregateFunction


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


_F = AggregateFunction

EXAMPLES: dict[AggregateFunction, tuple[Aggregated, ...]] = {
    _F.COUNT: (Aggregated("count()", "[1, 2, null]", "3"), Aggregated("count(value)", "[1, 2, null]", "2")),
    _F.SUM: (Aggregated("sum(value)", "[1, 2, null]", "3"),),
    _F.MEAN: (Aggregated("mean(value)", "[1, 2]", "1.5"), Aggregated("mean(value, scale = 2)", "[1, 2, 2]", '"1.67"')),
    _F.MIN: (Aggregated("min(value)", "[3, 1, 2]", "1"),),
    _F.MAX: (Aggregated("max(value)", '["a", "b"]', '"b"'),),
    _F.VAR: (Aggregated("var(value)", "[1, 2, 3, 4, 5]", "2.5"),),
    _F.STD: (Aggregated("std(value)", "[1, 3, 5]", "2.0"),),
    _F.FIRST: (
        Aggregated("first(value, order = r => -r)", "[3, 1, 2]", "3"),
        Aggregated("first(value, 2, order = r => -r)", "[3, 1, 2]", "[3, 2]"),
    ),
    _F.LAST: (
        Aggregated("last(value, order = r => -r)", "[3, 1, 2]", "1"),
        Aggregated("last(value, 2, order = r => -r)", "[3, 1, 2]", "[2, 1]"),
    ),
    _F.COLLECT: (Aggregated("collect(value)", "[3, 1, 3]", "[1, 3, 3]"),),
    _F.DISTINCT_COUNT: (Aggregated("distinct_count(value)", "[3, 1, 3]", "2"),),
    _F.APPROX_DISTINCT: (Aggregated("approx_distinct(value)", "[3, 1, 3]", "2"),),
    _F.QUANTILE: (Aggregated("quantile(value, 0.5)", "[4, 1, 3, 2]", "2"),),
    _F.TOP_K: (Aggregated("top_k(value, 2)", "[4, 1, 3, 4]", "[4, 4]"),),
    _F.MEDIAN: (Aggregated("median(value)", "[4, 1, 3, 9]", "3.5"), Aggregated("median(value)", "[1, 2, 9]", "2.0")),
    _F.MODE: (Aggregated("mode(value)", "[3, 1, 3, null]", "3"), Aggregated("mode(value)", '["b", "a"]', '"a"')),
    _F.COVAR: (Aggregated("covar(value, value * value)", "[1, 2, 3]", "4.0"),),
    _F.FOLD: (
        Aggregated("fold(value, 1, (product, v) => product * v, order = r => r)", "[3, null, 2]", "6"),
        Aggregated("fold(value, 0, (most, v) => max(most, abs(v)), merge = (a, b) => max(a, b))", "[3, -5]", "5"),
        Aggregated(
            "fold(value, { n: 0, sum: 0 }, (s, v) => { n: s.n + 1, sum: s.sum + v }, "
            "merge = (a, b) => { n: a.n + b.n, sum: a.sum + b.sum }, result = s => s.sum / s.n)",
            "[1, 2, null]",
            "1.5",
        ),
    ),
    _F.CORR: (Aggregated("corr(value, -2 * value)", "[1, 2, null, 3]", "-1.0"),),
}
