"""Places as Hadoop has them: what Spark's own readers read by URL, where its client for such a store is at hand.

Where it is not, Spark's Python workers read by the clients of Arrow, which need no download.
"""

import re
from typing import Any
from urllib.parse import unquote

from pyspark.sql import SparkSession

from ghcm.codegen.spark.library.sql import text
from ghcm.stores import environment, hadoop_settings, scheme_of

_CALLED = {"s3": "s3a"}
"""Schemes under other names."""


def spark_path(spark: SparkSession, path: str) -> str | None:
    """A path of this machine or a URL as Spark reads it; None where it has no client for that."""
    scheme = scheme_of(path)
    if scheme is None:
        return path
    called = _CALLED.get(scheme, scheme)
    context: Any = spark.sparkContext
    settings = context._jsc.hadoopConfiguration()
    try:
        getattr(context._jvm, "org.apache.hadoop.fs.FileSystem").getFileSystemClass(called, settings)
    except Exception:  # whatever py4j raises: there is no such class
        return None
    here = str(spark.sparkContext.master).startswith("local")  # workers elsewhere have keys of their own
    for name, value in hadoop_settings(scheme, keys=here).items():
        settings.set(name, value)
    return called + path.removeprefix(scheme)


def share_connection(spark: SparkSession) -> None:
    """Let Spark's Python workers, on other machines too, find the store that this process does."""
    spark.sparkContext.environment.update(environment())


def path_in(url: str) -> str:
    """The path of a file that Spark names so, or its URL as programs say it."""
    if url.startswith("file:"):
        return unquote(re.sub("^file:/+", "/", url))
    scheme = scheme_of(url)
    ours = next((name for name, called in _CALLED.items() if called == scheme), scheme)
    return unquote(url if ours is None or scheme is None else ours + url.removeprefix(scheme))


def path_sql(url: str) -> str:
    """The same in SQL."""
    found = f"regexp_replace(url_decode(replace({url}, '+', '%2B')), '^file:/+', '/')"
    for name, called in _CALLED.items():
        found = f"regexp_replace({found}, {text(f'^{called}://')}, {text(f'{name}://')})"
    return found
