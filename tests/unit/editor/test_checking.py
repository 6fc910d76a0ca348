"""The check of whole programs in its own process: what it finds, and what happens when either process dies."""

import asyncio
import os
import signal
import subprocess
import sys

import psutil

from ghcm.editor.checking import Checker

GOOD = """program p

sink kept = parquet("out", mode = append)

stream u {
  memory([1, 2]).filter(n => n > 1).to(kept)
}
"""


def test_mistakes_come_with_their_places_in_the_whole_text() -> None:
    async def script() -> None:
        checker = Checker()
        assert await checker.check("p", GOOD) == []
        text = GOOD.replace("n > 1", "n > nobody")
        (found,) = await checker.check("p", text)
        assert text[found.start : found.end] == "nobody"
        broken = f"{text}\nstream v {{ memory([) }}\n"
        assert all(each.start > len(text) for each in await checker.check("p", broken))
        await checker.close()

    asyncio.run(script())


def test_a_checker_that_was_killed_is_started_again() -> None:
    async def script() -> None:
        checker = Checker()
        first = await checker.start()
        first.kill()
        await first.wait()
        assert await checker.check("p", GOOD) == []
        second = await checker.start()
        # Killed and not waited for: the server learns of it when it asks.
        os.kill(second.pid, signal.SIGKILL)
        assert await checker.check("p", GOOD) == []
        await checker.close()

    asyncio.run(script())


def test_the_checker_ends_with_a_server_that_is_killed() -> None:
    script = (
        "import asyncio\n"
        "from ghcm.editor.checking import Checker\n"
        "async def serve():\n"
        "    process = await Checker().start()\n"
        "    print(process.pid, flush=True)\n"
        "    await process.wait()\n"
        "asyncio.run(serve())\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        checker = psutil.Process(int(server.stdout.readline()))
        server.kill()
    gone, alive = psutil.wait_procs([checker], timeout=60)
    assert (len(gone), alive) == (1, [])
