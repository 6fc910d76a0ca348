"""What Spark jobs share, as ordinary code: it travels in the bundle beside them and imports pyspark and itself only.

A bundle has it as the package `ghcm_spark` in `spark/ghcm_spark.zip`; `sql` imports nothing at all, so that the
compiler writes SQL with it too.
"""

__all__: list[str] = []
