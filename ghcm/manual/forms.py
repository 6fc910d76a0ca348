"""The forms of expressions: what is written with words of the language or with lambdas, and is no row of a table."""

from dataclasses import dataclass

from ghcm.functions import Example, Failure


@dataclass(frozen=True, slots=True)
class Form:
    """One form: how it is written in text and in Python, and what it means."""

    names: tuple[str, ...]
    text: str
    python: str
    meaning: str
    examples: tuple[Example, ...]


_ITEMS = "; it fails where it fails for any item"

_EVENT = (
    "record Login { user: string, host: string }\n"
    "record Logout { user: string, seconds: int }\n"
    "union Event by kind { login: Login, Logout }\n"
)

_LOGIN = 'Login { user: "a", host: "h" }'

FORMS: tuple[Form, ...] = (
    Form(
        ("map",),
        "xs.map(x => x * r.n), xs.map((x, i) => x * i)",
        "r.xs.map(lambda x: x * r.n), r.xs.map(lambda x, i: x * i)",
        "the list of the values; a function of two, here and in `filter`, `any` and `all`, is given the position of "
        f"the item, too, from 0; a null list gives null{_ITEMS}",
        (
            Example("[1, 2].map(x => x * 10)", "[10, 20]"),
            Example("[5, 6].map((x, i) => x + i)", "[5, 7]"),
            Example("[5, 6, 7].filter((x, i) => i % 2 == 0)", "[5, 7]"),
            Example("[1, 0].map(x => 1 // x)", fails=Failure.ZERO_DIVISOR),
        ),
    ),
    Form(
        ("filter",),
        "xs.filter(x => x > 0)",
        "r.xs.filter(lambda x: x > 0)",
        f"the items for which it is true; a null list gives null{_ITEMS}",
        (Example("[1, -2, 3].filter(x => x > 0)", "[1, 3]"),),
    ),
    Form(
        ("any", "all"),
        "xs.any(x => x > 0), xs.all(x => x > 0)",
        "r.xs.any(lambda x: x > 0), r.xs.all(lambda x: x > 0)",
        f"`or`, `and` of the values, null as there{_ITEMS}",
        (Example("[1, -2].any(x => x > 0)", "true"), Example("[1, -2].all(x => x > 0)", "false")),
    ),
    Form(
        ("fold",),
        "xs.fold(0, (total, x) => total + x)",
        "r.xs.fold(0, lambda total, x: total + x)",
        "what the function makes of the value so far and of each item in turn, beginning with the first argument; a "
        "null list gives null; it fails where a step fails, and goes no further",
        (
            Example("[1, 2, 3].fold(10, (total, x) => total * 2 + x)", "91"),
            Example('["a", "b"].fold("", (text, x) => x + text)', '"ba"'),
            Example("[1, 0, 2].fold(8, (left, x) => left // x)", fails=Failure.ZERO_DIVISOR),
        ),
    ),
    Form(
        ("let",),
        "let x = a + b in x * x",
        "x = r.a + r.b in a def",
        "a value that is computed once",
        (Example("let x = 1 + 2 in x * x", "9"),),
    ),
    Form(
        ("match",),
        "match x { 0 or 1 => a, 3..9 => b, null => c, _ => d }",
        "match_(x, {(0, 1): a, between(3, 9): b, None: c}, otherwise=d)",
        "the case that fits; both ends are in a range",
        (
            Example(
                'match r.n { 0 or 1 => "few", 2..9 => "some", _ => "many" }', '"some"', given=("{ n: int }", "{ n: 9 }")
            ),
        ),
    ),
    Form(
        ("enum",),
        'enum Proto { tcp, udp, "n/a" }',
        'class Proto(Enum): TCP = "tcp", ... or Literal["tcp", "udp"] as the type',
        "a type of a few texts, declared once or written in place as `enum {tcp, udp}`. A source's record with any "
        "other text is a dead letter; a comparison with a constant that is none of them, and a `match` that leaves "
        "one open, is a mistake. `Proto.tcp` and `\"tcp\"` are the same value, `to_enum(s, Proto)` reads one, and "
        "where a string is asked for it is one. Enums are ordered as strings are",
        (
            Example("match r.p { tcp => 6, udp => 17 }", "17", given=("{ p: enum {tcp, udp} }", '{ p: "udp" }')),
            Example('r.p == "tcp" or r.p > "tcp"', "true", given=("{ p: enum {tcp, udp} }", '{ p: "udp" }')),
            Example("r.p.upper()", '"UDP"', given=("{ p: enum {tcp, udp} }", '{ p: "udp" }')),
        ),
    ),
    Form(
        ("union", "is"),
        "union Event by kind { login: Login, Logout }, e is Login, match e { Login l => ..., Logout => ... }",
        'class Event(OneOf, by="kind"): login: Login, ...; is_(e, Login), match_(e, {Login: ..., Logout: ...})',
        "one of a few records, as a type; the field `kind` says which, by the text that stands before the record, or "
        "by its name. What all of them have is read as of a record, the rest where it is known which record it is: in "
        "a case of `match`, which names every record or ends in `_`, behind `filter(e => e is Login)`, and in `if e "
        "is Login then ...`. There a union that can only be one record is that record, and `Login l` gives it a name. "
        "Where a union is asked for, a record of it is one, and records of one union are it together, in `if`, "
        "`match` and lists. A source reads the tag beside the fields; an unknown tag, or a field that the record "
        "needs and that is missing, makes a dead letter; fields of another record are passed over. Sinks of JSON "
        "files and Redis write an object of the tag and of the fields of the record that it is; rows of CSV and "
        "Parquet, and replies, have the fields of all records, null where it is another one. A union is no value of a "
        "map and no parameter of a unit",
        tuple(
            Example(text, gives, given=("{ e: Event }", f"{{ e: {value} }}"), declares=_EVENT)
            for text, gives, value in (
                ("match r.e { Login l => l.host, Logout => to_string(r.e.seconds) }", '"h"', _LOGIN),
                ("if r.e is Logout then r.e.seconds else 0", "7", 'Logout { user: "a", seconds: 7 }'),
                ("r.e.user", '"a"', 'Logout { user: "a", seconds: 7 }'),
                ("r.e", '{"kind": "login", "user": "a", "host": "h", "seconds": null}', _LOGIN),
            )
        ),
    ),
    Form(
        ("if",),
        "if a then b else c",
        "if_else(a, b, c)",
        "one of two values; c where a is null",
        (Example('if r.n > 1 then "many" else "one"', '"one"', given=("{ n: int? }", "{ n: null }")),),
    ),
    Form(
        ("try",),
        "try(to_int(x))",
        "try_(x.to_int())",
        "the value, null where it would fail",
        (Example('try(to_int("x"))', "null"), Example('try(to_int("7")) ?? 0', "7")),
    ),
    Form(
        ("with",),
        "r with { bytes: 0 }",
        "r.with_(bytes=0)",
        "the record with other values in some fields",
        (Example("r with { n: 0 }", '{"n": 0, "s": "a"}', given=("{ n: int, s: string }", '{ n: 7, s: "a" }')),),
    ),
    Form(
        ("only", "without"),
        "r.only(ts, src), r.without(label)",
        'r.only("ts", "src"), r.without("label")',
        "a record of some of its fields",
        (
            Example("r.only(s)", '{"s": "a"}', given=("{ n: int, s: string }", '{ n: 7, s: "a" }')),
            Example("r.without(s)", '{"n": 7}', given=("{ n: int, s: string }", '{ n: 7, s: "a" }')),
        ),
    ),
    Form(
        ("function",),
        "function half(x: int?) : int? = x // 2",
        "@program.function above a typed def",
        "a function of the program: `half(x)` or `x.half()`; it stands outside the units and cannot call itself",
        (),
    ),
)  # fmt: skip
