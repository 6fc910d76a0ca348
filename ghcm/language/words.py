"""The reserved words of the text language: what cannot be a name in either front end."""

from __future__ import annotations

RESERVED = ("if", "then", "else", "match", "let", "in", "is", "not", "and", "or", "null", "true", "false")
