"""Whether the HTTP process lives and its calls can be served, for those who watch over it."""

import asyncio
import sys


async def answer_beats() -> None:
    """Answer each line of standard input with a beat on standard output: in the loop that serves, so that whatever
    holds that up is noticed.
    """
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.readline():
        print('{"event":"beat"}', flush=True)
