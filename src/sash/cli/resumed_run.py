"""`sash run … --resume FILE -o FOLDER`: the files that are new since the last run → one file of results per run.

    files of the input ──► new ones, by FILE ──► rows in order of time ──► query ──► FOLDER/run-000007.parquet
                            ▲                                                                │ then
                            └─ FILE: the state, which files were read, the number of the run ◄─┘

The results get their name first, and FILE is replaced after that. A run that was killed in between is repeated by the next one: FILE says that
run 6 was the last, so the next run is run 7 again and replaces its file. So no results are lost, and none are there twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer

from sash.cli.display import RowProgress
from sash.cli.inputs import DUCKDB_READERS, ENDINGS, STDIN, Input, find_files, format_of, from_files, named_format
from sash.cli.local_run import SORT_SHARE, LocalRun, RunOptions, is_in_order, temporary_folder
from sash.cli.outputs import output_format, write_results
from sash.cli.text_query import TextQuery, input_of, query_of_argument
from sash.engine.bad_times import with_usable_times
from sash.state.resume_file import ResumeFile
from sash.workers.sorted_reader import sorted_reader

RESULTS = re.compile(r"run-(\d+)\.\w+")
DIGITS = 6


class RunFile(ResumeFile):
    """The file of --resume: the state of the query, and what runs have read. It is replaced after the results have their name."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        data = self.read()
        known: Mapping[str, Any] = {"files": {}, "run": 0, "query": {}} if data is None else self.read_header(data)
        if "files" not in known:
            raise ValueError(f"{path!r} is a state of query.run(reader, resume=…), not of sash run. Name another file.")
        self.files: dict[str, int] = known["files"]
        """The sizes of the files that were read, by name."""
        self.last_run: int = known["run"]
        self.columns: Mapping[str, str] = known["query"].get("columns", {})
        """The types of the columns in earlier runs."""
        self.waiting: bytes | None = None

    def write(self, data: bytes) -> None:
        """Hold the state until the results have their name."""
        self.waiting = data

    def commit(self) -> None:
        """Replace the file."""
        assert self.waiting is not None
        super().write(self.waiting)


def run_resumed(options: RunOptions, path: str) -> None:
    """Run a query over the files that are new since the last run. Raise ValueError if that is not possible."""
    check_options(options)
    file_format = output_format("results.parquet", options.output_format)
    assert options.target is not None
    assert file_format is not None
    drop = options.on_bad_time == "drop"
    query = query_of_argument(options.text, options.time, options.lateness, options.time_format, drop_bad_times=drop)
    if not isinstance(query, TextQuery) or not query.is_one_query:
        raise ValueError(
            "--resume continues one query: a SELECT over one table, whose windows with OVER have the same PARTITION BY and ORDER BY."
        )
    folder = Path(options.target)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(Path(path)):
        file = RunFile(path)
        found = NewFiles.of(input_of(query, options.source), options.input_format, folder, file)
        number = file.last_run + 1
        unfinished = check_results(folder, number, path)
        result = folder / f"run-{number:0{DIGITS}}.{file_format}"
        if not found.paths:
            typer.echo("There are no new files.", err=True)
            return
        file.header = {"files": file.files | found.sizes, "run": number}
        with temporary_folder() as temporary, RowProgress() as progress:
            run = ResumedRun(query, options, progress, Path(temporary), found.paths, file)
            write_results(run.results(), str(result), file_format, options.rows)
        for other in unfinished:
            if other != result:  # in another format
                other.unlink()
        file.commit()
    many = "1 new file" if len(found.paths) == 1 else f"{len(found.paths):,} new files"
    typer.echo(f"Read {many}, wrote {result}", err=True)


def check_options(options: RunOptions) -> None:
    """Raise ValueError if an option does not go with --resume."""
    if options.target in (None, STDIN):
        raise ValueError("--resume writes a file of results for each run. Name a folder with -o.")
    if Path(str(options.target)).is_file():
        raise ValueError(
            f"--resume writes a file of results for each run, but -o {options.target} is a file. Name a folder."
        )
    if not Path(str(options.target)).exists() and Path(str(options.target)).suffix in ENDINGS:
        raise ValueError(
            f"--resume writes a file of results for each run, but -o {options.target} looks like a file. Name a folder; --output-format sets "
            "the format of its files."
        )
    if options.source == STDIN:
        raise ValueError("--resume reads the new files of a folder. Name it with -i.")
    if options.at is not None or options.batches is False:
        raise ValueError("--resume processes rows in batches. Leave --at and --no-batches out.")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one run at a time use a file of --resume. Raise ValueError if another one does."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"--resume {str(path)!r} is in a folder that does not exist. Make it first.")
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        try:
            import fcntl  # noqa: PLC0415 — Windows has none
        except ImportError:
            yield
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it ends with the process, however that ends
        except OSError as error:
            raise ValueError(f"Another run is using {str(path)!r}. Wait until it has ended.") from error
        for rest in path.absolute().parent.glob(f".{path.name}.*.part"):  # of runs that were killed
            rest.unlink()
        yield


def check_results(folder: Path, number: int, path: str) -> list[Path]:
    """Return the results of this run if it was killed before; this time it replaces them. Raise ValueError if there are results of later runs."""
    numbers = {entry: int(match[1]) for entry in folder.iterdir() if (match := RESULTS.fullmatch(entry.name))}
    later = max(numbers.values(), default=0)
    if later > number:
        raise ValueError(
            f"The folder {str(folder)!r} has results of run {later}, but the last run in {path!r} is {number - 1}: it is older than the "
            "results, or belongs to others. Restore the newest one, or name an empty folder."
        )
    for rest in folder.glob(".run-*.part"):
        rest.unlink()
    return [entry for entry, own in numbers.items() if own == number]


