"""An engine that waits for its arguments, with everything loaded that it needs: one JSON line on standard input, then
it is `ghcm.runtime.slot.process`. Who starts it is `ghcm.runtime.daemon.warm_standby`.
"""

import gc
import json
import os
import sys

from ghcm.collector import search_rarely


def main() -> int:
    """Wait for arguments, then be an engine; the exit code."""
    search_rarely()
    from ghcm.runtime.slot import process

    gc.collect()
    gc.freeze()  # now that nobody waits for it, and not when the engine starts
    line = sys.stdin.readline()
    if not line:
        return 0
    order = json.loads(line)
    os.environ.update(order["environment"])
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    os.close(log)
    return process.main(order["arguments"])


if __name__ == "__main__":
    sys.exit(main())
