"""Arrays of NumPy, by what stands in them. Whoever cuts bytes in a process of its own loads these without Polars."""

from typing import Any, TypeAlias

import numpy as np

Octets: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
"""Eight bytes each."""
Marks: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Places: TypeAlias = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
