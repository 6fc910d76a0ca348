"""Two daemons on one Redis: the first has the program until it gives it up or is gone."""

import asyncio
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.locks import Leases, owner_of
from tests.redis_server import RedisServer


def test_a_program_has_one_daemon(redis_server: RedisServer, tmp_path: Path) -> None:
    async def scene() -> None:
        one, other = (
            Leases(redis_server.url, f"{name} the {name} one", tmp_path / name, seconds=30)
            for name in ("first", "second")
        )
        await one.take("claimed")
        await one.take("claimed")  # as after a restart
        with pytest.raises(GhcmError, match="It is the first one"):
            await other.take("claimed")
        await other.take("unclaimed")
        await other.drop("claimed")  # not its own to give
        with pytest.raises(GhcmError, match="GHCM-729"):
            await other.take("claimed")
        await one.drop("claimed")
        await other.take("claimed")
        for leases in (one, other):
            await leases.close()

    asyncio.run(scene())


def test_a_daemon_that_lost_its_claim_is_told_and_one_that_lives_keeps_it(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    async def scene() -> None:
        one, other = (Leases(redis_server.url, name, tmp_path / name, seconds=0.3) for name in ("first", "second"))
        lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        await one.take("kept")
        await other.take("taken")
        keeping = asyncio.create_task(one.keep(lambda: ["kept", "taken"], lambda name, _: lost.set_result(name)))
        assert await asyncio.wait_for(lost, 20) == "taken"
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        with pytest.raises(GhcmError, match="GHCM-729"):
            await other.take("kept")
        for leases in (one, other):
            await leases.close()

    asyncio.run(scene())


def test_no_lease_waits_for_another_to_be_renewed(
    redis_server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, begun = {"one", "other"}, set[str]()
    both = asyncio.Event()

    async def slow(_: Leases, program: str) -> None:
        begun.add(program)
        if begun == programs:
            both.set()
        await both.wait()

    async def scene() -> None:
        leases = Leases(redis_server.url, "me", tmp_path / "leases", seconds=30)
        keeping = asyncio.create_task(leases.keep(lambda: programs, lambda *_: None))
        await asyncio.wait_for(both.wait(), 30)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await leases.close()

    monkeypatch.setattr(Leases, "renew", slow)
    asyncio.run(scene())


def test_a_server_that_is_away_is_told_at_once(tmp_path: Path) -> None:
    async def scene() -> None:
        leases = Leases(f"unix://{tmp_path}/none.sock", "me", tmp_path / "leases", seconds=30)
        with pytest.raises(GhcmError, match="cannot be reached"):
            await leases.take("any")
        await leases.close()

    asyncio.run(scene())


def test_an_owner_is_the_same_after_a_restart_and_differs_between_states(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert owner_of(tmp_path) == owner_of(tmp_path)
    assert owner_of(tmp_path) != owner_of(tmp_path / "other")
