"""ResumedStream: a stream in this process that goes on where the run before it ended, from a file.

    file ──► state, watermark ──► micro-batches ──► results
     ▲                                 │
     └── replaced as a whole ── the input has ended

No window is closed at the end of a run, because the next run may have more of its rows. A run that is interrupted, or whose results
are not read to their end, leaves the file as it was.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from sash.atomic_file import folder_lock, replacing
from sash.durations import Duration, standard_text
from sash.engine.prepare import Prepared
from sash.engine.stream_plan import stream_plan
from sash.options import ReaderOptions
from sash.state.codec import encode_state, read_arrays, read_state_header
from sash.state.fingerprint import Fingerprint, changes, describe_state, fingerprint_query
from sash.state.key_epochs import read_forget
from sash.state.reader import Stream


class ResumeFile:
    """The file of the state between two runs."""

    def __init__(self, path: str | PathLike[str], **more: Any) -> None:
        self.path = Path(path)
        self.more = more
        """Further parts of the fingerprint: what decides which rows the query gets, such as a WHERE."""
        self.header: dict[str, Any] = {}
        """What a caller stores beside the state."""

    def __fspath__(self) -> str:
        """Return the path."""
        return str(self.path)

    def read(self) -> bytes | None:
        """Return the bytes of the file; None if there is none. Raise ValueError if it cannot be a file."""
        if self.path.is_dir():
            raise ValueError(f"resume={str(self.path)!r} is a folder. Name a file in it.")
        if not self.path.absolute().parent.is_dir():
            raise FileNotFoundError(f"resume={str(self.path)!r} is in a folder that does not exist. Make it first.")
        return self.path.read_bytes() if self.path.exists() else None

    def read_header(self, data: bytes) -> dict[str, Any]:
        """Return the header of the state. Raise ValueError if it is damaged."""
        remedy = f"restore {str(self.path)!r} from a copy, or remove it and run over all rows again"
        return read_state_header(data, remedy)

    def write(self, data: bytes) -> None:
        """Replace the file at the end of a run."""
        with replacing(self.path) as file:
            file.write(data)


def resume_file(path: str | PathLike[str], **more: Any) -> ResumeFile:
    """Return the file at a path, whose fingerprint has further parts."""
    if not isinstance(path, ResumeFile):
        return ResumeFile(path, **more)
    path.more |= more
    return path


class ResumedStream(Stream):
    """A stream that continues from a file, and replaces it at its end."""

    def __init__(self, prepared: Prepared, file: ResumeFile, **given: Unpack[ReaderOptions]) -> None:
        super().__init__(prepared, **given)
        if given.get("order", "time") == "keys":
            raise ValueError(
                'resume= continues each key, but with order="keys" a key is complete when the next one begins. Sort the rows by time, and '
                'leave order="keys" out.'
            )
        for window in self.prepared.query.windows.values():
            window.memory.check_restart()
        self.file = file
        self.fingerprint = self._fingerprint(read_forget(prepared, given.get("forget")))
        self.token = ""
        """The name of the state in the file; empty if there is no file."""
        data = file.read()
        if data is not None:
            self._continue(data)

    @property
    def is_new(self) -> bool:
        """Whether no run has ended yet."""
        return not self.token

    def finish(self) -> pa.Table:
        """Return no results: windows stay open for the next run."""
        return self.add(self.empty)

    def close(self) -> None:
        """Replace the file. Raise ValueError if another run has done so since this one began."""
        more = {"newest": self.watermark.seen, "states": self.states.described, "partials": self.states.partials}
        token = uuid.uuid4().hex
        arrays, watermark = self.states.to_arrays(), self.watermark.watermark
        encoded = encode_state(arrays, watermark, self.fingerprint, token, **more, **self.file.header)
        with folder_lock(
            self.file.path.absolute().parent
        ):  # of two runs that end at once, one sees the file of the other
            data = self.file.read()
            if (self.file.read_header(data)["token"] if data is not None else "") != self.token:
                raise ValueError(
                    f"Another run has replaced {str(self.file.path)!r} since this one began, so the state of this run is not stored. Discard "
                    "its results, and run again."
                )
            self.file.write(encoded)
        self.token = token

    def _continue(self, data: bytes) -> None:
        header = self.file.read_header(data)
        if found := changes(header["query"], self.fingerprint):
            raise ValueError(
                f"The state in {str(self.file.path)!r} belongs to a different query: {'; '.join(found)}. Run the query that wrote it, or "
                "name another file and run over all rows again."
            )
        self.states.from_arrays(read_arrays(data, header))
        self.start_at(header["watermark"], header["newest"])
        self.token = header["token"]

    def _fingerprint(self, forget: Duration | None) -> Fingerprint:
        prepared = self.prepared
        query = prepared.query
        more: dict[str, Any] = {"mode": self.mode, **describe_state(stream_plan(prepared).state_kinds, query.slicing)}
        more |= {} if query.lateness is None else {"lateness": standard_text(query.lateness)}
        more |= {} if self.layout is None else {"emit": "state"}
        more |= {} if forget is None else {"forget": standard_text(forget)}
        columns: Mapping[str, str] = {field.name: str(field.type) for field in prepared.schema}
        return fingerprint_query(query, columns, **more, **self.file.more)
