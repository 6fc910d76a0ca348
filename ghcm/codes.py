"""Every error code, what it stands for and what to do about it: one code for one kind of mistake.

`Code` holds what the lowering reports; golden tests have a wrong program for each. Nothing raises through the other
tables: tests compare them with the codes that the source raises. `ghcm explain --error` and the documentation are made
from all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique


@dataclass(frozen=True, slots=True)
class Kind:
    """A code (`GHCM-601`), what it stands for as a noun without a full stop, and what to do as sentences."""

    code: str
    meaning: str
    remedy: str


def _kind(number: int, meaning: str, remedy: str) -> Kind:
    return Kind(f"GHCM-{number}", meaning, remedy)


WRITING = (
    _kind(100, "text that is no program: a word or sign where another one is needed", "Write what is expected."),
    _kind(101, "a character, or a name with one, that the language does not have", "Names are ASCII, files UTF-8."),
    _kind(102, "a string without its closing quote", r"Close it on its line, or write \n for a new line."),
    _kind(
        103, "a string with an escape that means nothing", r'Write "\\" for a backslash, or put r before the string.'
    ),
    _kind(104, "a number that cannot be one or does not fit", "Whole numbers have 64 bits, with a sign."),
    _kind(105, "a bracket that is never closed", "Close it where the list, call or unit ends."),
    _kind(106, "a closing bracket with none to close", "Remove it, or open one before."),
    _kind(107, "an operator of another language", "The hint names ours where there is one."),
    _kind(108, "a word of the language where a name is needed", "Choose another name."),
    _kind(109, '"=" where values are compared', 'Compare with "==".'),
    _kind(110, "a comparison with null, which is never true", 'Write "is null" or "is not null".'),
    _kind(111, "a parameter of a function that is no name", "Write (a, b) => ... with names."),
    _kind(112, "a tuple of fewer than two items", "Leave the parentheses or the comma out."),
    _kind(113, "a record that gives its fields behind others", "Put ...r first: what stands behind it counts."),
    _kind(114, "a claim about a function that does not exist", "There are @associative and @commutative."),
    _kind(116, "a program that does not begin with its name", 'Put "program NAME" first.'),
    _kind(117, "a pattern that can match nothing", 'Write names, or "_" alone for everything else.'),
    _kind(118, "comparisons in a chain", 'Write "a < b and b < c".'),
    _kind(119, "an argument without a name behind one with a name", "Put it before, or name it too."),
    _kind(121, "something else than a declaration outside of units", "Put pipelines into a unit."),
    _kind(130, "Python done to a value that is only described", "Use the operators and functions of the language."),
    _kind(131, "a Python function that cannot be traced", "Write it as one expression, or as @program.python."),
    _kind(132, "a value that the Python interface does not take there", "The message says what it takes."),
    _kind(133, "a record made or declared wrongly in Python", "Give its fields a type, and each one value."),
    _kind(134, "a unit, store or function declared wrongly in Python", "Name it, and give its parameters types."),
    _kind(135, "a pipeline without a name that is used more than once", "Assign it to a variable."),
    _kind(136, "a Python file with no program, or with several", "Put one Program(...) into each file."),
    _kind(137, "a Python file that Python cannot read", "Correct its syntax."),
    _kind(138, "a Python file that fails while it is imported or described", "The place is where it failed."),
)
"""Codes 1xx: programs that cannot be read, as text or as Python."""

SERVING = (
    _kind(200, "a program with mistakes", "Mend each of those that are listed."),
    _kind(290, "a graph of the compiler that breaks its laws", "Report it with the program: the mistake is ours."),
    _kind(320, "arguments of a call that do not fit its unit", "Send the unit's parameters, each of its type."),
    _kind(321, "a program that the Supervisor does not run", "Submit it, or take a name that is listed."),
    _kind(322, "a unit that cannot be called", "Take a responsive unit of the program."),
    _kind(323, "a call that is not known, or not any more", "Answered calls are forgotten: `[keep] calls` says when."),
    _kind(324, "a request that does not fit its address", "Send what /docs says for it."),
    _kind(325, "an id that belongs to another call", "Give every call an id of its own."),
    _kind(326, "data of a call that is not done yet", "Wait for the call, then ask again."),
    _kind(327, "data of a call that failed or was stopped", "Read in the call why, and call again."),
    _kind(328, "data that the call's unit does not give", "Name one of the sinks that it writes."),
    _kind(329, "a reply that is kept no longer", "Call again: `[keep] answers` says how long replies stay."),
    _kind(330, "calls that cannot be served just now", "Ask again; if it stays so, see to the part that is named."),
    _kind(331, "a request that is too large", "Send references, and put data into a sink."),
    _kind(332, "a request by a name or from a page that may not ask", "Add it to [http] hosts or origins."),
    _kind(333, "a request that does not come to its end", "Send as much as its Content-Length says."),
    _kind(334, "a caller with too many calls, open or a second", "Wait as long as Retry-After says."),
    _kind(335, "more connections than the server takes", "Close those that wait, or raise [http] connections."),
    _kind(340, "a question to a sink that cannot be answered", "Ask for columns that it has, and values of theirs."),
    _kind(341, "a sink that is not there or cannot be looked at", "Take one of the program's that keeps its rows."),
    _kind(342, "a chart that cannot be drawn of these columns", "Name columns and a kind that go together."),
    _kind(343, "a panel that is not there or is no chart", "Take one of the board's."),
    _kind(345, "a chart that takes too long or finds no room", "Ask for fewer rows, or again in a second."),
    _kind(350, "a request without a token, or with one that is not valid", "Send one that ghcm token create has made."),
    _kind(351, "a request that the scopes of the caller do not allow", "Take a token with the scope that is named."),
)
"""Codes 2xx and 3xx that no line of a program is to blame for: the compiler's own, and answers over HTTP."""