# -- new files ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NewFiles:
    """The files of an input that no run has read."""

    paths: list[str]
    sizes: dict[str, int]
    """By name: the path below the folder of the input, so that the folder may move."""

    @classmethod
    def of(cls, source: str, input_format: str | None, results: Path, file: RunFile) -> NewFiles:
        """Return the new files of a folder or a pattern. Raise ValueError if a file has changed since it was read."""
        root = fixed_part(source)
        if Path(source).is_dir() and results.resolve().is_relative_to(root.resolve()):
            raise ValueError(
                f"The results in {str(results)!r} would be read as input. Name a folder outside of {source!r}."
            )
        new, sizes = [], {}
        for path in _all_files(source, input_format):
            if Path(path).resolve() == file.path.resolve():
                continue
            if Path(path).resolve().parent == results.resolve():
                raise ValueError(
                    f"The results in {str(results)!r} would be read as input. Name another folder with -o."
                )
            name, size = Path(path).relative_to(root).as_posix(), Path(path).stat().st_size
            if name not in file.files:
                new.append(path)
                sizes[name] = size
            elif file.files[name] != size:
                raise ValueError(
                    f"{path!r} was read when it had {file.files[name]:,} bytes, and has {size:,} now. Files must be complete when they appear. "
                    "Put new rows into new files, and move the old version of this file back."
                )
        return cls(new, sizes)


def fixed_part(source: str) -> Path:
    """Return the folder of an input: for a pattern, that before its first wildcard.

    >>> fixed_part("data/*/x.csv").as_posix()
    'data'
    """
    path = Path(source)
    if path.is_dir():
        return path
    fixed = path.parent
    while has_magic(str(fixed)):
        fixed = fixed.parent
    return fixed


def _all_files(source: str, input_format: str | None) -> list[str]:
    try:
        return find_files(source, None if input_format is None else named_format(input_format))
    except FileNotFoundError:
        if fixed_part(source).is_dir() and (Path(source).is_dir() or has_magic(source)):
            return []  # nothing yet
        raise


# -- the run -----------------------------------------------------------------------------------------------------------


class ResumedRun(LocalRun):
    """A query over new files, which continues from a file of --resume."""

    def __init__(
        self,
        query: TextQuery,
        options: RunOptions,
        progress: RowProgress,
        temporary: Path,
        paths: Sequence[str],
        file: RunFile,
    ) -> None:
        self.paths, self.file = paths, file
        super().__init__(query, options, progress, temporary)

    def open_source(self) -> Input:
        """Return the new files as an input; text in the types of earlier runs."""
        assert isinstance(self.query, TextQuery)
        options = self.options
        file_format = named_format(options.input_format) if options.input_format else format_of(self.paths[0])
        if len(others := dict.fromkeys(map(format_of, self.paths))) > 1 and options.input_format is None:
            raise ValueError(
                f"The new files have several formats: {', '.join(map(str, others))}. Name one with a pattern."
            )
        source = from_files(str(Path(self.paths[0]).parent), self.paths, str(file_format), self.temporary)
        if file_format in DUCKDB_READERS:
            source = in_known_types(source, self.file.columns)
        return self.query.with_times(source)

    def results(self) -> pa.RecordBatchReader:
        """Return the results that are complete with the new files, batch by batch."""
        options, source, declared = self.options, self.source, self.declared
        total, sorts = source.rows, options.lateness is None and declared.time is not None
        if sorts:
            self.progress.step("checking the order")
            in_order, total = is_in_order(source, str(declared.time))
            sorts = not in_order
        rows = source.open(self.columns)
        if sorts:
            unsorted = self.progress.count("sorting", rows, total)
            if options.on_bad_time == "drop":
                unsorted = with_usable_times(unsorted, str(declared.time))
            by_time = replace(declared, by=())  # all keys go on from the states that they have
            rows = sorted_reader(unsorted, by_time, SORT_SHARE * options.bytes, str(self.temporary))
        counted = self.progress.count("computing", rows, total)
        read: pa.RecordBatchReader = self.query.run(
            counted, resume=self.file, threads=options.threads, on_bad_time=options.on_bad_time
        )
        return read


def in_known_types(source: Input, columns: Mapping[str, str]) -> Input:
    """Return an input of text whose columns have the types of earlier runs: those of text depend on the values of a file."""
    types = {}
    for field in source.schema:
        known = columns.get(field.name, str(field.type))
        if known != str(field.type):
            types[field.name] = pa.type_for_alias(known)
    if not types:
        return source
    schema = pa.schema([field.with_type(types.get(field.name, field.type)) for field in source.schema])

    def read(names: Sequence[str]) -> pa.RecordBatchReader:
        own = pa.schema([schema.field(name) for name in names])

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in source.open(names):
                yield pa.record_batch([_cast(batch[name], own.field(name)) for name in names], schema=own)

        return pa.RecordBatchReader.from_batches(own, batches())

    return Input(source.name, schema, read, source.rows, source.size)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(
            f"Column {field.name!r} was {field.type} in earlier files, but a new one has {column.type}: {error}. Start again with another file "
            f"for --resume, and with a type for all files, as in CAST({field.name} AS DOUBLE)."
        ) from error
