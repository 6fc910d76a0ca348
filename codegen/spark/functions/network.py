"""IP addresses as SQL: by their hexadecimal digits, 8 of IPv4 and 32 of IPv6."""

from ghcm.codegen.spark.functions.emitting import Emit, Writer, plain
from ghcm.codegen.spark.library.sql import bound, fails, matching, text, when
from ghcm.codegen.spark.names import variable
from ghcm.codegen.spark.sql import Checked, first, in_lambda, let, partial, pure
from ghcm.expr import Call
from ghcm.failing import constant
from ghcm.values.texts import parse_subnet

OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
DOTTED = OCTET + r"(?:\." + OCTET + "){3}"
IPV4 = r"\A" + DOTTED + r"\z"
GROUP = "[0-9A-Fa-f]{1,4}"


def times(form: str, least: int, most: int) -> str:
    """The form of a part, repeated."""
    return f"(?:{form})" + "{" + f"{least},{most}" + "}"


def ipv6_form() -> str:
    """The form of an IPv6 address."""
    part = f"{GROUP}:"
    forms = [times(part, 7, 7) + GROUP, times(part, 6, 6) + DOTTED]
    for before in range(8):
        ends = [times(part, 0, 6 - before) + GROUP] if before < 7 else []
        ends += [times(part, 0, 5 - before) + DOTTED] if before < 6 else []
        left = times(part, before, before) + ":" if before else "::"
        forms.append(f"{left}(?:{'|'.join(ends)})?")
    return rf"\A(?:{'|'.join(forms)})\z"


IPV6 = ipv6_form()


def is_ipv4(a: Checked) -> Checked:
    """Whether a text is an IPv4 address."""
    return pure(matching(a.value, IPV4), a)


def is_ipv6(a: Checked) -> Checked:
    """Whether a text is an IPv6 address."""
    return pure(matching(a.value, IPV6), a)


def is_ip(a: Checked) -> Checked:
    """Whether a text is an address."""
    return pure(f"({matching(a.value, IPV4)} OR {matching(a.value, IPV6)})", a)


def ip_canonical(a: Checked) -> Checked:
    """The one text of an address."""
    return let(address_digits(a), lambda digits: Checked(address_text(digits.value)))


def ip_to_int(a: Checked) -> Checked:
    """The number of an IPv4 address."""
    number = f"bigint(conv({octet_digits(a.value)}, 16, 10))"
    wrong = when(f"NOT {matching(a.value, IPV4)}", no_address(a.value, "IPv4 address"))
    return partial(when(matching(a.value, IPV4), number), (a,), wrong)


def int_to_ip(a: Checked) -> Checked:
    """The IPv4 address of a number."""
    inside = f"{a} BETWEEN 0 AND 4294967295"
    wrong = fails(f"NOT ({inside})", "out_of_range", "no IPv4 address has this number")
    return partial(when(inside, dotted(f"lpad(hex({a}), 8, '0')")), (a,), wrong)


def in_subnet(a: Checked, net: Checked) -> Checked:
    """Whether an address is in a subnet."""
    start, count = f"substring_index({net}, '/', 1)", f"regexp_extract({net}, {text('/(0|[1-9][0-9]{0,2})$')}, 1)"
    base = address_digits(pure(start))
    prefix = f"try_cast({count} AS int)"

    def good(digits: Checked) -> Checked:
        short = f"{prefix} <= 4 * length({digits})"
        whole = f"concat({start}, '/', {count}) = {net}"
        return Checked(f"coalesce({whole} AND {short} AND {leading(digits.value, prefix)} = {digits}, false)")

    def holds(digits: Checked) -> Checked:
        return let(
            Checked(base.value),
            lambda other: Checked(f"length({digits}) = length({other}) AND {leading(digits.value, prefix)} = {other}"),
        )

    given = f"{a} IS NOT NULL AND {net} IS NOT NULL"
    found = let(address_digits(a), holds)
    ok = let(Checked(base.value), good).value
    wrong = fails(f"{given} AND NOT {ok}", "bad_cast", "the text is no subnet")
    errors = when(given, first(found.error, wrong) or "NULL")
    return Checked(when(f"{given} AND {ok}", found.value), first(a.error, net.error, errors))


def in_known_subnet(a: Checked, base: str, prefix: int) -> Checked:
    """Whether an address is in the subnet of these digits and so many leading bits."""
    whole, rest = divmod(prefix, 4)

    def holds(digits: Checked) -> Checked:
        tests = [f"length({digits}) = {len(base)}"]
        if whole:
            tests.append(f"startswith({digits}, '{base[:whole]}')")
        if rest:
            most = int(base[whole], 16) + (16 >> rest) - 1
            tests.append(f"substring({digits}, {whole + 1}, 1) BETWEEN '{base[whole]}' AND '{most:x}'")
        return Checked(" AND ".join(tests))

    return let(address_digits(a), holds)


def subnet_of(a: Checked, prefix: Checked) -> Checked:
    """The subnet of so many leading bits around an address."""
    found = address_digits(a)

    def inside(digits: Checked) -> Checked:
        return Checked(f"({prefix} BETWEEN 0 AND 4 * length({digits}))")

    def net(digits: Checked) -> Checked:
        start = let(Checked(leading(digits.value, prefix.value)), lambda each: Checked(address_text(each.value)))
        return Checked(when(inside(digits).value, f"concat({start}, '/', string({prefix}))"))

    value, ok = let(found, net), let(Checked(found.value), inside)
    given = f"{a} IS NOT NULL AND {prefix} IS NOT NULL"
    wrong = fails(f"NOT {ok}", "out_of_range", "the address has not so many bits")
    return Checked(value.value, first(a.error, prefix.error, when(given, first(own_error(a), wrong) or "NULL")))


