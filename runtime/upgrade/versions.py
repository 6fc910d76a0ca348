"""A version of a program as far as it can be told from another: graphs, generated code and Python modules of a bundle.

Where in the file a thing stands plays no part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from ghcm.runtime.bundle import Bundle
from ghcm.spg.graph import Program


@dataclass(frozen=True, slots=True)
class Version:
    """`program` as written, `plan` as optimised; by unit what its code was made by, or the digest of code that was
    edited; the digests of the Python modules.
    """

    program: Program
    plan: Program
    code: Mapping[str, str]
    python: Mapping[str, str]


def version_of(bundle: Bundle) -> Version:
    """The version that a bundle holds."""
    units = cast("list[dict[str, str]]", bundle.manifest["units"])
    # The same graph gives the same code but for the lines that it cites, so code is compared where that may not hold.
    made_by = f"ghcm {bundle.manifest.get('ghcm')}"
    code = {
        each["name"]: bundle.digest(each["module"]) if each["module"] in bundle.edited else made_by for each in units
    }
    return Version(bundle.program, bundle.plan, code, _python_files(bundle))


def _python_files(bundle: Bundle) -> dict[str, str]:
    """The digests of the user's Python modules by their path in the bundle."""
    files = cast("Mapping[str, str]", bundle.manifest.get("files", {}))
    return {name: bundle.digest(name) for name in files if name.startswith("python/")}