SPARK = (
    _kind(520, "a task that needs a stream unit", "Move it to a stream unit."),
    _kind(521, "input that a batch unit cannot read", "Read it in a stream unit that writes a sink."),
    _kind(522, "a sink that Spark cannot read", "Keep its rows in files, or in Redis."),
    _kind(523, "a sink that Spark cannot write", "Write files, or to Redis."),
    _kind(524, "rows that this sink cannot keep by key", "Give it a key and keep it in Redis, or replace."),
    _kind(525, "a call that cannot stand in this function on Spark", "Compute it before, and use its result."),
)
"""Codes 52x: batch units of which no Spark job can be made."""

COMMANDS = (
    _kind(601, "a file of another kind than the command takes", "Programs end in .istream or .py."),
    _kind(602, "a program that is not there or cannot be read", "Give the path of its file."),
    _kind(603, "a name that a program or record cannot have", "Write ASCII letters, digits and _."),
    _kind(604, "a file that is there already", "Choose another name; nothing is overwritten."),
    _kind(605, "arguments that say too little or contradict each other", "See the command's --help."),
    _kind(606, "a program that has run before and would write twice", "Say --resume; --fresh appends all again."),
    _kind(607, "a job that cannot be resumed", "Undo the change; --fresh reads and appends all again."),
    _kind(608, "a change that a running program cannot take", "Stop its job and submit it anew."),
    _kind(609, "an address of a server that is none", "Write redis://host:port/number."),
    _kind(610, "a bundle that cannot be opened", "Build it again with ghcm build."),
    _kind(611, "a unit that the bundle or the engine does not have", "Take one of those that are named, or write one."),
    _kind(612, "a Python module of the program that cannot be imported", "Mend it, or install what it needs."),
    _kind(613, "packages that the bundle needs and that are missing", "Install them where it runs."),
    _kind(614, "generated code that does not fit this GHCM", "Build the bundle again with this version."),
    _kind(615, "a bundle that cannot be written", "Choose a path that can be written."),
    _kind(616, "a cache that bundles cannot be unpacked into", "Set its folder to one that can be written."),
    _kind(617, "a format of files that does not exist", "Take one of those that are named."),
    _kind(618, "a file in which there is no record to infer", "Read it as text."),
    _kind(620, "a board that cannot be shown", "Correct the line of the .watch.toml file that is named."),
    _kind(621, "settings that cannot be read or have no such value", "Correct the settings that are listed."),
    _kind(622, "parameters of a call that its unit does not have", "Write name=value, as ghcm call shows them."),
    _kind(623, "a name that the reference does not have", "Take the name that is suggested."),
    _kind(624, "a question in SQL that DuckDB cannot answer", "Correct it; each sink is a table of its name."),
    _kind(625, "a bundle that this daemon does not trust", "Sign it with a key that it trusts: ghcm build --sign."),
    _kind(626, "a key that cannot be read or written", "Make one with ghcm key create or OpenSSL: PEM, Ed25519."),
    _kind(630, "a scope of a token that means nothing", "Write call:PROGRAM/UNIT, read:PROGRAM or cancel:*."),
    _kind(631, "a token that is not there", "Take the id of one that ghcm token list shows."),
    _kind(632, "a file of tokens that cannot be read", "Restore it, or create the tokens anew."),
    _kind(633, "a certificate that TLS cannot use", "Give it and its key as files of PEM, without a password."),
    _kind(634, "an address that others reach, without tokens or TLS", "Make a token, and give a certificate."),
    _kind(635, "settings of an issuer of tokens that are not complete", "Say its issuer, audience and keys in [oidc]."),
    _kind(636, "an issuer of tokens whose keys cannot be had", "See that [oidc] keys can be read from the server."),
)
"""Codes 6xx: files, settings and arguments that commands cannot take."""

