"""Writes the books of this example: made-up sentences from our own words, the same on every machine."""

import random
from pathlib import Path

BOOKS = {
    "tide": ("the sea", "a boat", "the old pilot", "her lantern", "the harbour", "a gull", "the rope", "their anchor"),
    "orchard": ("the apple", "a ladder", "my neighbour", "the basket", "an early frost", "the hedge", "a wasp"),
    "observatory": ("the telescope", "a comet", "the night clerk", "his notebook", "the dome", "an echo", "the clock"),
}
VERBS = ("waits for", "remembers", "follows", "turns to", "has forgotten", "is drawn by", "listens to", "belongs to")
PLACES = (
    "in the morning",
    "at the end of the road",
    "under a pale sky",
    "before the rain",
    "with some patience",
    "again",
)
LINKS = ("and", "but", "while", "because", "so that", "although")
LINES = 600


def sentence(chance: random.Random, things: tuple[str, ...]) -> str:
    first, second = chance.sample(things, 2)
    text = f"{first} {chance.choice(VERBS)} {second}"
    if chance.random() < 0.6:
        text += f" {chance.choice(PLACES)}"
    if chance.random() < 0.4:
        third, fourth = chance.sample(things, 2)
        text += f", {chance.choice(LINKS)} {third} {chance.choice(VERBS)} {fourth}"
    return text[0].upper() + text[1:] + "."


def main() -> None:
    folder = Path(__file__).with_name("books")
    folder.mkdir(exist_ok=True)
    for number, (title, things) in enumerate(BOOKS.items()):
        chance = random.Random(number)
        lines = (sentence(chance, things) for _ in range(LINES))
        (folder / f"{title}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
