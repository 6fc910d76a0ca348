"""Hive's folders, in which the files of a table stand that columns divide: `day=2026-01-02/host=a%2Fb/`.

The log of a Delta table has the same values as texts. Neither tells an empty text from null.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from ghcm.errors import GhcmError
from ghcm.types import Enumeration, String, Struct, strip

_NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
_LONGEST = 240
"""Bytes of the name of a folder, escaped as `deltalake` does where it compacts; file systems have 255."""


def folder_of(values: Mapping[str, object]) -> str:
    """The folder of the files whose rows have these values. GhcmError for a value that gives no name of a folder.

    >>> folder_of({"day": None, "host": "a/b", "up": True})
    'day=__HIVE_DEFAULT_PARTITION__/host=a%2Fb/up=true'
    """
    return "/".join(f"{_escaped(name)}={_folder(name, value)}" for name, value in values.items())


def values_in(file: str) -> dict[str, str | None]:
    """The values that the folders of a file say.

    >>> values_in("day=__HIVE_DEFAULT_PARTITION__/host=a%2Fb/part-0.parquet")
    {'day': None, 'host': 'a/b'}
    """
    parts = [folder.partition("=") for folder in Path(file).parts[:-1]]
    return {unquote(name): None if text == _NULL else unquote(text) for name, _, text in parts}


def texts_among(columns: Struct, partition: Sequence[str]) -> list[str]:
    """The columns of a partition that are texts: null in the table where they are empty."""
    texts = (each.name for each in columns.fields if isinstance(strip(each.type), String | Enumeration))
    return [name for name in texts if name in partition]


def _folder(name: str, value: object) -> str:
    if value is None or value == "":
        return _NULL
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if len(quote(f"{name}={text}", safe="")) > _LONGEST:
        raise GhcmError(
            f'a value of "{name}" is too long to divide a table',
            code="GHCM-734",
            detail=f'It begins with "{text[:40]}", and stands in the name of a folder.',
            hint="divide by a column with few short values; map(...) can add one",
        )
    return _escaped(text)


def _escaped(text: str) -> str:
    """As Hive and Spark do."""
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)