RUNNING = (
    _kind(700, "an error without a kind of its own", "Its text says all that is known."),
    _kind(701, "a unit or job that has failed for a reason without a code", "Read its log, then submit with --resume."),
    _kind(710, "a message between units that is not valid", "Send it as the documentation of the interface says."),
    _kind(711, "a message between units that is too large", "Send references, and put data into a sink."),
    _kind(712, "a message between units that holds data", "Write the records to a sink, and send its version."),
    _kind(720, "a Redis that cannot be reached or refuses the password", "See its address, and that it runs."),
    _kind(721, "a command that Redis refused", "The detail has the words of the server."),
    _kind(722, "a request that the daemon cannot read", "Use the same version for the command and the daemon."),
    _kind(723, "no daemon that answers", "Start one with ghcm supervise."),
    _kind(724, "a program that runs already", "Stop its job first, or submit an edit of it."),
    _kind(725, "an address that the daemon cannot listen on", "Choose another port."),
    _kind(726, "a log that does not exist", "Take one of those that are named."),
    _kind(727, "a Supervisor that does not answer as one", "See that its daemon runs and that the port is right."),
    _kind(728, "a daemon that did not start or has ended", "Read its log."),
    _kind(729, "a program that another daemon runs on the same Redis", "Stop it there, or use another Redis."),
    _kind(730, "a folder of a sink that cannot be used", "Let the process read and write it."),
    _kind(731, "no room to write", "Make room on the disk, or give Redis more memory."),
    _kind(732, "a version of a sink that is not there", "Ask for the latest: old versions are removed."),
    _kind(733, "stored rows that are not of the sink's record", "Restore them, or write the sink anew."),
    _kind(734, "a sink that cannot be written or read in this way", "Choose another mode or connector."),
    _kind(735, "input that cannot be reached", "See its path or address, and who may read it."),
    _kind(736, "input that is not of the format that is said", "Say its format, or correct the file."),
    _kind(737, "generated records whose time no timestamp holds", "Start earlier, or let them follow closer."),
    _kind(738, "a table that can no longer be followed", "Begin with it as it is now: --fresh appends that."),
    _kind(739, "a Kafka that cannot be reached or refuses", "See its address, the password and the rights."),
    _kind(740, "a store of jobs and calls that cannot be used", "See its disk and who may write there."),
    _kind(741, "a store of jobs and calls that this GHCM cannot read", "Use the version that wrote it, or a backup."),
    _kind(742, "messages of a topic that are gone", "Keep them for longer, or say lost = earliest."),
    _kind(743, "a call whose deadline has passed", "Allow more time, or call again."),
    _kind(744, "a job that is not there or does not run", "List the jobs with ghcm ps."),
    _kind(745, "a call that has failed", "The message says where; mend the cause and call again."),
    _kind(746, "too many calls at once", "Call again in a moment."),
    _kind(747, "a table that is not there", "Take a table of a unit that runs."),
    _kind(748, "a call whose program was stopped", "Call again, under a new id, when the program runs."),
    _kind(749, "a package of Spark that cannot be fetched", "Reach its repository, or start Spark with the package."),
    _kind(750, "a Spark that cannot start", "Install pyspark and Java."),
    _kind(751, "a batch unit that failed on Spark", "The message has the cause; the log has all of it."),
    _kind(752, "a folder that another GHCM uses", "Stop that one, or choose another folder."),
    _kind(753, "a folder that belongs to someone else", "Choose a folder of your own."),
    _kind(754, "a private Redis server that cannot be started", "Install Redis 6.2 or later, or name a server."),
    _kind(755, "a change that the engine cannot take at the moment", "Submit it again."),
    _kind(756, "a snapshot of another version of GHCM", "Go on with that version; --fresh appends all again."),
    _kind(757, "a sink that another job appends to", "End that job, write elsewhere, or say --beside."),
    _kind(758, "development services that do not run or cannot be started", "ghcm services up; the log has more."),
    _kind(759, "a call whose process ended each time", "See the log of that process; then call again."),
    _kind(770, "a backup that cannot be made or brought back", "Name a folder that is not there yet, with room."),
    _kind(780, "a connection of SQL that is not configured", "Say its URL in ghcm.toml, or in GHCM_SQL_<NAME>."),
    _kind(781, "a database that cannot be reached or refuses the user", "See that it runs, and its URL."),
    _kind(782, "a statement that a database refused", "The detail has its words, and the hint what to do."),
    _kind(783, "a package for databases that is not installed", 'Install it: pip install "ghcm[sql]".'),
    _kind(790, "a file or call that the system refused", "The message has its reason."),
    _kind(799, "a mistake of GHCM itself", "Report it with the file that the message names."),
)
"""Codes 7xx: what goes wrong while programs run."""

