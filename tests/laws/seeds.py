"""One example of a Hypothesis strategy for one seed, and its shrinking: the same in every process and run.

Hypothesis itself runs many examples against one test and finds its own way through them; here the number of an example
is its name, so that any one of fifty thousand can be made again by itself. An example is the choices that its draws
made; leaving choices out, or making them smaller, gives smaller examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeAlias, TypeVar

from hypothesis.control import BuildContext
from hypothesis.errors import StopTest, UnsatisfiedAssumption
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.strategies import SearchStrategy

__all__ = ["Example", "example", "shrunk"]

T = TypeVar("T")
Choice: TypeAlias = int | str | bool | float | bytes


@dataclass(frozen=True, slots=True)
class Example(Generic[T]):
    """A value and the choices that made it."""

    value: T
    choices: tuple[Choice, ...]


class _OfSeedAlone(HypothesisProvider):
    """Draws without the constants that Hypothesis finds in the modules which happen to be imported."""

    def _maybe_draw_constant(self, *_: object, **__: object) -> None:
        return None


def example(strategy: SearchStrategy[T], seed: int) -> Example[T]:
    """The example of that number."""
    attempt = 0
    while True:
        data = ConjectureData(random=Random(seed * 1_000_003 + attempt), prefix=(), provider=_OfSeedAlone)
        found = _drawn(strategy, data)
        if found is not None:
            return found
        attempt += 1


def _drawn(strategy: SearchStrategy[T], data: ConjectureData) -> Example[T] | None:
    try:
        with BuildContext(data, is_final=False, wrapped_test=_drawn):
            value = data.draw(strategy)
    except (StopTest, UnsatisfiedAssumption):
        return None
    return Example(value, tuple(data.choices))


def shrunk(strategy: SearchStrategy[T], found: Example[T], fails: Callable[[T], bool], most: int = 500) -> Example[T]:
    """A smaller example that fails too, after at most so many runs of `fails`."""
    runs = 0
    progress = True
    while progress and runs < most:
        progress = False
        for choices in _smaller(found.choices):
            smaller = _drawn(strategy, ConjectureData.for_choices(choices))
            if smaller is None or _size(smaller.choices) >= _size(found.choices):
                continue
            runs += 1
            if fails(smaller.value):
                found, progress = smaller, True
                break
            if runs >= most:
                break
    return found


def _size(choices: Sequence[Choice]) -> tuple[int, float]:
    return len(choices), sum(_weight(each) for each in choices)


def _weight(choice: Choice) -> float:
    return min(abs(choice), 1e9) if isinstance(choice, int | float) and choice == choice else 1.0  # noqa: PLR0124    NaN


def _smaller(choices: tuple[Choice, ...]) -> Iterator[tuple[Choice, ...]]:
    """Without a run of choices, long runs first; then with single numbers made nothing."""
    size = len(choices) // 2
    while size:
        for start in range(0, len(choices), size):
            yield choices[:start] + choices[start + size :]
        size //= 2
    for place, choice in enumerate(choices):
        if type(choice) is int and choice:
            yield (*choices[:place], 0, *choices[place + 1 :])
        elif choice is True:
            yield (*choices[:place], False, *choices[place + 1 :])
