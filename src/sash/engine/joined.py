"""The results of blocks as one: which keys they are of, and columns and tables one behind the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sash.engine.row_block import Block
from sash.plan.declared import Declared
from sash.windows.base import Ints


@dataclass(frozen=True)
class Heads:
    """The keys, a row for each, and where what belongs to them begins."""

    keys: pa.Table
    firsts: Ints


def heads_of(block: Block) -> Heads:
    """Return the keys of a block."""
    first = pa.array(block.given(block.firsts[:-1]))
    return Heads(block.table.select(list(block.layout.by)).take(first), block.firsts)


def join_windows(parts: Sequence[Mapping[str, pa.Table]], declared: Declared) -> pa.Table:
    """Return the results of blocks as one table: by window, then key, then time."""
    tables = [part[name] for name in declared.windows for part in parts]
    return pa.concat_tables(tables, promote_options="permissive")  # a part may have nulls only, or only whole numbers


def join_columns(parts: Sequence[pa.Array]) -> pa.ChunkedArray:
    """Return parts of a column as one; a part may have nulls only, which have no type, or only whole numbers."""
    schemas = [pa.schema({"": part.type}) for part in parts]
    kind = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    return pa.chunked_array([part if part.type == kind else part.cast(kind) for part in parts])
