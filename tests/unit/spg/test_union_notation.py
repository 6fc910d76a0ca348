"""What the graph says of unions survives printing and parsing, though types are equal without it."""

from ghcm.spg.notation.types import parse_type, print_type
from ghcm.types import Field, Int, String, Struct, Variant, as_nullable, union_type

LOGIN = Struct((Field("user", String()), Field("host", String())), "Login")
LOGOUT = Struct((Field("user", as_nullable(String())), Field("seconds", Int())), "Log out")


def test_what_a_record_of_a_union_needs_is_printed_and_parsed() -> None:
    union = union_type("Event", "kind", (Variant("login", LOGIN), Variant("log-out", LOGOUT)))
    assert isinstance(union, Struct)
    assert union.needs == (("login", "user", "Login"), ("login", "host", "Login"), ("log-out", "seconds", "Log out"))
    text = print_type(union)
    parsed = parse_type(text)
    assert isinstance(parsed, Struct)
    assert (sorted(parsed.needs), parsed.cases) == (sorted(union.needs), union.cases)
    assert print_type(parsed) == text
