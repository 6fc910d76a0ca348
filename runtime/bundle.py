"""Bundles as the runtime reads them: a zip file or the same as a directory; code, SPG and manifest of a compiled
program.

Needs nothing of the compiler. Files that were edited after the build are used as they are; `edited` names them.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType

from pydantic import BaseModel, ConfigDict

from ghcm.errors import GhcmError, sentence, suggest
from ghcm.runtime.unpacking import unpacked
from ghcm.signing import TrustedKeys
from ghcm.source import Origin, Source
from ghcm.spg.graph import Cache, Program, Sink, Unit
from ghcm.spg.json import from_json
from ghcm.spg.verify import verify

_FORMAT = 2
_AGAIN = "build it again, or undo what was changed in that file."
_NAME = re.compile(r"\w+(~\d+)?")
_importing = threading.RLock()
_ELSEWHERE = frozenset({"pyspark"})
"""Requirements that only the Spark driver needs, which checks them itself."""


@dataclass(frozen=True)
class Bundle:
    """An opened bundle. `folder` holds its files, `hash` tells its content from any other's."""

    path: Path
    folder: Path
    hash: str
    manifest: Manifest = field(repr=False)

    @classmethod
    def open(cls, path: Path | str, *, cache: Path | None = None, trusted: TrustedKeys | None = None) -> Bundle:
        """Open a bundle. A zip file is unpacked once into `cache` (default: a private folder of the user). GhcmError
        if it is no bundle, of a newer format, needs packages that are not installed, or is not signed by a key that
        is `trusted`, where some are.
        """
        found = Path(path)
        if not found.exists():
            hint = "build it again, or copy it again from where it is whole."
            raise GhcmError(f'cannot open bundle "{found}": there is no such file', code="GHCM-610", hint=hint)
        if trusted is not None and found.is_dir():
            trusted.require(found, None)
        try:
            folder, digest = (found, _hash_folder(found)) if found.is_dir() else unpacked(found, cache, trusted)
        except OSError as error:
            raise _unreadable(found, str(error.filename), error) from error
        manifest = _manifest(found, folder)
        bundle = cls(found, folder, digest, manifest)
        bundle.require()
        return bundle

    @cached_property
    def program(self) -> Program:
        """The SPG as the user wrote it."""
        return self._program("spg.json")

    @property
    def plan(self) -> Program:
        """The SPG as it was optimised: what engines run."""
        return self._optimised

    @cached_property
    def _optimised(self) -> Program:
        return self._program("plan.json")

    @cached_property
    def edited(self) -> tuple[str, ...]:
        """The files that differ from what was built, or are missing, by name."""
        known = sorted(self.manifest.files.items())
        return tuple(name for name, digest in known if _hash_file(self.folder / name) != digest)

    def line(self, origin: Origin) -> str:
        """The line of the program at this position; empty where the bundle does not have it."""
        file = self.folder / "source" / origin.file
        try:
            text = file.read_text(encoding="utf-8") if file.is_file() else ""
        except (OSError, ValueError):
            return ""
        return Source(origin.file, text).line(origin.line)

    def digest(self, file: str) -> str:
        """The SHA-256 of one of its files as it is now; empty where there is no such file."""
        return _hash_file(self.folder / file)

    def unit_module(self, unit: str, engine: str = "native") -> ModuleType:
        """The module that was generated of a unit for an engine, imported under a name that no other bundle has."""
        units = {each.name: each.modules for each in self.manifest.units}
        if unit not in units:
            raise GhcmError(f'bundle "{self.path}" has no unit "{unit}"', code="GHCM-611", hint=suggest(unit, units))
        if engine not in units[unit]:
            message = f'bundle "{self.path}" has no form of unit "{unit}" for the engine "{engine}"'
            raise GhcmError(message, code="GHCM-611", detail=f"It has {', '.join(units[unit])}.")
        return self._import(units[unit][engine])

    def load(self, name: str) -> ModuleType:
        """A Python module of the user's, or of an installed package. GhcmError if it cannot be imported."""
        folder = str(self.folder / "python")
        if folder not in sys.path:
            sys.path.insert(0, folder)
            importlib.invalidate_caches()
        _forget_others(self.folder / "python", name)
        try:
            return importlib.import_module(name)
        except ImportError as error:
            raise GhcmError(f'cannot import the Python module "{name}"', code="GHCM-612", detail=f"{error}.") from error

    def require(self) -> None:
        """GhcmError if a package is missing that the bundle needs."""
        wanted = self.manifest.requirements
        missing = [each for each in wanted if (name := _package(each)) not in _ELSEWHERE and not _installed(name)]
        if missing:
            raise GhcmError(
                f'bundle "{self.path}" needs packages that are not installed: {", ".join(missing)}',
                code="GHCM-613",
                hint=f"install them: pip install {' '.join(missing)}; one of the program's own is a file beside it, "
                f"{_package(missing[0])}.py, when it is built.",
            )

    def _program(self, name: str) -> Program:
        try:
            program = from_json(json.loads((self.folder / name).read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError) as error:
            raise _unreadable(self.path, name, error) from error
        if (odd := next(_no_names(program), None)) is not None:
            raise _unreadable(self.path, name, ValueError(odd))
        if name in self.edited and (broken := verify(program)):  # else the compiler has verified it
            raise _unreadable(self.path, name, ValueError("; ".join(broken[:3])))
        return program

    def _import(self, path: str) -> ModuleType:
        name = f"ghcm_bundle_{self.hash[:16]}_{re.sub(r'[^0-9A-Za-z_]', '_', path.removesuffix('.py'))}"
        with _importing:  # whoever comes second finds the module whole
            return sys.modules.get(name) or self._execute(name, path)

    def _execute(self, name: str, path: str) -> ModuleType:
        file = self.folder / path
        module = ModuleType(name)
        module.__file__ = str(file)
        try:
            code = compile(file.read_bytes(), str(file), "exec")
            sys.modules[name] = module  # its dataclasses and pickled states look themselves up by name
            with job_library(file.parent):
                exec(code, module.__dict__)
        except Exception as error:  # it is anybody's code: a user may have edited it
            sys.modules.pop(name, None)
            raise GhcmError(
                f'the generated module "{path}" of bundle "{self.path}" cannot be loaded',
                code="GHCM-614",
                detail=f"{type(error).__name__}: {error}.",
                hint="build the bundle again, or undo what was changed in that file",
            ) from error
        return module


_LIBRARY = "ghcm_spark"
_libraries: dict[str, dict[str, ModuleType]] = {}
"""The modules of each library of Spark jobs that was imported, by the hash of its zip."""


@contextmanager
def job_library(folder: Path) -> Generator[None]:
    """Where the jobs of a folder are imported: `ghcm_spark` is the zip beside them, which no other job sees.

    Bundles of different versions share a driver. Each keeps the modules that it was imported with, and functions go to
    Spark's Python workers by value, so that nothing there has to find a module by its name.
    """
    path = folder / f"{_LIBRARY}.zip"
    if not path.is_file():
        yield
        return
    with _importing:
        known = _libraries.setdefault(_hash_file(path), {})
        before = _taken_out(_LIBRARY)
        for name, module in known.items():  # what was not imported yet is found in this zip: the one before may be gone
            if hasattr(module, "__path__"):
                module.__path__ = [str(path.joinpath(*name.split(".")))]
        sys.modules.update(known)
        sys.path.insert(0, str(path))
        importlib.invalidate_caches()  # the zip may have been written anew
        try:
            yield
        finally:
            sys.path.remove(str(path))
            known |= _taken_out(_LIBRARY)
            sys.modules.update(before)


def _taken_out(package: str) -> dict[str, ModuleType]:
    """The modules of a package that are known by name, which they are no longer."""
    names = [name for name in sys.modules if name.partition(".")[0] == package]
    return {name: sys.modules.pop(name) for name in names}


class UnitEntry(BaseModel):
    """What the manifest says of a unit: its name, and the paths of its modules in the bundle, by engine."""

    model_config = ConfigDict(frozen=True, strict=True)
    name: str
    modules: dict[str, str]


class Manifest(BaseModel):
    """What a bundle says of itself: its format, the GHCM that built it, the packages that it needs where it runs, its
    units, and the digest of each file as it was built.
    """

    model_config = ConfigDict(frozen=True, strict=True)
    format: int
    ghcm: str = ""
    requirements: list[str] = []
    units: list[UnitEntry]
    files: dict[str, str] = {}


def _manifest(path: Path, folder: Path) -> Manifest:
    file = folder / "manifest.json"
    try:
        manifest = Manifest.model_validate(json.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise GhcmError(f'"{path}" is no bundle: it has no manifest', code="GHCM-610", detail=f"{error}.") from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, "manifest.json", error) from error
    if manifest.format != _FORMAT:
        raise GhcmError(
            f'bundle "{path}" has format {manifest.format}, this GHCM reads format {_FORMAT}',
            code="GHCM-610",
            hint="build it again with this GHCM",
        )
    for name in manifest.files:
        if not (folder / name).is_file():
            raise GhcmError(f'bundle "{path}" cannot be used: it lacks "{name}"', code="GHCM-610", hint=_AGAIN)
    return manifest


def _unreadable(path: Path, name: str, error: Exception) -> GhcmError:
    message = f'bundle "{path}" cannot be used: "{name}" cannot be read'
    return GhcmError(message, code="GHCM-610", detail=sentence(error), hint=_AGAIN)


def _no_names(program: Program) -> Iterator[str]:
    """What is called by no name of the language, though it may be so in a graph: folders, keys and topics are named by
    what these are called.
    """
    named: list[Program | Cache | Sink | Unit] = [program, *program.caches, *program.sinks, *program.units]
    for each in named:
        if _NAME.fullmatch(each.name) is None:
            yield f'"{each.name}" is no name of a {type(each).__name__.lower()}'


def _hash_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _hash_folder(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + _hash_file(path).encode())
    return digest.hexdigest()


def _package(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    return found[0] if found else requirement


def _installed(package: str) -> bool:
    from importlib.metadata import PackageNotFoundError, version  # large, and few programs have requirements

    try:
        version(package)
    except (PackageNotFoundError, ValueError):  # none that has such a name
        return False
    return True


def _forget_others(folder: Path, name: str) -> None:
    """Drop modules that another bundle of this process brought under the names of this one's."""
    top = name.partition(".")[0]
    known = sys.modules.get(top)
    if known is None or not ((folder / top).is_dir() or (folder / f"{top}.py").is_file()):
        return
    if str(getattr(known, "__file__", "") or "").startswith(str(folder)):
        return
    for each in [module for module in sys.modules if module == top or module.startswith(f"{top}.")]:
        del sys.modules[each]
    ours = str(folder)
    sys.path.remove(ours)
    sys.path.insert(0, ours)
