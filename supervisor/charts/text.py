"""Texts and numbers as charts show them. Whatever a host or a signature is called, it comes out as harmless text."""

from __future__ import annotations

import re

_HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff\ud800-\udfff]")
"""Controls, what no XML can hold, and marks that hide text or turn its direction."""

_THOUSANDS = ("", "k", "M", "G", "T", "P", "E")


def clean(text: object) -> str:
    """The text without what a reader cannot see.

    >>> clean("evil\\u202egnp.exe")
    'evil\ufffdgnp.exe'
    """
    return _HARMFUL.sub("\ufffd", str(text))[:200]


def short(text: str, most: int) -> str:
    """The text in at most so many characters; what it ends with tells hosts of one net apart.

    >>> short("workstation-0017.example.org", 16)
    'workstat…ple.org'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def quantity(value: float, unit: str = "") -> str:
    """A number in three digits with its unit.

    >>> quantity(12_345_678, "bytes"), quantity(0.25, "seconds"), quantity(12.5, "percent"), quantity(1200)
    ('12.3 MB', '250 ms', '12.5 %', '1.2 k')
    """
    if unit == "percent":
        return f"{value:.3g} %" if abs(value) >= 1 or value == 0 else f"{value:.2f} %"
    if unit == "seconds" and 0 < abs(value) < 1:
        return f"{value * 1000:.3g} ms"
    word = {"bytes": "B", "seconds": "s"}.get(unit, unit)
    size, step = abs(value), 0
    while unit != "seconds" and size >= 999.5 and step < len(_THOUSANDS) - 1:
        size, step = size / 1000, step + 1
    digits = f"{size:.0f}" if size >= 100 or size == int(size) else f"{size:.3g}"
    end = f"{_THOUSANDS[step]}{word}" if word == "B" else " ".join(part for part in (_THOUSANDS[step], word) if part)
    return f"{'-' if value < 0 else ''}{digits} {end}".rstrip()