KINDS = (*WRITING, *SERVING, *SPARK, *COMMANDS, *RUNNING)
"""All of them, in the order of their codes."""


@unique
class Code(StrEnum):
    """A kind of mistake. 2xx names and types, 3xx units, calls and sinks, 4xx operators, 5xx engines."""

    meaning: str

    def __new__(cls, code: str, meaning: str) -> Code:
        """A member whose value is the code and that carries its meaning."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    UNKNOWN_NAME = "GHCM-201", "a name that nothing declares"
    DECLARED_TWICE = "GHCM-202", "a name that is declared twice"
    USED_BEFORE = "GHCM-203", "a collection that is used before the line that makes it"
    RESERVED = "GHCM-204", "a name that the language keeps for itself or that would hide another"
    RECURSIVE = "GHCM-205", "a record that contains itself"
    BAD_TYPE = "GHCM-206", "a type that does not exist or is given wrong arguments"
    NO_FIELD = "GHCM-207", "a column or field that the record does not have"
    NO_FUNCTION = "GHCM-208", "a function that does not exist or stands where it has no meaning"
    BAD_OPERANDS = "GHCM-209", "a function or operator that does not take values of these types"
    NOT_BOOL = "GHCM-210", "a condition that is neither true nor false"
    MAY_BE_NULL = "GHCM-211", "a value that may be null where one is needed"
    WRONG_TYPE = "GHCM-212", "a value of another type than is asked for"
    BRANCHES_DIFFER = "GHCM-213", "alternatives that have no type in common"
    FIELD_MISSING = "GHCM-214", "a record that is made without one of its fields"
    FIELD_UNKNOWN = "GHCM-215", "a record that is made with a field that it does not have"
    FIELD_TWICE = "GHCM-216", "a field that is given twice"
    NO_MEMBER = "GHCM-217", "a text that is no value of the enum"
    BAD_UNION = "GHCM-223", "a union that cannot be, or a field of a record that it may not be"
    BAD_MATCH = "GHCM-218", "a match that leaves a case open or names one in vain"
    BAD_PATTERN = "GHCM-219", "a regular expression on which the engines do not agree"
    BAD_LAMBDA = "GHCM-220", "a function of other parameters than asked for, or where a value is asked for"
    NOT_A_VALUE = "GHCM-221", "a collection, sink, unit or record where a value is asked for"
    OUT_OF_RANGE = "GHCM-222", "a number that its type or its use cannot hold"
    BAD_AGGREGATE = "GHCM-224", "an aggregate that is not one, or that stands where there is nothing to aggregate"
    NOT_CONSTANT = "GHCM-225", "a value that must be written out and is not"
    BAD_CONSTANT = "GHCM-230", "a constant that its function cannot read"
    TOO_DEEP = "GHCM-226", "a program that nests deeper than engines can follow"

    NO_CONNECTOR = "GHCM-301", "a connector that does not exist or cannot serve this purpose"
    WRONG_MODE = "GHCM-302", "a mode of writing that the connector or its writer cannot have"
    KEY_NEEDED = "GHCM-303", "a sink whose key is missing or of no use"
    WRITERS_DIFFER = "GHCM-304", "writers of one sink that do not agree on its records"
    NOBODY_WRITES = "GHCM-305", "a sink that is read, with no way to know what is in it"
    TABLE_TO_SINK = "GHCM-306", "a table that is written to a sink that does not keep one record per key"
    SAME_ADDRESS = "GHCM-307", "two sinks of the same place"
    NOT_CALLABLE = "GHCM-308", "a call of something that waits for no calls"
    CALL_ARGUMENT_MISSING = "GHCM-309", "a call without one of the unit's parameters"
    CALL_ARGUMENT_UNKNOWN = "GHCM-310", "a call with an argument that the unit does not take, or takes once"
    CALL_ARGUMENT_TYPE = "GHCM-311", "a call with an argument of the wrong type"
    CYCLE = "GHCM-312", "units that call each other in a circle"
    GOES_NOWHERE = "GHCM-313", "a pipeline or a unit whose result goes nowhere"
    NO_ANSWER = "GHCM-314", "a responsive unit that neither replies nor writes"
    BAD_REPLY = "GHCM-315", "a reply where nobody waits for one, or a second one"
    NOT_RESPONSIVE = "GHCM-316", "parameters or a cache of a unit that nobody calls"
    BAD_PLACE = "GHCM-317", "a key of Redis, or a partition of files, that the records of a sink cannot give"
    BAD_READ = "GHCM-318", "a read of what cannot be read there"
    BAD_POLICY = "GHCM-319", "a publish policy that says too little, too much or what cannot be"

    NO_OPERATOR = "GHCM-401", "an operator that does not exist or is not called as one"
    WRONG_SHAPE = "GHCM-402", "an operator on a collection that it does not take"
    ARGUMENT_MISSING = "GHCM-403", "an operator without one of its arguments"
    ARGUMENT_UNKNOWN = "GHCM-404", "an argument that the operator does not take, or takes once"
    ARGUMENT_KIND = "GHCM-405", "an argument of another kind than the operator takes"
    NEEDS_BOUNDED = "GHCM-407", "an operator that needs input that ends"
    NEEDS_RECORD = "GHCM-408", "raw records, used before they are decoded"
    NOT_RAW = "GHCM-409", "records that are decoded already"
    NEEDS_TIME = "GHCM-410", "a window without event time"
    BAD_TIME = "GHCM-411", "event time that is declared wrongly or too late"
    WINDOW_LOST = "GHCM-413", "a window that is lost before anything was aggregated in it"
    BAD_WINDOW = "GHCM-414", "a window that cannot be"
    BAD_REDUCER = "GHCM-415", "a reducer whose result would depend on the order of the records"
    BAD_ORDER = "GHCM-416", "an order of values where new values come for ever"
    ENDLESS_COUNT = "GHCM-417", "a count of a stream that never ends"
    UNION_DIFFERS = "GHCM-418", "a union of collections that are not alike"
    BAD_JOIN = "GHCM-419", "a join without an equality, or of what cannot be joined"
    BAD_STEP = "GHCM-430", "a step of an iteration that gives something else than it takes, or that writes"
    UNNAMED_STATE = "GHCM-420", "a task that keeps state and has no name to find it again"
    SAME_ID = "GHCM-421", "two tasks of the same name"
    ENDLESS_BATCH = "GHCM-422", "input that never ends, in a unit that must end"
    BAD_FORMAT = "GHCM-429", "a source whose format cannot hold the records, or cannot be read in this way"
    NOT_COMPARABLE = "GHCM-428", "a key of values that cannot be compared"

    NEVER = "GHCM-502", "something that this kind of unit cannot do"