_INNER = "(?:0{20}ffff)?(?:(?:0a|7f).{6}|(?:c0a8|a9fe).{4}|ac1.{5})"
_PRIVATE = r"\A(?:" + _INNER + r"|f[cd].{30}|fe[89ab].{29}|0{31}1)\z"
_MULTICAST = r"\A(?:(?:0{20}ffff)?e.{7}|ff.{30})\z"


def _has_digits(form: str) -> Emit:
    """Whether the digits of an address are of a form."""
    return lambda writer, call: let(
        address_digits(writer.emit(call.arguments[0])), lambda digits: Checked(matching(digits.value, form))
    )


def address_digits(a: Checked) -> Checked:
    """The digits of an address; a text that is none fails."""
    value = let(Checked(a.value), lambda given: Checked(digits_sql(given.value))).value
    return Checked(value, first(a.error, own_error(a)))


def own_error(a: Checked) -> str:
    """The error where a text is no address."""
    neither = f"NOT {matching(a.value, IPV4)} AND NOT {matching(a.value, IPV6)}"
    return when(neither, no_address(a.value, "IP address"))


def no_address(value: str, kind: str) -> str:
    """Why a text fails."""
    return f"concat('bad_cast: \"', substring({value}, 1, 60), '\" is no {kind}')"


def digits_sql(value: str) -> str:
    """The digits of an address, null of other texts."""
    each, empty, tail = variable("group"), variable("group"), f"regexp_extract({value}, '[^:]*$', 0)"
    hexed = octet_digits(tail)
    groups = f"concat(regexp_extract({value}, '^.*:', 0), substring({hexed}, 1, 4), ':', substring({hexed}, 5, 4))"
    spelt = f"lower({when(f'contains({value}, {text(chr(46))})', groups, value)})"
    count = f"array_size(filter(split({spelt}, ':'), {empty} -> {empty} != ''))"
    filled = f"btrim(replace({spelt}, '::', concat(':', repeat('0:', 8 - {count}))), ':')"
    long = f"array_join(transform(split({filled}, ':'), {each} -> lpad({each}, 4, '0')), '')"
    other = f"WHEN {matching(value, IPV6)} THEN {long}"
    return f"CASE WHEN {matching(value, IPV4)} THEN {octet_digits(value)} {other} END"


def octet_digits(value: str) -> str:
    """The digits of an IPv4 address."""
    each = variable()
    octets = f"transform(split({value}, '[.]'), {each} -> lpad(hex(try_cast({each} AS bigint)), 2, '0'))"
    return f"lower(array_join({octets}, ''))"


def leading(digits: str, prefix: str) -> str:
    """The digits with only so many leading bits, the others zero."""
    number = f"bigint(conv(substring({digits}, int({prefix} div 4) + 1, 1), 16, 10))"
    rest = f"{number} - {number} % shiftleft(1, int(4 - {prefix} % 4))"
    part = when(f"{prefix} % 4 = 0", "''", f"lower(hex({rest}))")
    return f"rpad(concat(substring({digits}, 1, int({prefix} div 4)), {part}), length({digits}), '0')"


def address_text(digits: str) -> str:
    """The canonical text of an address."""
    return in_lambda(digits, spelt_address)


def spelt_address(digits: str) -> str:
    """The canonical text of an address whose digits may stand in a lambda."""
    each = variable()
    group = f"regexp_replace(substring({digits}, {each} * 4 + 1, 4), '^00?0?', '')"
    groups = f"transform(sequence(0, 7), {each} -> {group})"
    inner = f"WHEN {matching(digits, '^0{20}ffff')} THEN concat('::ffff:', {dotted(f'substring({digits}, 25, 8)')})"
    name = variable("groups")
    spelt = bound(f"array_join({groups}, ':')", name, compressed(name))
    return f"CASE WHEN length({digits}) = 8 THEN {dotted(digits)} {inner} WHEN {digits} IS NOT NULL THEN {spelt} END"


def compressed(spelt: str) -> str:
    """Eight groups with the first of the longest runs of zeros as `::`."""
    forms = [f"^(?:(.*?):)??0{':0' * length}(?::(.*))?$" for length in range(7, 0, -1)]
    cases = " ".join(
        f"WHEN {matching(spelt, form)} THEN regexp_replace({spelt}, {text(form)}, '$1::$2')" for form in forms
    )
    return f"CASE {cases} ELSE {spelt} END"


def dotted(digits: str) -> str:
    """The text of an IPv4 address."""
    each = variable()

    def octets(held: str) -> str:
        return f"transform(sequence(0, 3), {each} -> conv(substring({held}, {each} * 2 + 1, 2), 16, 10))"

    return f"array_join({in_lambda(digits, octets)}, '.')"


def _in_subnet(writer: Writer, call: Call) -> Checked:
    """A subnet that is known becomes the digits and the number of bits that are compared."""
    net = constant(call.arguments[1])
    known = parse_subnet(net) if isinstance(net, str) else None
    if known is None:
        return in_subnet(*map(writer.emit, call.arguments))
    digits = f"{known.base.number:0{known.base.bits // 4}x}"
    return in_known_subnet(writer.emit(call.arguments[0]), digits, known.prefix)


EMITTERS: dict[str, Emit] = {
    "is_ip": plain(is_ip),
    "is_ipv4": plain(is_ipv4),
    "is_ipv6": plain(is_ipv6),
    "ip_canonical": plain(ip_canonical),
    "ip_to_int": plain(ip_to_int),
    "int_to_ip": plain(int_to_ip),
    "subnet_of": plain(subnet_of),
    "is_private": _has_digits(_PRIVATE),
    "is_multicast": _has_digits(_MULTICAST),
    "in_subnet": _in_subnet,
}
