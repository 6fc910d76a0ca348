"""The operations that go through the values of each key in an order, and tell something from one to the next."""

from typing import TypeAlias

from ghcm.spg.traits import TIMED, State, Together, Traits, operation


@operation(Traits(label="preceding {count}", state=State.KEYED, exchange=Together.KEY, hidden=TIMED))
class Preceding:
    """Gives with the value of each pair (`current`) the list of those before it of its key (`before`), the last so many
    at most, the latest at the end: in the order of event time, of equal times in that of the values.

    A record whose time is before its partition's watermark is a dead letter (`late`), and nobody's predecessor.
    """

    count: int


@operation(Traits(state=State.KEYED, exchange=Together.KEY, hidden=TIMED))
class Absent:
    """Gives for each silence of a key the value that came before it (`last`) and its time (`since`), `after_us` later.

    A key is silent when no record of it comes for that long: the next one, if any, is `after_us` or more behind. Of
    equal times the greatest value is the last. The end of the input leaves every key silent. A record whose time is
    before its partition's watermark is a dead letter (`late`), and one for which no moment is left an `overflow`.
    """

    after_us: int


SequenceOp: TypeAlias = Preceding | Absent
