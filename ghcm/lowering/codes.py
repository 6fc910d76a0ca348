"""The mistakes that the lowering reports: one stable code for each kind, with what it says in general.

Golden tests hold one wrong program for every code, and the documentation lists them from here.
"""

from __future__ import annotations

from enum import StrEnum, unique


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
    SAME_PLACE = "GHCM-307", "two sinks of the same place"
    NOT_CALLABLE = "GHCM-308", "a call of something that waits for no calls"
    CALL_ARGUMENT_MISSING = "GHCM-309", "a call without one of the unit's parameters"
    CALL_ARGUMENT_UNKNOWN = "GHCM-310", "a call with an argument that the unit does not take, or takes once"
    CALL_ARGUMENT_TYPE = "GHCM-311", "a call with an argument of the wrong type"
    CYCLE = "GHCM-312", "units that call each other in a circle"
    GOES_NOWHERE = "GHCM-313", "a pipeline or a unit whose result goes nowhere"
    NO_ANSWER = "GHCM-314", "a responsive unit that neither replies nor writes"
    BAD_REPLY = "GHCM-315", "a reply where nobody waits for one, or a second one"
    NOT_RESPONSIVE = "GHCM-316", "parameters or a cache of a unit that nobody calls"
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

    NOT_YET = "GHCM-501", "something that does not work yet"
    NEVER = "GHCM-502", "something that this kind of unit cannot do"
