"""The columns that aggregates read of records, which stand in the rows before these are grouped."""

from collections.abc import Iterator

from ghcm.expr import Lambda
from ghcm.reducers import Aggregate


def read_columns(aggregate: Aggregate) -> Iterator[tuple[str, Lambda]]:
    """The columns that an aggregate reads, with the functions of the record that give them."""
    if aggregate.argument is not None and not gives_record(aggregate):
        yield f"@{aggregate.name}", aggregate.argument
    if aggregate.order is not None:
        yield f"@{aggregate.name}.order", aggregate.order


def gives_record(aggregate: Aggregate) -> bool:
    """Whether it picks a record and gives the whole of it."""
    argument = aggregate.argument
    return aggregate.picks_record and argument is not None and argument.body == argument.parameters[0]
