"""Folder: the rows of files in a folder that grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from sash.engine.select_sql import READERS, ending_of, read_files

ARROW = (".arrow", ".feather", ".ipc")
ENDINGS = (*READERS, *ARROW)


def read_file(path: Path) -> pa.Table:
    """Return the rows of a file. Raise ValueError or OSError if it cannot be read."""
    if ending_of(path) not in ARROW:
        return read_files(str(path).replace("[", "[[]"))
    with pa.memory_map(str(path)) as file:
        try:
            return pa.ipc.open_file(file).read_all()
        except pa.ArrowInvalid:  # a stream has no footer
            file.seek(0)
            return pa.ipc.open_stream(file).read_all()


@dataclass
class Folder:
    """A folder whose new files are read once each, or a single file."""

    path: Path
    read: set[Path] = field(default_factory=set)
    sizes: dict[Path, int] = field(default_factory=dict)
    """The size of each new file when it was seen last: a file that still grows is not read yet."""

    def files(self) -> list[Path]:
        """Return all files with rows, oldest first. Raise FileNotFoundError if the path does not exist."""
        if self.path.is_file():
            return [self.path]
        if not self.path.is_dir():
            raise FileNotFoundError(f"{self.path} does not exist.")
        visible = (path for path in self.path.iterdir() if not path.name.startswith((".", "_")))
        files = [path for path in visible if ending_of(path) in ENDINGS]
        return sorted(files, key=lambda path: (path.stat().st_mtime_ns, path.name))

    def schema(self) -> pa.Schema:
        """Return the schema of the oldest file. Raise FileNotFoundError if there is none yet."""
        files = self.files()
        if not files:
            raise FileNotFoundError(
                f"{self.path} has no file that ends in {', '.join(ENDINGS)}. The first one tells the columns: add it."
            )
        return read_file(files[0]).schema

    def poll(self) -> Iterator[tuple[Path, pa.Table | Exception]]:
        """Yield the rows of each new file that no longer grows, or the error that reading it raised."""
        for path in self.files():
            if path in self.read:
                continue
            try:
                size = path.stat().st_size
                if self.sizes.get(path) != size:
                    self.sizes[path] = size
                    continue
                self.read.add(path)
                self.sizes.pop(path, None)
                yield path, read_file(path)
            except (OSError, ValueError, pa.ArrowException) as error:
                yield path, error
