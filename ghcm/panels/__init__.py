"""Panels: what a program shows of its sinks to the people who watch it, declared in a file beside the program."""

from ghcm.panels.board import BOARD_SUFFIX, Board, board_file, board_of, default_board, read_board
from ghcm.panels.panel import CHARTS, KINDS, Kind, Mistake, Panel, check

__all__ = [
    "BOARD_SUFFIX",
    "CHARTS",
    "KINDS",
    "Board",
    "Kind",
    "Mistake",
    "Panel",
    "board_file",
    "board_of",
    "check",
    "default_board",
    "read_board",
]
