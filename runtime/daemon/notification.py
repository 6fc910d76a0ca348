"""What the daemon tells the system that has started it, by the protocol of systemd (sd_notify(3)): that it listens,
that it ends, and every now and then that it is there. Where nobody wants to know it says nothing.
"""

import asyncio
import os
import socket
from contextlib import suppress


def notify(state: str) -> None:
    """Tell this state, such as `READY=1`."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
        connection.connect(f"\0{address[1:]}" if address.startswith("@") else address)
        connection.send(state.encode())


async def keep_watchdog() -> None:
    """Say in time that the loop gets on, for as long as somebody watches."""
    pause = int(os.environ.get("WATCHDOG_USEC", "0")) / 2e6
    while pause:
        notify("WATCHDOG=1")
        await asyncio.sleep(pause)
