"""What Spark jobs share, as ordinary code that travels in the bundle beside them.

A bundle has it as the package `ghcm_spark` in `spark/ghcm_spark.zip`, and what it needs of GHCM, formats, types and
values, below it (`ghcm.codegen.spark.packing`). `sql` imports nothing at all, so that the compiler writes SQL with it
too.
"""

__all__: list[str] = []
