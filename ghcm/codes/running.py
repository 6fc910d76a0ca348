"""Codes 7xx: what goes wrong while programs run."""

from __future__ import annotations

from ghcm.codes.kind import Kind

RUNNING = (
    Kind("GHCM-700", "an error without a kind of its own", "Its text says all that is known."),
    Kind(
        "GHCM-701",
        "a unit or job that has failed for a reason without a code",
        "Read its log, then submit with --resume.",
    ),
    Kind(
        "GHCM-710", "a message between units that is not valid", "Send it as the documentation of the interface says."
    ),
    Kind("GHCM-711", "a message between units that is too large", "Send references, and put data into a sink."),
    Kind("GHCM-712", "a message between units that holds data", "Write the records to a sink, and send its version."),
    Kind("GHCM-720", "a Redis that cannot be reached or refuses the password", "See its address, and that it runs."),
    Kind("GHCM-721", "a command that Redis refused", "The detail has the words of the server."),
    Kind("GHCM-722", "a request that the daemon cannot read", "Use the same version for the command and the daemon."),
    Kind("GHCM-723", "no daemon that answers", "Start one with ghcm supervise."),
    Kind("GHCM-724", "a program that runs already", "Stop its job first, or submit an edit of it."),
    Kind("GHCM-725", "an address that the daemon cannot listen on", "Choose another port."),
    Kind("GHCM-726", "a log that does not exist", "Take one of those that are named."),
    Kind(
        "GHCM-727", "a Supervisor that does not answer as one", "See that its daemon runs and that the port is right."
    ),
    Kind("GHCM-728", "a daemon that did not start or has ended", "Read its log."),
    Kind("GHCM-729", "a program that another daemon runs on the same Redis", "Stop it there, or use another Redis."),
    Kind("GHCM-730", "a folder of a sink that cannot be used", "Let the process read and write it."),
    Kind("GHCM-731", "no room to write", "Make room on the disk, or give Redis more memory."),
    Kind("GHCM-732", "a version of a sink that is not there", "Ask for the latest: old versions are removed."),
    Kind("GHCM-733", "stored rows that are not of the sink's record", "Restore them, or write the sink anew."),
    Kind("GHCM-734", "a sink that cannot be written or read in this way", "Choose another mode or connector."),
    Kind("GHCM-735", "input that cannot be reached", "See its path or address, and who may read it."),
    Kind("GHCM-736", "input that is not of the format that is said", "Say its format, or correct the file."),
    Kind("GHCM-737", "generated records whose time no timestamp holds", "Start earlier, or let them follow closer."),
    Kind("GHCM-740", "a store of jobs and calls that cannot be used", "See its disk and who may write there."),
    Kind(
        "GHCM-741",
        "a store of jobs and calls that this GHCM cannot read",
        "Use the version that wrote it, or a backup.",
    ),
    Kind("GHCM-743", "a call whose deadline has passed", "Allow more time, or call again."),
    Kind("GHCM-744", "a job that is not there or does not run", "List the jobs with ghcm ps."),
    Kind("GHCM-745", "a call that has failed", "The message says where; mend the cause and call again."),
    Kind("GHCM-746", "too many calls at once", "Call again in a moment."),
    Kind("GHCM-747", "a table that is not there", "Take a table of a unit that runs."),
    Kind("GHCM-748", "a call whose program was stopped", "Call again, under a new id, when the program runs."),
    Kind("GHCM-750", "a Spark that cannot start", "Install pyspark and Java."),
    Kind("GHCM-751", "a batch unit that failed on Spark", "The message has the cause; the log has all of it."),
    Kind("GHCM-752", "a folder that another GHCM uses", "Stop that one, or choose another folder."),
    Kind("GHCM-753", "a folder that belongs to someone else", "Choose a folder of your own."),
    Kind("GHCM-754", "a private Redis server that cannot be started", "Install Redis 6.2 or later, or name a server."),
    Kind("GHCM-755", "a change that the engine cannot take at the moment", "Submit it again."),
    Kind("GHCM-756", "a snapshot of another version of GHCM", "Submit with --fresh, or go on with that version."),
    Kind("GHCM-757", "a sink that another job appends to", "End that job, write elsewhere, or say --beside."),
    Kind("GHCM-790", "a file or call that the system refused", "The message has its reason."),
    Kind("GHCM-799", "a mistake of GHCM itself", "Report it with the file that the message names."),
)
