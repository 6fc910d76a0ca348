"""Codes 1xx: programs that cannot be read, as text or as Python."""

from __future__ import annotations

from ghcm.codes.kind import Kind

WRITING = (
    Kind("GHCM-100", "text that is no program: a word or sign where another one is needed", "Write what is expected."),
    Kind(
        "GHCM-101", "a character, or a name with one, that the language does not have", "Names are ASCII, files UTF-8."
    ),
    Kind("GHCM-102", "a string without its closing quote", r"Close it on its line, or write \n for a new line."),
    Kind(
        "GHCM-103",
        "a string with an escape that means nothing",
        r'Write "\\" for a backslash, or put r before the string.',
    ),
    Kind("GHCM-104", "a number that cannot be one or does not fit", "Whole numbers have 64 bits, with a sign."),
    Kind("GHCM-105", "a bracket that is never closed", "Close it where the list, call or unit ends."),
    Kind("GHCM-106", "a closing bracket with none to close", "Remove it, or open one before."),
    Kind("GHCM-107", "an operator of another language", "The hint names ours where there is one."),
    Kind("GHCM-108", "a word of the language where a name is needed", "Choose another name."),
    Kind("GHCM-109", '"=" where values are compared', 'Compare with "==".'),
    Kind("GHCM-110", "a comparison with null, which is never true", 'Write "is null" or "is not null".'),
    Kind("GHCM-111", "a parameter of a function that is no name", "Write (a, b) => ... with names."),
    Kind("GHCM-112", "a tuple of fewer than two items", "Leave the parentheses or the comma out."),
    Kind("GHCM-114", "a claim about a function that does not exist", "There are @associative and @commutative."),
    Kind("GHCM-116", "a program that does not begin with its name", 'Put "program NAME" first.'),
    Kind("GHCM-117", "a pattern that can match nothing", 'Write names, or "_" alone for everything else.'),
    Kind("GHCM-118", "comparisons in a chain", 'Write "a < b and b < c".'),
    Kind("GHCM-119", "an argument without a name behind one with a name", "Put it before, or name it too."),
    Kind("GHCM-121", "something else than a declaration outside of units", "Put pipelines into a unit."),
    Kind(
        "GHCM-130", "Python done to a value that is only described", "Use the operators and functions of the language."
    ),
    Kind("GHCM-131", "a Python function that cannot be traced", "Write it as one expression, or as @program.python."),
    Kind("GHCM-132", "a value that the Python interface does not take there", "The message says what it takes."),
    Kind("GHCM-133", "a record made or declared wrongly in Python", "Give its fields a type, and each one value."),
    Kind("GHCM-134", "a unit, store or function declared wrongly in Python", "Name it, and give its parameters types."),
    Kind("GHCM-135", "a pipeline without a name that is used more than once", "Assign it to a variable."),
    Kind("GHCM-136", "a Python file with no program, or with several", "Put one Program(...) into each file."),
    Kind("GHCM-137", "a Python file that Python cannot read", "Correct its syntax."),
    Kind("GHCM-138", "a Python file that fails while it is imported or described", "The place is where it failed."),
)
