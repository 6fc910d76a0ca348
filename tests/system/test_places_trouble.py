"""Stores in trouble, and those who use them: killed, slow, failing, without rights. Nothing is lost."""

from __future__ import annotations

import json
import random
import socket
import time
from contextlib import closing
from pathlib import Path

import pytest

from ghcm import driver, stores
from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.housekeeping import Housekeeping
from ghcm.runtime.daemon.resubmission import Again, EarlierJobs
from ghcm.runtime.daemon.state import StateDirectory, note_base, note_job
from ghcm.runtime.jobs.store import JobState, open_store
from ghcm.runtime.settings import Keep
from tests.object_store import KEYS, BadLine, ObjectStore
from tests.system.place_runs import PROGRAM, given, killed_and_gone_on, lines, opened_rows, put, rows_in
from tests.system.running import ghcm

ROOT = Path(__file__).resolve().parents[2]

# --- killed -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_kill_9_at_any_moment_and_a_restart_elsewhere_lose_and_double_nothing(
    store: ObjectStore, tmp_path: Path
) -> None:
    bucket, chance = store.bucket(), random.Random(5)
    for number in range(6):
        put(bucket / "in" / f"{number}.json", lines(range(number * 3000, number * 3000 + 3000)))
    program = tmp_path / "p.istream"
    program.write_text(PROGRAM.replace("PLACE", str(bucket)))
    killed_and_gone_on(program, bucket, tmp_path, chance, kills=8)
    wanted = [(number, f"h{number % 13}") for number in range(18_000)]
    text = program.read_text()
    assert rows_in(text, "flows", tmp_path) == wanted
    assert rows_in(text, "plain", tmp_path) == wanted[::10]
    assert sorted(opened_rows(bucket / "flows")) == wanted
    left = [key for key in store.keys(bucket) if "/_ghcm/" in key and "/.kept/" not in key]
    assert left == []


def test_a_job_is_taken_over_by_another_state_directory(store: ObjectStore, tmp_path: Path) -> None:
    source, snapshots = tmp_path / "p.istream", store.bucket() / "snapshots"
    source.write_text('program p\nsink o = files("out")\nstream s { files("in", follow = true).to(o) }')
    bundle = driver.build(source, tmp_path / "p.ghcm")
    since = {"s": {"policy": 2}}
    for job, version in (("p-0a1b2c3d", 1), ("p-0a1b2c3d", 2), ("p-more-0a1b2c3d", 1)):
        note_job(snapshots, job, version, bundle, since)
    left = sorted(each.name for each in snapshots.iterdir())
    assert left == ["p-0a1b2c3d-2.ghcm", "p-0a1b2c3d.json", "p-more-0a1b2c3d-1.ghcm", "p-more-0a1b2c3d.json"]
    state = StateDirectory(tmp_path / "other")
    state.path.mkdir()
    with closing(open_store(state.store)) as jobs:
        earlier = EarlierJobs(state, jobs, snapshots)
        found = earlier.resumed(Bundle.open(bundle), tmp_path, Again.RESUME)
        assert found is not None
        assert (found[0].id, found[0].version, found[0].since, found[1]) == ("p-0a1b2c3d", 2, since, None)
        assert Path(state.base(found[0].id).read_text()) == tmp_path
        assert earlier.resumed(Bundle.open(bundle), tmp_path, Again.RESUME) == found
        nothing = EarlierJobs(state, jobs, store.bucket())
        with pytest.raises(GhcmError, match="has no earlier job that could be resumed"):
            nothing.resumed(Bundle.open(bundle), tmp_path / "elsewhere", Again.RESUME)


