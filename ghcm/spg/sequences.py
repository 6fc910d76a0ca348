"""The operations that go through the values of each key in an order, and tell something from one to the next."""

from typing import TypeAlias

from ghcm.expr import Expr, Lambda
from ghcm.spg.traits import TIMED, State, Time, Together, Traits, operation
from ghcm.types import Struct


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


@operation(Traits(label="process {module}:{function}", state=State.KEYED, exchange=Together.KEY, hidden=TIMED))
class Process:
    """Calls the user's `module:function` with the key, the value, the time and what is kept of the key (a `state` or
    null, as at first) for each value, in the order of event time, of equal times in that of the values.

    It answers with a list of values that the task gives of the key at that time, with what is kept from then on, and
    with the moment, behind that of the call, at which it is called again, with null for the value: before any value
    of that time or a later one, and also when the input has ended. Each call names the moment anew, null for none. Of a
    key nothing is known where nothing is kept and no moment is named.

    A call that raises is a dead letter (`python`), and so is an answer of another type, or with a moment that is not
    behind, or that follows too many in a row (`wrong_result`; `ghcm.values.processing.MOST_MOMENTS`). Nothing is kept
    of it, and what was named before stays, unless that was its own moment. The input of a letter of a moment is the
    key. A record whose time is before its partition's watermark is one as well (`late`).
    """

    module: str
    function: str
    state: Struct


SequenceOp: TypeAlias = Preceding | Absent | Present | Scan | Process | Chunks
