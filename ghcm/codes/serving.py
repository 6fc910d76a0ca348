"""Codes 2xx and 3xx that no line of a program is to blame for: the compiler's own, and answers over HTTP."""

from __future__ import annotations

from ghcm.codes.kind import Kind

SERVING = (
    Kind("GHCM-200", "a program with mistakes", "Mend each of those that are listed."),
    Kind(
        "GHCM-290", "a graph of the compiler that breaks its laws", "Report it with the program: the mistake is ours."
    ),
    Kind("GHCM-320", "arguments of a call that do not fit its unit", "Send the unit's parameters, each of its type."),
    Kind("GHCM-321", "a program that the Supervisor does not run", "Submit it, or take a name that is listed."),
    Kind("GHCM-322", "a unit that cannot be called", "Take a responsive unit of the program."),
    Kind("GHCM-323", "a call that is not known, or not any more", "Answered calls are forgotten after a day."),
    Kind("GHCM-324", "a request that does not fit its address", "Send what /docs says for it."),
    Kind("GHCM-325", "an id that belongs to another call", "Give every call an id of its own."),
    Kind("GHCM-326", "data of a call that is not done yet", "Wait for the call, then ask again."),
    Kind("GHCM-327", "data of a call that failed or was stopped", "Read in the call why, and call again."),
    Kind("GHCM-328", "data that the call's unit does not give", "Name one of the sinks that it writes."),
    Kind("GHCM-329", "a reply that is kept no longer", "Call again: replies are kept for ten minutes."),
    Kind("GHCM-330", "a Supervisor without its caches", "Ask again; if it stays so, see that Redis runs."),
    Kind("GHCM-331", "a request that is too large", "Send references, and put data into a sink."),
    Kind(
        "GHCM-340", "a question to a sink that cannot be answered", "Ask for columns that it has, and values of theirs."
    ),
    Kind(
        "GHCM-341", "a sink that is not there or cannot be looked at", "Take one of the program's that keeps its rows."
    ),
    Kind("GHCM-342", "a chart that cannot be drawn of these columns", "Name columns and a kind that go together."),
    Kind("GHCM-343", "a panel that is not there or is no chart", "Take one of the board's."),
    Kind("GHCM-345", "a chart that takes too long or finds no room", "Ask for fewer rows, or again in a second."),
)
