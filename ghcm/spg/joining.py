"""The kinds of joins: which records without a partner they keep, and what they give. Facts only, no evaluation."""

from collections.abc import Sequence
from enum import Enum

from ghcm.expr import Get, Lambda, Var
from ghcm.types import INT_MAX, WINDOW, Collection, Field, Shape, Struct, Type, as_nullable, is_nullable, pair_of, strip


class JoinKind(Enum):
    """What a join does with records that belong to none of the other side."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def keeps_left(self) -> bool:
        """Whether a left record without a partner stays, with a null in the place of the right one."""
        return self in (JoinKind.LEFT, JoinKind.FULL)

    @property
    def keeps_right(self) -> bool:
        """Whether a right record without a partner stays, with a null in the place of the left one."""
        return self in (JoinKind.RIGHT, JoinKind.FULL)

    @property
    def streams(self) -> bool:
        """Whether each left record can be answered for by itself, without waiting for the end of the left side."""
        return not self.keeps_right

    @property
    def left_alone(self) -> bool:
        """Whether it gives left records as they are: those with a partner (semi) or without one (anti)."""
        return self in (JoinKind.SEMI, JoinKind.ANTI)


def joined_element(left: Type, right: Type, kind: JoinKind) -> Type:
    """The element `{left, right}`; a side that may be missing is nullable. Semi and anti joins give the left one."""
    if kind.left_alone:
        return left
    first = as_nullable(left) if kind.keeps_right else left
    second = as_nullable(right) if kind.keeps_left else right
    return Struct((Field("left", first), Field("right", second)))


def joined_pair(left: tuple[Type, Type], right: tuple[Type, Type], kind: JoinKind, *, windowed: bool = False) -> Struct:
    """The pair that a join by key gives of pairs of these keys and values, with their window where they have one.

    A key that may have found no partner may be null where its side's keys may be; one that has found a partner is not.
    """
    (left_key, left_value), (right_key, right_value) = left, right
    alone = kind is JoinKind.ANTI or kind.keeps_left
    may_be_null = (alone and is_nullable(left_key)) or (kind.keeps_right and is_nullable(right_key))
    key = as_nullable(strip(left_key)) if may_be_null else strip(left_key)
    pair = pair_of(key, joined_element(left_value, right_value, kind))
    return Struct((*pair.fields, Field("window", WINDOW))) if windowed else pair


def shares_window(left_keys: Sequence[Lambda], right_keys: Sequence[Lambda]) -> bool:
    """Whether what belongs together is in the same window, so that nothing has to be kept beyond its end."""
    pairs = {(_window_part(left), _window_part(right)) for left, right in zip(left_keys, right_keys, strict=True)}
    return ("window", "window") in pairs or {("start", "start"), ("end", "end")} <= pairs


def _window_part(key: Lambda) -> str:
    match key.body:
        case Get(of=Var(), field="window"):
            return "window"
        case Get(of=Get(of=Var(), field="window"), field=part):
            return part
        case _:  # any other key is not about the window
            return ""


def is_lookup(left: Collection, right: Collection) -> bool:
    """Whether the left records pass through one by one, in their order, and are looked up in the right side: in all of
    it where it ends, or in what a table holds when they come.
    """
    held = right.shape is Shape.TABLE or right.changing
    return (held and not left.changing) or (not left.bounded and right.bounded)


def is_revised(left: Collection, right: Collection) -> bool:
    """Whether both sides change, so that what was given may have to be taken back."""
    return left.changing and right.changing


def is_endless(left: Collection, right: Collection) -> bool:
    """Whether records of both sides meet as they come, and one of the sides never ends."""
    return not is_lookup(left, right) and not is_revised(left, right) and not (left.bounded and right.bounded)


FOREVER_US = INT_MAX
"""The interval of joins that keep their records for ever."""


def waits_us(interval_us: tuple[int, int], side: int) -> int:
    """How far behind the watermark of its partition a record of a side may be, so that others belong to it still: else
    it is late. The interval says how much later a right record is, at least and at most.
    """
    least, most = interval_us
    return max(0, most if side == 0 else -least)


def keeps_us(interval_us: tuple[int, int], side: int) -> int:
    """How long behind its time a record of a side is kept, since others that are not late may belong to it.

    >>> [keeps_us((-10, 10), side) for side in (0, 1)], [keeps_us((1, 10), side) for side in (0, 1)]
    ([20, 20], [10, 9])
    """
    least, most = interval_us
    return min(FOREVER_US, (most if side == 0 else -least) + waits_us(interval_us, 1 - side))


def is_late(time: int, watermark: int, within_us: int) -> bool:
    """Whether a record comes to a join of endless inputs within an interval when its partition's watermark has left the
    interval in which others belong to it.

    >>> is_late(100, 110, 10), is_late(100, 111, 10)
    (False, True)
    """
    return time + within_us < watermark


def joined_collection(
    element: Type, left: Collection, right: Collection, kind: JoinKind, *, by_key: bool
) -> Collection:
    """What a join gives. A lookup keeps the event time of its left records; else both sides have it, or none."""
    timed = left.timed and (right.timed or kind.left_alone or is_lookup(left, right))
    bounded = left.bounded and (right.bounded or is_lookup(left, right))
    shape = Shape.PAIRS if by_key else Shape.STREAM
    return Collection(shape, element, bounded, timed, by_key and left.windowed, left.changing)
