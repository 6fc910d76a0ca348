"""What URLs mean, by which connection, and what is refused before anything runs. Stores at work: `tests/system`."""

import glob
import os
import pickle
import resource
import tempfile
from pathlib import Path

import pytest

from ghcm import places, stores
from ghcm.errors import GhcmError
from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.places import Remote, place
from ghcm.runtime.settings import load_settings
from ghcm.source import Source

ERRORS = {
    "AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7, Could not connect": ConnectionError,
    "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of Could not": ConnectionError,
    "google::cloud::Status(NOT_FOUND: Permanent error, with a last message of Received HTTP": FileNotFoundError,
    "AWS Error UNKNOWN (HTTP status 503) during GetObject operation: Slow down": ConnectionError,
    "Error performing PUT http://x in 3s, after 9 retries, max_retries: 9 - 500 Internal Server Error": ConnectionError,
    "AWS Error ACCESS_DENIED during HeadObject operation: No response body.": PermissionError,
    "The operation lacked the necessary privileges to complete for path t: 403 Forbidden": PermissionError,
    "AWS Error NO_SUCH_BUCKET during PutObject operation: The specified bucket does not exist": FileNotFoundError,
    "Parquet magic bytes not found in footer": OSError,
}


@pytest.mark.parametrize("said", ERRORS)
def test_what_clients_say_is_understood(said: str) -> None:
    assert type(stores.understood(OSError(said), "s3://b/k")) is ERRORS[said]


def test_a_path_of_this_machine_stays_one(tmp_path: Path) -> None:
    assert place(tmp_path, "in/x") == tmp_path / "in/x"
    assert place(tmp_path, "s3://b/in/") == Remote("s3://b/in")
    assert (Remote("s3://b/in") / "x.gz").suffix == ".gz"
    assert (Remote("s3://b") / "in" / "x").parent == Remote("s3://b/in")


@pytest.mark.parametrize(
    "pattern", ["*", "*.json", "**", "**/*", "**/b*", "a/*", "a/**/c", "[ab]*/?", ".*", "*/.*", "a/b"]
)
def test_globs_are_those_of_files(pattern: str, tmp_path: Path) -> None:
    names = ["a/b", "a/c", "a/b1/c", "a/b1/d/c", "x.json", ".hidden", "a/.hidden", ".h/c", "b.json"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    meant = {name for name in glob.glob(pattern, root_dir=tmp_path, recursive=True) if (tmp_path / name).is_file()}
    assert {name for name in names if places._matches(name.split("/"), pattern.split("/"))} == meant


def test_no_key_goes_with_what_is_sent_to_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "me")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "dont-tell")
    stores.file_system("s3://b/k")
    assert any("dont-tell" in map(str, key) for key in stores._clients)
    assert b"dont-tell" not in pickle.dumps(stores._clients)


def test_what_is_on_its_way_to_a_store_is_for_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = places.beside(Remote("s3://b/t"))
    assert folder.parent.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(GhcmError, match="belongs to someone else"):
        places.beside(Remote("s3://b/t"))


def test_one_connection_gives_both_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keys").write_text("[lake]\naws_access_key_id = a\naws_secret_access_key = b\naws_session_token = c\n")
    config = '[s3]\nendpoint = "http://127.0.0.1:9000"\nregion = "here"\ncredentials = "keys"\nprofile = "lake"\n'
    (tmp_path / "ghcm.toml").write_text(config)
    monkeypatch.chdir(tmp_path)
    for name in ("ENDPOINT", "REGION", "CREDENTIALS", "PROFILE"):
        monkeypatch.setenv(f"GHCM_S3_{name}", "")
        monkeypatch.delenv(f"GHCM_S3_{name}")
    load_settings()
    found = stores.delta_client("s3://lake/a table")
    assert found["table_uri"] == "s3://lake/a%20table"
    assert (
        found["storage_options"].items()
        >= {
            "aws_endpoint_url": "http://127.0.0.1:9000",
            "aws_region": "here",
            "aws_access_key_id": "a",
            "aws_secret_access_key": "b",
            "aws_session_token": "c",
            "aws_conditional_put": "etag",
            "aws_allow_http": "true",
        }.items()
    )
    system, path = stores.file_system("s3://lake/x")
    assert (system.type_name, system.region, path) == ("s3", "here", "lake/x")
    assert os.environ["GHCM_S3_CREDENTIALS"] == str(tmp_path / "keys")


