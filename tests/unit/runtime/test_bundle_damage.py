"""Bundles that are damaged, or made to do harm: each is refused with a clear error, and leaves nothing."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import random
import shutil
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from ghcm.codegen.bundle import write
from ghcm.driver import build
from ghcm.errors import GhcmError
from ghcm.runtime import unpacking
from ghcm.runtime.bundle import Bundle
from tests.conftest import ROOT
from tests.unit.runtime.small_operators import word_count


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small bundle as the compiler writes it."""
    path = tmp_path_factory.mktemp("small") / "small.ghcm"
    write(word_count("*.txt"), word_count("*.txt"), {"native/main.py": "TASKS = {}\n"}, {"a.istream": "text"}, {}, path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def zipped(sealed: bytes) -> bytes:
    """The same as another tool zips it: without a seal."""
    with zipfile.ZipFile(io.BytesIO(sealed)) as archive:
        return made(*((name, archive.read(name)) for name in archive.namelist()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The bundle of an example with stream and batch units, as a folder."""
    shutil.copytree(ROOT / "examples" / "wordcount", tmp_path, dirs_exist_ok=True)
    with zipfile.ZipFile(build(tmp_path / "wordcount.istream", tmp_path / "wordcount.ghcm")) as archive:
        archive.extractall(tmp_path / "folder")
    return tmp_path / "folder"


def opened(data: bytes, folder: Path) -> dict[str, bytes]:
    """What is in a bundle of these bytes once it was opened, by path."""
    path = folder / "some.ghcm"
    path.write_bytes(data)
    bundle = Bundle.open(path, cache=folder / "cache")
    assert bundle.program.name == bundle.plan.name
    return {str(file.relative_to(bundle.folder)): file.read_bytes() for file in bundle.folder.rglob("*.*")}


def directory(data: bytes) -> int:
    """Where the directory at the end of a zip file begins."""
    return int(struct.unpack("<I", data[data.rfind(b"PK\x05\x06") + 16 :][:4])[0])


def structure(data: bytes) -> Iterator[int]:
    """Every byte of a zip file that is no file's content: heads, the directory, the end and what is behind it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            yield from range(entry.header_offset, entry.header_offset + 30 + len(entry.filename))
    yield from range(directory(data), len(data))


def flipped(data: bytes, bit: int) -> bytes:
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def test_a_bundle_of_which_a_bit_has_flipped_is_refused(sealed: bytes, tmp_path: Path) -> None:
    draw = random.Random(13)
    bits = [draw.randrange(8 * len(sealed)) for _ in range(300)]
    bits += [8 * byte + bit for byte in structure(sealed) for bit in draw.sample(range(8), 2)]
    for bit in bits:
        with pytest.raises(GhcmError, match="is no bundle: it is") as caught:
            opened(flipped(sealed, bit), tmp_path)
        assert caught.value.code == "GHCM-610" and caught.value.hint
    assert not (tmp_path / "cache").exists()
    assert "manifest.json" in opened(sealed, tmp_path)


def test_a_bundle_that_another_tool_has_zipped_is_refused_or_is_what_it_was(zipped: bytes, tmp_path: Path) -> None:
    whole = opened(zipped, tmp_path)
    draw = random.Random(13)
    bits = [draw.randrange(8 * len(zipped)) for _ in range(100)]
    bits += [8 * byte + bit for byte in structure(zipped) for bit in draw.sample(range(8), 1)]
    refused = 0
    for bit in bits:
        try:
            assert opened(flipped(zipped, bit), tmp_path) == whole, bit  # dates and the like mean nothing
        except GhcmError as error:
            assert error.code == "GHCM-610" and error.hint
            refused += 1
    assert refused > len(bits) / 2


def test_a_bundle_that_is_cut_off_or_goes_on_is_refused(sealed: bytes, tmp_path: Path) -> None:
    draw = random.Random(13)
    for length in (0, 1, 21, 22, len(sealed) - 1, *(draw.randrange(len(sealed)) for _ in range(50))):
        with pytest.raises(GhcmError, match="is no bundle"):
            opened(sealed[:length], tmp_path)
    with pytest.raises(GhcmError, match="damaged at its end"):
        opened(sealed + b"!", tmp_path)


def test_a_cache_that_cannot_be_used_is_no_damage_of_the_bundle(sealed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "some.ghcm"
    path.write_bytes(sealed)
    with pytest.raises(GhcmError, match="cannot be unpacked into") as caught:
        Bundle.open(path, cache=tmp_path / ("long" * 100))
    assert caught.value.code == "GHCM-616" and "XDG_CACHE_HOME" in caught.value.hint


def test_a_bundle_that_nobody_has_opened_for_long_does_not_stay_unpacked(
    sealed: bytes, zipped: bytes, tmp_path: Path
) -> None:
    opened(sealed, tmp_path)
    (unused,) = (tmp_path / "cache").glob("[!.]*")
    os.utime(unused, (0, 0))
    opened(sealed, tmp_path)  # by which it is used again
    opened(flipped(zipped, 8 * 12), tmp_path)
    assert len([*(tmp_path / "cache").glob("[!.]*")]) == 2
    os.utime(unused, (0, 0))
    opened(zipped, tmp_path)
    assert not unused.exists()


def made(*files: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return target.getvalue()


def longer(data: bytes, size: int) -> bytes:
    """The zip file, whose entries say that they have so many bytes."""
    at = directory(data)
    while (at := data.find(b"PK\x01\x02", at)) >= 0:
        data, at = data[: at + 24] + size.to_bytes(4, "little") + data[at + 28 :], at + 46
    return data


def link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o120777 << 16
    return entry


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (lambda: made(("../evil.txt", b"")), r"'../evil.txt', whose name leads out"),
        (lambda: made(("/evil.txt", b"")), r"'/evil.txt', whose name leads out"),
        (lambda: made(("a//b", b"")), "leads out of its folder or is no path"),
        (lambda: made(("./b", b"")), "leads out of its folder or is no path"),
        (lambda: made(("x" * 256, b"")), "leads out of its folder or is no path"),
        (lambda: made(("..\\evil.txt", b"")), "signs that names of files do not have"),
        (lambda: made(("a\nb", b"")), "signs that names of files do not have"),
        (lambda: made(("a.py#hidden", b"")).replace(b"#", b"\0"), "signs that names of files do not have"),
        (lambda: made((link("home"), b"/etc")), "'home', which is no plain file"),
        (lambda: made(("a", b"1"), ("a", b"2")), "'a' twice"),
        (lambda: made(("a", b"1"), ("a/b", b"2")), "'a' as a file and as a folder"),
        (lambda: made(*((f"{number}", b"") for number in range(unpacking.MOST_FILES + 1))), "10,001 files"),
        (lambda: longer(made(*((f"{n}", b"") for n in range(5))), 2**26), "335,544,320 bytes, and a bundle at most"),
    ],
)
def test_names_and_sizes_that_no_bundle_has_are_refused(data: Callable[[], bytes], said: str, tmp_path: Path) -> None:
    with pytest.raises(GhcmError, match=said):
        opened(data(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["some.ghcm"]


def test_a_file_that_is_longer_than_it_says_is_read_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GhcmError, match="it is damaged"):
        opened(longer(made(("bomb", bytes(2**26))), 10), tmp_path)
    monkeypatch.setattr(unpacking, "MOST_BYTES", 1000)
    with pytest.raises(GhcmError, match="more than 1,000 bytes"):
        opened(bytes(1001), tmp_path)


def test_a_cache_that_was_emptied_is_filled_again(sealed: bytes, tmp_path: Path) -> None:
    whole = opened(sealed, tmp_path)
    for file in (tmp_path / "cache").rglob("*.json"):
        file.write_bytes(b"")  # as a file system may leave it after a loss of power
    assert opened(sealed, tmp_path) == whole
    next((tmp_path / "cache").rglob("plan.json")).unlink()
    assert opened(sealed, tmp_path) == whole


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make what belongs to another")
def test_code_in_a_cache_of_another_user_is_not_taken(sealed: bytes, tmp_path: Path) -> None:
    opened(sealed, tmp_path)
    os.chown(tmp_path / "cache", 65534, 65534)
    with pytest.raises(GhcmError, match="belongs to someone else"):
        opened(sealed, tmp_path)


@pytest.mark.parametrize("name", ["manifest.json", "spg.json", "plan.json"])
def test_a_folder_whose_files_are_not_what_they_should_be_is_refused(folder: Path, name: str) -> None:
    text = (folder / name).read_bytes()
    for wrong in (b"", b"null", b"[]", b"3", b'"', b"\xff", b'{"format": 1, "spg": 1}', text[:-9], b"[" * 10**5):
        (folder / name).write_bytes(wrong)
        with pytest.raises(GhcmError) as caught:
            assert Bundle.open(folder).program is Bundle.open(folder).plan
        assert caught.value.code == "GHCM-610" and "folder" in str(caught.value)
    (folder / name).unlink()
    with pytest.raises(GhcmError, match=r"no manifest|it lacks"):
        Bundle.open(folder)


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in JSON."""
    keys: list[Any] = []
    if isinstance(document, dict):
        keys = list(cast("dict[str, Any]", document))
    elif isinstance(document, list):
        keys = list(range(len(cast("list[object]", document))))
    for key in keys:
        yield (*path, key)
        yield from places(document[key], (*path, key))


WRONG: list[Any] = [None, -1, 1e300, "", "\0", "x{", [], [[]], {}, {"is": "Map"}, {"decimal": "x"}, {"map": [[[], 1]]}]


@pytest.mark.parametrize("name", ["manifest.json", "spg.json"])
def test_whatever_is_changed_in_a_folder_is_refused_or_a_program(folder: Path, name: str) -> None:
    whole, draw, refused = json.loads((folder / name).read_text()), random.Random(13), 0
    where = list(places(whole))
    for path in draw.sample(where, min(len(where), 250)):
        changed = copy.deepcopy(whole)
        at = changed
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = draw.choice(WRONG)
        (folder / name).write_text(json.dumps(changed))
        try:
            bundle = Bundle.open(folder)
            assert bundle.program.units and bundle.edited is not None
        except GhcmError as error:
            assert error.code in ("GHCM-610", "GHCM-613"), error
            refused += 1
    assert refused > 10


@pytest.mark.parametrize("named", ["program", "units", "sinks", "caches"])
@pytest.mark.parametrize("name", ["", "..", "../../x", "a/b", "a\0b", "a\nb", "*"])
def test_a_name_that_leads_elsewhere_is_refused_also_where_its_bundle_was_made_with_it(
    folder: Path, named: str, name: str
) -> None:
    program, manifest = (json.loads((folder / each).read_text()) for each in ("spg.json", "manifest.json"))
    if named == "caches":
        program["caches"] = [
            {"name": "", "connector": {"is": "Redis", "place": "calls"}, "origin": program["sinks"][0]["origin"]}
        ]
    (program if named == "program" else program[named][0])["name"] = name
    text = json.dumps(program).encode()
    (folder / "spg.json").write_bytes(text)
    manifest["files"]["spg.json"] = hashlib.sha256(text).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(GhcmError, match=r"spg\.json") as refused:
        assert Bundle.open(folder).program.units
    assert "is no name of a" in refused.value.detail