def test_a_job_that_is_over_is_forgotten_in_a_store_with_all_that_is_its_own(
    store: ObjectStore, tmp_path: Path
) -> None:
    source, snapshots, state = tmp_path / "p.istream", store.bucket() / "snapshots", StateDirectory(tmp_path / "state")
    source.write_text('program p\nsink o = files("out")\nstream s { files("in", follow = true).to(o) }')
    bundle = driver.build(source, tmp_path / "p.ghcm")
    state.bundle("p-0").parent.mkdir(parents=True)
    with closing(open_store(state.store)) as jobs:
        for id in ("p-0", "p-1"):
            note_job(snapshots, id, 1, bundle, {})
            note_base(state.base(id), tmp_path)
            (snapshots / id / "s" / "1" / "manifest.json").write_bytes(b"{}")
            jobs.jobs.submit(id, "p", str(bundle))
            jobs.jobs.move(id, JobState.DONE)
        Housekeeping(Keep(jobs=1e-6), state, jobs, snapshots, lambda _: True).tidy()
        assert [job.id for job in jobs.jobs.find()] == ["p-1"]
    assert sorted(each.name for each in snapshots.iterdir()) == ["p-1", "p-1-1.ghcm", "p-1.json"]


# --- trouble ----------------------------------------------------------------------------------------------------------


def failure(folder: Path, program: str) -> str:
    with pytest.raises(GhcmError) as error:
        given(folder, program)
    return str(error.value)