def test_other_stores_have_their_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
    system, path = stores.file_system("abfss://box@account.dfs.core.windows.net/a/b")
    assert (system.type_name, path) == ("abfs", "box/a/b")
    uri = "abfss://box@account.dfs.core.windows.net/a"
    found = stores.delta_client(uri)
    assert (found["table_uri"], found["storage_options"]["azure_storage_account_key"]) == (uri, "a2V5")
    system, path = stores.file_system("gs://bucket/a/b")
    assert (system.type_name, path) == ("gcs", "bucket/a/b")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('stream s { files("ftp://x/y").to(o) }', '"ftp://x/y" is no place that can be read'),
        ('stream s { files("file:///y").to(o) }', '"file:///y" is no place that can be read'),
        ('stream s { files("s3://x/y", tail = true).to(o) }', "objects of a store cannot be tailed"),
        ('stream s { table("ftp://x/y").to(o) }', '"ftp://x/y" is no place that can be read'),
        ('stream s { files("s3:///y").to(o) }', '"s3:///y" is no place that can be read'),
        (
            'sink p = parquet("ftp://x/y")\nstream s { files("in").to(p) }',
            '"ftp://x/y" is no place that can be written',
        ),
        (
            'sink p = files("http://x/y")\nstream s { files("in").to(p) }',
            '"http://x/y" is no place that can be written',
        ),
    ],
)
def test_a_place_that_there_is_not_is_refused_when_a_program_is_checked(text: str, said: str) -> None:
    with pytest.raises(GhcmError) as error:
        lower(parse(Source("p.istream", f'program p\nsink o = files("out")\n{text}')))
    assert said in str(error.value)


@pytest.mark.parametrize("url", ["s3://me:dont-tell@x/y", "s3://dont-tell@x/y", "abfs://box:dont-tell@x/y"])
def test_a_key_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    why = stores.no_place(url, "read")
    assert why is not None
    assert "holds no key" in why[0]
    assert "dont-tell" not in "".join(why)


def test_an_endpoint_with_a_password_is_no_endpoint(tmp_path: Path) -> None:
    (tmp_path / "ghcm.toml").write_text('[s3]\nendpoint = "http://me:secret@host"\n')
    with pytest.raises(GhcmError, match=r"s3.endpoint in") as error:
        load_settings(directory=tmp_path, environment={})
    assert "secret" not in str(error.value)


def test_a_folder_that_is_made_private_is_closed_to_others_whatever_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(folder)
    for path in (folder, tmp_path / "link", tmp_path / "new"):
        places.make_private(path)
        assert path.stat().st_mode & 0o077 == 0


def test_a_private_file_that_finds_no_room_is_as_it_was(tmp_path: Path) -> None:
    places.write_private(tmp_path / "key", b"first")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            places.write_private(tmp_path / "key", bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (os.listdir(tmp_path), (tmp_path / "key").read_bytes()) == (["key"], b"first")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make what belongs to another")
def test_a_folder_of_another_is_refused_and_one_that_his_link_leads_to_is_not_touched(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir(mode=0o755)
    theirs.mkdir()
    (tmp_path / "link").symlink_to(ours)
    for path in (theirs, tmp_path / "link"):
        os.chown(path, 65534, 65534, follow_symlinks=False)
        with pytest.raises(GhcmError, match="belongs to someone else"):
            places.make_private(path)
    assert ours.stat().st_mode & 0o777 == 0o755
