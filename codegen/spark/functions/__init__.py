"""The functions of the language as SQL: total over `ghcm.functions.FUNCTIONS`.

Many are texts of that table; what no text can say has an emitter here.
"""

from ghcm.codegen.spark.functions import collections, network, numbers, texts, time, time_texts
from ghcm.codegen.spark.functions.emitting import Emit, written
from ghcm.functions import FUNCTIONS

__all__ = ["EMITTED"]

EMITTED: dict[str, Emit] = {
    **{name: written for name, function in FUNCTIONS.items() if function.spark is not None},
    **numbers.EMITTERS,
    **texts.EMITTERS,
    **collections.EMITTERS,
    **time.EMITTERS,
    **time_texts.EMITTERS,
    **network.EMITTERS,
}
"""How each function of `ghcm.functions` is written; a test holds it total."""
