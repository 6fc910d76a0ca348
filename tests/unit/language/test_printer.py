from ghcm.language.parser import parse
from ghcm.language.printing.printer import format_text, print_program
from ghcm.source import Source
from tests.unit.language.traffic import TEXT


def test_the_example_of_the_design_is_canonical() -> None:
    assert format_text(TEXT) == TEXT


def test_the_example_prints_without_its_text() -> None:
    program = parse(Source("traffic.istream", TEXT))
    assert parse(Source("printed", print_program(program))) == program


CROOKED = """program   crooked   # first
record A {
a : int , b:string from 'x' # b
# last of A
}
sink s=redis ( "x" , key=r=>r.key )   # s
cache c = kafka("y")
stream u(a:int,b:list < string >) on c {
  x = files('books/*.txt')  # the books
      # only some
      .filter(f => (f.a) > 1 and (not f.b == 2))
      .map(f => # inside
           f.a); y = x


  x.to(s) # done
  # end
}
stream empty {
}
# the end"""

STRAIGHT = """program crooked  # first

record A {
  a: int
  b: string from "x"  # b
  # last of A
}

sink  s = redis("x", key = r => r.key)  # s
cache c = kafka("y")

stream u(a: int, b: list<string>) on c {
  x = files("books/*.txt")  # the books
        # only some
        .filter(f => f.a > 1 and not f.b == 2)
        # inside
        .map(f => f.a)

  y = x

  x.to(s)  # done
  # end
}

stream empty { }
# the end
"""


def test_crooked_text_becomes_straight_with_its_comments() -> None:
    assert format_text(CROOKED) == STRAIGHT
    assert format_text(STRAIGHT) == STRAIGHT


def test_long_lines_are_broken_at_their_joints() -> None:
    fields = ", ".join(f"field_{index}: f.some_long_name_{index} + {index}" for index in range(5))
    cases = ", ".join(f'"case_{index}" => f.some_long_name_{index}' for index in range(5))
    conditions = " and ".join(f"f.some_long_name_{index} is not null" for index in range(5))
    text = f"""program p
stream u {{
  a = b.map(f => Alarm {{ {fields} }})
  c = b.map(f => match f.x {{ {cases}, _ => "" }})
  d = b.filter(f => {conditions})
  e = f => if {conditions} then "some text" else {{ {fields} }}
}}
"""
    formatted = format_text(text)
    assert max(map(len, formatted.split("\n"))) <= 100
    assert parse(Source("formatted", formatted)) == parse(Source("text", text))
    assert format_text(formatted) == formatted
