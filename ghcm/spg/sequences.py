"""The operations that go through the values of each key in an order, and tell something from one to the next."""

from typing import TypeAlias

from ghcm.expr import Expr, Lambda
from ghcm.spg.traits import TIMED, State, Time, Together, Traits, operation


@operation(Traits(state=State.KEYED, exchange=Together.KEY, hidden=TIMED))
class Preceding:
    """Gives with the value of each pair (`current`) the list of those before it of its key (`before`), the last so many
    at most, the latest at the end: in the order of event time, of equal times in that of the values.

    A record whose time is before its partition's watermark is a dead letter (`late`), and nobody's predecessor. What
    came before a silence of `ttl_us` (see `Absent`) is forgotten; None: nothing is.
    """

    count: int
    ttl_us: int | None = None


@operation(Traits(state=State.KEYED, exchange=Together.KEY, hidden=TIMED))
class Absent:
    """Gives for each silence of a key the value that came before it (`last`) and its time (`since`), `after_us` later.

    A key is silent when no record of it comes for that long: the next one, if any, is `after_us` or more behind. Of
    equal times the greatest value is the last. The end of the input leaves every key silent. A record whose time is
    before its partition's watermark is a dead letter (`late`), and one for which no moment is left an `overflow`.
    """

    after_us: int


@operation(Traits(state=State.KEYED, exchange=Together.KEY, hidden=TIMED))
class Present:
    """Gives the records of a key that come first, or after a silence (see `Absent`): of equal times the least value.

    A record whose time is before its partition's watermark is a dead letter (`late`).
    """

    after_us: int


@operation(Traits(state=State.KEYED, exchange=Together.KEY, hidden=TIMED))
class Scan:
    """Gives for each value what the function makes of what it gave for the value before it of its key, at first and
    after a silence of `ttl_us` (see `Absent`; None: never) of `start`, and of the value: in the order of event time, of
    equal times in that of the values.

    A record for which that fails is a dead letter, and the next value goes on from before it; so is one whose time is
    before its partition's watermark (`late`).
    """

    start: Expr
    function: Lambda
    ttl_us: int | None = None


@operation(Traits(label="chunks {count}", state=State.KEYED, exchange=Together.KEY, time=Time.NONE))
class Chunks:
    """Gives of every so many values of a key, as they come, the list; when the input ends what is left of each key.

    Stream units only: in a batch unit records come in no order.
    """

    count: int


SequenceOp: TypeAlias = Preceding | Absent | Present | Scan | Chunks
