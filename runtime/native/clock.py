"""The event time of a partition while a batch goes through generated code."""

import polars as pl

from ghcm.types import INT_MIN


class PartitionClock:
    """Gives each record its event time and the watermark just before it: the greatest time so far - `disorder_us`.

    `greatest` is that of the records before, None where there are none. Without a bound of disorder the watermark stays
    at minus infinity, and nothing is kept.
    """

    def __init__(self, greatest: int | None, disorder_us: int | None) -> None:
        self.greatest = greatest
        self._disorder = disorder_us

    def before(self, time: int) -> int:
        """The watermark before a record of this time (microseconds), which is the next one."""
        greatest, disorder = self.greatest, self._disorder
        if disorder is None:
            return INT_MIN
        self.greatest = time if greatest is None else max(greatest, time)
        return INT_MIN if greatest is None else max(INT_MIN, greatest - disorder)

    def stamped(self, frame: pl.DataFrame, time: pl.Expr) -> pl.DataFrame:
        """The frame with its times and watermarks as hidden columns; its records are the next ones, none without a
        time.
        """
        frame = frame.with_columns(time.alias("@time"))
        disorder, before = self._disorder, INT_MIN if self.greatest is None else self.greatest
        if disorder is None:
            return frame.with_columns(pl.lit(INT_MIN, pl.Int64).alias("@watermark"))
        so_far = pl.col("@time").cum_max().shift(1, fill_value=INT_MIN).clip(before)
        greatest = frame.get_column("@time").max()
        if isinstance(greatest, int):
            self.greatest = max(before, greatest)
        return frame.with_columns((so_far.clip(INT_MIN + disorder) - disorder).alias("@watermark"))
