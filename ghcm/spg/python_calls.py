"""Calls of users' Python functions: by row, by batch, and of async ones."""

from typing import TypeAlias

from ghcm.spg.traits import Traits, operation


@operation(Traits(word="python", label="python {module}:{function} by batch"))
class PythonBatch:
    """The user's `module:function`, called with a pyarrow table of many records (a scalar in the column `value`), which
    gives as many records back, in the same order: a table, a record batch, for scalars an array, or a list.

    Results are checked as those of `PythonCall`. A batch that fails is replayed record by record, with tables of one.
    """

    module: str
    function: str


@operation(Traits(word="python", label="python {module}:{function}"))
class PythonCall:
    """The user's `module:function`, called with one record (a scalar as itself, a struct as a namedtuple-like object
    with attributes) and checked against the task's element.

    An exception is a dead letter (`python`), a result of another type too (`wrong_result`).
    """

    module: str
    function: str


@operation(Traits(word="python", label="python {module}:{function} by async"))
class PythonAsync:
    """The user's async `module:function`, called and checked as that of `PythonCall` is.

    At most `parallel` calls are under way at a time. One lasts `timeout_us` at most (None: however long it takes); one
    that fails is repeated `retries` times. Results are in the order of the records, or unless `ordered` as they come.
    """

    module: str
    function: str
    parallel: int = 16
    timeout_us: int | None = None
    retries: int = 0
    ordered: bool = True


PythonOp: TypeAlias = PythonCall | PythonBatch | PythonAsync
"""What calls users' Python functions."""
