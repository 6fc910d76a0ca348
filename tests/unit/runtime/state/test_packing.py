"""State as bytes by key group."""

from __future__ import annotations

import tracemalloc

import polars as pl

from ghcm.runtime.state.packing import key_groups, unpack_groups

FRAME = pl.DataFrame({"key": pl.int_range(200_000, eager=True)})


def test_rows_of_frames_lie_with_the_single_states_of_the_first_key_group() -> None:
    state = key_groups(iter([(1,), (2,), (4,)]), lambda entry: entry[0] % 2, [FRAME, FRAME], change=True)
    assert sorted(state) == [0, 1] and len(state) == 2
    entries, frame = unpack_groups(state[0])
    assert entries == [(2,), (4,)] and frame is not None and frame.equals(pl.concat([FRAME, FRAME]))
    assert unpack_groups(state[1]) == ([(1,)], None)


def test_bytes_that_were_taken_of_frames_are_not_kept() -> None:
    state = key_groups(iter(()), lambda _: 0, [FRAME], change=True)
    tracemalloc.start()
    try:
        assert sum(map(len, state.values())) > 8 * FRAME.height
        assert tracemalloc.get_traced_memory()[0] < FRAME.height
    finally:
        tracemalloc.stop()
