"""Hashes a tree of tokens with an explicit stack: values may lie thousands deep in others, where recursion would fail."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TypeAlias

Reading: TypeAlias = "Iterator[Token]"
Token: TypeAlias = "str | bytes | Reading"  # noqa: S105
"""A part of the hash: text, or the tokens of an inner value."""
MOST_DEEP = 100_000
"""Values that lie deeper in others are not read: an object may make new ones without end."""


class TooLargeError(Exception):
    """Why a value is not read completely."""


def digest_tree(root: Token) -> bytes:
    """Return the hash of a tree. Each token has its length before it, and each reading stands in brackets.

    >>> one, other = iter(["a", iter(["b", "c"])]), iter(["a", iter(["b"]), "c"])
    >>> digest_tree(one) == digest_tree(other)
    False
    """
    digest = hashlib.sha256()
    stack: list[Reading] = [iter([root])]
    while stack:
        token = next(stack[-1], None)
        if token is None:
            stack.pop()
            digest.update(b")")
        elif isinstance(token, str | bytes):
            data = token.encode() if isinstance(token, str) else token
            digest.update(b"%d:" % len(data))
            digest.update(data)
        else:
            if len(stack) == MOST_DEEP:
                raise TooLargeError(f"it uses values that contain each other more than {MOST_DEEP:,} deep")
            stack.append(token)
            digest.update(b"(")
    return digest.digest()
