"""A batch in columns but for the pieces of it that hold a failing record, which are done by rows.

The columnar form says that some record fails, not which. So the batch is halved until the pieces that fail are small.
Where failing records are so many that this does not pay, what is left is done by rows as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from ghcm.runtime.data.batch import Batch

_SPARE_TRIES = 4


def in_pieces(
    batch: Batch, least: int, columns: Callable[[Batch], Batch | None], rows: Callable[[Batch], Batch]
) -> Batch:
    """What becomes of a batch. `columns` gives None where a record fails; both are called on pieces in the order of
    their records, `columns` first with the whole. Pieces of fewer than `least` records are not made.
    """
    made: list[Batch] = []
    left = [batch]
    tries = 2 * (len(batch) // max(least, 1)).bit_length() + _SPARE_TRIES
    while left:
        piece = left.pop()
        done = columns(piece) if tries else None
        if done is None and tries and len(piece) >= 2 * least:
            middle = len(piece) // 2
            left += [piece.slice(middle, len(piece)), piece.slice(0, middle)]
        else:
            made.append(rows(piece) if done is None else done)
        tries = max(0, tries - 1)
    if len(made) == 1:
        return made[0]
    some = [each for each in made if len(each)] or made[:1]
    return some[0] if len(some) == 1 else some[0].with_frame(some[0].schema, pl.concat([e.frame() for e in some]))
