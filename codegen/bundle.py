"""Bundles: what a compiled program is shipped as, a zip file of code, SPG and manifest. The same input gives the same
bytes.

Reading one is the business of `ghcm.runtime.bundle`, which needs none of the compiler.
"""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ghcm.codegen.backend import zipped
from ghcm.codegen.engines import backends_of, module_path
from ghcm.errors import GhcmError
from ghcm.seal import seal
from ghcm.signing import read_key, sign
from ghcm.spg.graph import Program, Unit
from ghcm.spg.json import to_json as program_to_json
from ghcm.values import to_json
from ghcm.version import __version__

FORMAT = 2


def write(
    program: Program,
    optimised: Program,
    code: Mapping[str, str],
    sources: Mapping[str, str],
    python: Mapping[str, str],
    path: Path,
    requirements: Sequence[str] = (),
    key: Path | None = None,
) -> None:
    """Write the bundle to `path`, signed with the `key` in a file if there is one; a reader sees the old file or the
    new one, never a part. GhcmError where it cannot be written.
    """
    data = build(program, optimised, code, sources, python, requirements)
    data = data if key is None else sign(data, read_key(key))
    try:
        _replace(path, data)
    except OSError as error:
        raise GhcmError(
            f'the bundle "{path}" cannot be written: {(error.strerror or str(error)).lower()}',
            code="GHCM-615",
            hint="choose a file in a folder that can be written and has room: ghcm build -o FILE.",
        ) from error


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:  # whatever ends it, Ctrl-C too, no part of a bundle is left beside it
            os.unlink(file.name)
            raise


def build(
    program: Program,
    optimised: Program,
    code: Mapping[str, str],
    sources: Mapping[str, str],
    python: Mapping[str, str],
    requirements: Sequence[str] = (),
) -> bytes:
    """The bytes of the bundle. `code` by path in the bundle, `sources` and `python` by path below `source/` and
    `python/`; `requirements` are the packages that the user's modules import. The same arguments give the same bytes
    on every machine.
    """
    files = {path: text.encode() for path, text in code.items()}
    files |= {f"source/{path}": text.encode() for path, text in sources.items()}
    files |= {f"python/{path}": text.encode() for path, text in python.items()}
    backends = dict.fromkeys(each for unit in optimised.units for each in backends_of(unit))
    files |= {path: data for backend in backends for path, data in backend.shared.items()}
    files["spg.json"] = _json(program_to_json(program))
    files["plan.json"] = _json(program_to_json(optimised))
    files["manifest.json"] = _json(_manifest(optimised, files, requirements))
    return seal(zipped(files))


def _manifest(program: Program, files: Mapping[str, bytes], requirements: Sequence[str]) -> dict[str, object]:
    backends = dict.fromkeys(each for unit in program.units for each in backends_of(unit))
    needed = dict.fromkeys(each for backend in backends for each in backend.requirements)
    return {
        "format": FORMAT,
        "program": program.name,
        "ghcm": __version__,
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "requirements": [*needed, *requirements],
        "units": [_unit(program, unit) for unit in program.units],
        "files": {path: hashlib.sha256(files[path]).hexdigest() for path in sorted(files)},
    }


def _unit(program: Program, unit: Unit) -> dict[str, object]:
    return {
        "name": unit.name,
        "kind": unit.kind,
        "responsive": unit.responsive,
        "modules": {backend.name: module_path(backend, unit) for backend in backends_of(unit)},
        "cache": _cache(program, unit) if unit.responsive else None,
        "parameters": [
            {"name": each.name, "type": str(each.type), "required": each.required}
            | ({} if each.required else {"default": to_json(each.default, each.type)})
            for each in unit.parameters
        ],
    }


def _cache(program: Program, unit: Unit) -> str:
    """The address of the msg cache that the unit listens to."""
    for cache in program.caches:
        if cache.name == unit.cache:
            return cache.connector.address[1]
    return f"ghcm:cache:{program.name}:{unit.name}"


def _json(document: object) -> bytes:
    return (json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