def test_a_store_that_fails_for_a_while_loses_nothing(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, chance = store.bucket(), random.Random(3)
    program = PROGRAM.replace("PLACE", str(bucket))
    put(bucket / "in" / "0.json", lines(range(2000)))

    faults: list[str | int] = [*[""] * 27, 503, 500, "reset"]

    def fault(_method: str, _path: str) -> str | int:
        return chance.choice(faults)

    with BadLine(store, fault) as line:
        monkeypatch.setenv("GHCM_S3_ENDPOINT", line.endpoint)
        given(tmp_path, program, snapshots=bucket / "snapshots")
        assert line.faults
        wanted = [(number, f"h{number % 13}") for number in range(2000)]
        assert rows_in(program, "flows", tmp_path) == wanted
        assert rows_in(program, "plain", tmp_path) == wanted[::10]


def test_a_store_that_is_slow_is_waited_for(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = store.bucket()
    program = f"""program slow
record Flow {{ id: int, host: string }}
sink flows = parquet("{bucket}/flows", mode = append)
stream copy {{ files("{bucket}/in/*.json").as(Flow).to(flows) }}
"""
    put(bucket / "in" / "0.json", lines(range(100)))
    monkeypatch.setattr(stores, "_SILENT_S", 1)
    monkeypatch.setattr(stores, "_REQUEST_S", 1)
    waited: set[str] = set()

    def fault(method: str, path: str) -> str | int:
        """The first request of each kind gets no answer for longer than clients wait, the others a late one."""
        kind = f"{method} {path.partition('?')[0]}"
        first = kind not in waited and method in ("GET", "PUT") and "0.json" in path
        waited.add(kind)
        time.sleep(1.5 if first else 0.02)
        return ""

    with BadLine(store, fault) as line:
        monkeypatch.setenv("GHCM_S3_ENDPOINT", line.endpoint)
        given(tmp_path, program, snapshots=bucket / "snapshots")
        assert rows_in(program, "flows", tmp_path) == [(number, f"h{number % 13}") for number in range(100)]


def test_a_store_that_never_answers_is_said(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_SILENT_S", 1)
    monkeypatch.setattr(stores, "_ATTEMPTS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("GHCM_S3_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        said = failure(tmp_path, 'program p\nsink o = files("out")\nstream s { files("s3://b/in").to(o) }')
    assert 'cannot read "s3://b/in": the store does not answer, or fails' in said


def test_a_store_that_stays_away_is_said(tmp_path: Path, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_ATTEMPTS", 2)
    monkeypatch.setenv("GHCM_S3_ENDPOINT", "http://127.0.0.1:9")
    said = failure(tmp_path, 'program p\nsink o = files("out")\nstream s { files("s3://b/in").to(o) }')
    assert 'cannot read "s3://b/in": the store does not answer, or fails' in said
    assert "see that the store runs, and endpoint in [s3] of ghcm.toml" in said


def test_a_bucket_that_is_not_there_is_said(store: ObjectStore, tmp_path: Path) -> None:
    said = failure(tmp_path, 'program p\nsink o = files("out")\nstream s { files("s3://nobody-has-it/in").to(o) }')
    assert 'cannot read files "s3://nobody-has-it/in": no object matches' in said
    assert "see that bucket and name are right" in said
    for connector in ('parquet("s3://nobody-has-it/out")', 'files("s3://nobody-has-it/out")'):
        text = f"program p\nrecord R {{ a: int }}\nsink o = {connector}\nstream s {{ memory([R {{ a: 1 }}]).to(o) }}"
        said = failure(tmp_path, text)
        assert '"s3://nobody-has-it/out": there is no such bucket' in said
        assert "see that bucket and name are right" in said


def test_a_wrong_key_is_said_and_no_key_is(store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket, users = store.bucket(), store.client("iam")
    put(bucket / "in" / "a.json", lines(range(3)))
    users.create_user(UserName="u")
    every = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    users.put_user_policy(UserName="u", PolicyName="p", PolicyDocument=json.dumps(every))
    key = users.create_access_key(UserName="u")["AccessKey"]
    file = tmp_path / "keys"
    file.write_text(
        f"[me]\naws_access_key_id = {key['AccessKeyId']}\naws_secret_access_key = {key['SecretAccessKey']}\n"
    )
    source = f'files("{bucket}/in/*.json").as(F)'
    text = f"program p\nrecord F {{ id: int }}\nsink o = SINK\nstream s {{ {source}.to(o) }}"
    program = text.replace("SINK", f'parquet("{bucket}/out")')
    store.ask_for_keys(True)
    try:
        for which in (text.replace("SINK", 'files("out")'), program.replace(source, "memory([F { id: 1 }])")):
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-secret")
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
            said = failure(tmp_path / "wrong", which)
            assert "the store refuses the key" in said
            assert "see AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in said
            assert "not-the-secret" not in said
        monkeypatch.setenv("GHCM_S3_CREDENTIALS", str(file))
        monkeypatch.setenv("GHCM_S3_PROFILE", "me")
        given(tmp_path, program)
        assert rows_in(program, "o", tmp_path) == [(0,), (1,), (2,)]
        monkeypatch.setenv("GHCM_S3_PROFILE", "you")
        assert f'the credentials "{file}" cannot be read: it has no keys of the profile "you"' in failure(
            tmp_path / "no", text.replace("SINK", 'files("out")')
        )
    finally:
        store.ask_for_keys(False)


# --- by the command line ----------------------------------------------------------------------------------------------


def test_a_bundle_by_url_runs_with_keys_that_stand_nowhere_else(store: ObjectStore, tmp_path: Path) -> None:
    bucket, secret = store.bucket(), KEYS["AWS_SECRET_ACCESS_KEY"]
    put(bucket / "in" / "0.json", lines(range(100)))
    (tmp_path / "p.istream").write_text(PROGRAM.replace("PLACE", str(bucket)))
    bundle = driver.build(tmp_path / "p.istream", tmp_path / "p.ghcm")
    (bucket / "bundles" / "p.ghcm").put(bundle)
    home = tmp_path / "home"
    home.mkdir()
    config = f'snapshots = "{bucket}/snapshots"\n[s3]\nendpoint = "{store.endpoint}"\n'
    (home / "ghcm.toml").write_text(config)
    done = ghcm("run", f"{bucket}/bundles/p.ghcm", cwd=home, **KEYS)
    assert done.returncode == 0, done.stderr
    seen = ghcm("read", "places", "flows", "--json", cwd=home, **KEYS)
    assert len(seen.stdout.splitlines()) == 100, seen.stderr
    assert any("/snapshots/" in f"/{key}" and key.endswith("manifest.json") for key in store.keys(bucket))
    written = [path.read_bytes() for path in [*home.rglob("*"), bundle] if path.is_file()]
    assert not any(secret.encode() in each for each in [*written, done.stdout.encode(), done.stderr.encode()])
    away = ghcm("run", f"{bucket}/bundles/none.ghcm", cwd=home, **KEYS)
    assert (away.returncode, "there is no such object" in away.stderr) == (1, True)
