"""The commands and their options. A command imports the module that does the work when it runs, so that `sash --help` is fast."""

# ruff: noqa: PLC0415
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import typer

from sash.cli.terminal import report_errors

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="[bold]Start[/bold]\n\n$ sash sample readings -o readings.parquet\n\n"
    "$ sash plot \"SELECT max(load) AS peak FROM 'readings.parquet' \\[RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY household\"\n\n"
    "More examples are at the end of the help of each command: sash run --help",
)

Engine = Literal["local", "spark"]
OnBadTime = Literal["error", "drop"]
Picture = Literal["results", "windows", "plan"]
TEXT = typer.Argument(metavar="QUERY", help="A query in SQL or CQL, or a file that contains one.")
OPTIONAL_TEXT = typer.Argument(
    None, metavar="QUERY", help="A query in SQL or CQL, or a file that contains one. Default: a demo."
)
SOURCE = typer.Option(
    None, "--input", "-i", metavar="PATH", help="A file, a folder, a pattern such as 'data/*.csv', or - for a pipe."
)
INPUT_FORMAT = typer.Option(
    None, metavar="FORMAT", help="csv, tsv, json, ndjson, parquet, arrow or arrows. Default: by ending."
)
TIME = typer.Option(
    None,
    metavar="COLUMN",
    help="The time column, or an expression such as 'CAST(ts AS TIMESTAMP)', if the text has none.",
)
TIME_FORMAT = typer.Option(
    None,
    metavar="FORMAT",
    help="The format of times that are text, such as '%d/%m/%Y %H:%M', or epoch_s, epoch_ms, epoch_us, epoch_ns. Default: the only one that fits.",
)
THREADS = typer.Option(None, min=1, help="The number of threads. Default: all cores.")


def command(*examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a function to the commands. Its help ends with the examples."""
    lines = [f"$ {line}".replace("[", "\\[") for line in examples]
    epilog = "\n\n".join(["[bold]Examples[/bold]", *lines])
    return lambda function: app.command(function.__name__, epilog=epilog)(report_errors(function))


def _print_version(value: bool) -> None:
    if value:
        import sash

        typer.echo(f"sash {sash.__version__}")
        raise typer.Exit


@app.callback()
def sash_command(
    version: bool = typer.Option(False, "--version", help="Show the version.", is_eager=True, callback=_print_version),
) -> None:
    """Sliding-window aggregation over files: SQL or CQL in, a table out."""


@command(
    "sash run \"SELECT household, max(load) AS peak FROM 'readings.parquet' [RANGE 1 HOUR SLIDE 10 MINUTES] GROUP BY household\"",
    'sash run "SELECT *, avg(load) OVER (PARTITION BY plug ORDER BY ts ROWS 9 PRECEDING) AS mean FROM t" -i readings.parquet -o means.csv',
    "sash run query.sql -i readings.parquet -o peaks.parquet",
    "sash run query.sql -i readings/ --resume peaks.state -o peaks/",
    'cat readings.csv | sash run "SELECT count(*) AS n FROM t [RANGE 1 DAY SLIDE 1 DAY]" -i - --output-format json',
)
def run(
    text: str = TEXT,
    source: str | None = SOURCE,
    target: str | None = typer.Option(None, "--output", "-o", metavar="PATH", help="A file; - for standard output."),
    input_format: str | None = INPUT_FORMAT,
    output_format: str | None = typer.Option(
        None, metavar="FORMAT", help="As --input-format. Default: by ending; csv for a pipe."
    ),
    engine: Engine | None = typer.Option(None, help="Where the query runs. Default: local, or spark with --stream."),
    master: str | None = typer.Option(None, help="Spark's master, such as local[4] or spark://host:7077."),
    stream: bool = typer.Option(False, "--stream", help="Read new files of a folder as they arrive, on Spark."),
    once: bool = typer.Option(False, "--once", help="With --stream: process the files that are there, and end."),
    checkpoint: str | None = typer.Option(
        None, metavar="FOLDER", help="Where a stream stores its state, to continue after a restart."
    ),
    forget: str | None = typer.Option(
        None,
        metavar="DURATION",
        help="With --stream: drop the state of a key that had no rows for this long, such as 30d.",
    ),
    resume: str | None = typer.Option(
        None,
        metavar="FILE",
        help="Read only new files, and continue where the last run ended. -o is a folder, which gets a file for each run.",
    ),
    time: str | None = TIME,
    time_format: str | None = TIME_FORMAT,
    at: str | None = typer.Option(
        None, metavar="PATH", help="Labels: keys and times at which to compute the aggregates."
    ),
    at_time: str | None = typer.Option(
        None, metavar="COLUMN", help="The time column of the labels. Default: that of the query."
    ),
    future: bool = typer.Option(
        False, "--future", help="With --at: also accept windows after the label, for what a model is to predict."
    ),
    lateness: str | None = typer.Option(
        None,
        metavar="DURATION",
        help="Process rows as they come; a row may be this much older than the newest one, such as 5m.",
    ),
    on_bad_time: OnBadTime | None = typer.Option(
        None, help="Rows without a usable time: an error, or drop them and count them. Default: error."
    ),
    threads: int | None = THREADS,
    batches: bool | None = typer.Option(
        None, "--batches/--no-batches", help="Process the input in batches. Default: if it may not fit into memory."
    ),
    memory: str | None = typer.Option(
        None, metavar="SIZE", help="The memory to use, such as 2GB. Default: what is free."
    ),
    rows: int = typer.Option(20, min=1, help="How many rows a terminal shows."),
) -> None:
    """Run a query and write its results.

    FROM names a file in quotes; any other name stands for the input of -i. Without -o, a terminal shows a table, and a pipe
    gets CSV.
    """
    on_spark = stream or engine == "spark"
    if engine == "local" and stream:
        raise typer.BadParameter(
            "A growing folder is read by Spark. Leave --engine out, or use --engine spark.", param_hint="--engine"
        )
    if not on_spark:
        _refuse({"--master": master}, "--engine spark")
    if not stream:
        _refuse({"--checkpoint": checkpoint, "--forget": forget, "--once": once or None}, "--stream")
    if engine == "spark" and not stream:
        _refuse({"--on-bad-time": on_bad_time}, "--engine local, or --stream")
    if on_spark:
        local = {
            "--time-format": time_format,
            "--at": at,
            "--at-time": at_time,
            "--future": future or None,
            "--threads": threads,
            "--batches": batches,
            "--memory": memory,
            "--resume": resume,
        }
        _refuse(local, "--engine local")
    from sash.cli.local_run import RunOptions, run_local

    options = RunOptions(
        text, source, target, input_format, output_format, time, at, at_time, future, lateness, threads, batches, rows,
        memory, on_bad_time or "error", time_format,
    )  # fmt: skip
    if resume is not None:
        from sash.cli.resumed_run import run_resumed

        run_resumed(options, resume)
        return
    if not on_spark:
        run_local(options)
        return
    from sash.cli.spark_run import run_spark, run_stream

    if stream:
        run_stream(options, master, checkpoint, forget, once=once)
    else:
        run_spark(options, master)


def _refuse(options: Mapping[str, Any], needed: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise typer.BadParameter(f"It applies to {needed} only.", param_hint=name)


@command(
    'sash explain "SELECT max(load) FROM t [RANGE 1 DAY SLIDE 1 MINUTE ON ts] GROUP BY household"',
    'sash explain "SELECT avg(load), stddev(load) FROM t [RANGE 1 HOUR SLIDE 5 MINUTES]" -i readings.parquet',
)
def explain(
    text: str = TEXT, source: str | None = SOURCE, input_format: str | None = INPUT_FORMAT, time: str | None = TIME
) -> None:
    """Show how a query is evaluated: slices, algorithms and why, cost and memory."""
    from sash.cli.plots import explanations
    from sash.cli.text_query import query_of_argument

    plans = explanations(query_of_argument(text, time), source, input_format)
    typer.echo("\n\n".join(map(str, plans)))


@command(
    'sash size "SELECT max(load) FROM t [RANGE 1 HOUR SLIDE 1 MINUTE ON ts] GROUP BY household" --rate 1e6 --keys 1e8',
    "sash size query.sql -i readings.parquet --rate 20000 --keys 3e6 --interval 10s",
)
def size(
    text: str = TEXT,
    rate: float = typer.Option(..., metavar="ROWS", help="The number of rows per second, such as 1e6."),
    keys: float = typer.Option(..., metavar="KEYS", help="The number of keys, such as 1e8."),
    interval: str = typer.Option("1m", metavar="DURATION", help="The time between two micro-batches."),
    busy: float = typer.Option(0.7, metavar="SHARE", help="The share of the time that cores are busy."),
    coefficients: str | None = typer.Option(
        None, metavar="FILE", help="Coefficients of your own machines. Default: those that come with Sash."
    ),
    source: str | None = SOURCE,
    input_format: str | None = INPUT_FORMAT,
    time: str | None = TIME,
) -> None:
    """Estimate how large a stream on Spark gets: cores, memory, checkpoint and the time of a restart."""
    from sash.cli.sizes import show_size
    from sash.cli.text_query import query_of_argument

    query = query_of_argument(text, time)
    show_size(
        query, source, input_format, rate=rate, keys=keys, interval=interval, busy=busy, coefficients=coefficients
    )


@command(
    'sash plot "SELECT max(load) AS peak FROM t [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY household" -i readings.parquet',
    'sash plot "SELECT max(load) AS peak FROM t [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY household" -i readings.parquet -o peaks.svg',
    'sash plot "SELECT max(load) FROM t [RANGE 9 MINUTES SLIDE 6 MINUTES ON ts]" --what windows -o windows.png',
    'sash plot "SELECT max(load), avg(load) FROM t [RANGE 1 HOUR SLIDE 5 MINUTES ON ts]" --what plan -o plan.svg',
)
def plot(
    text: str = TEXT,
    source: str | None = SOURCE,
    target: str | None = typer.Option(None, "--output", "-o", metavar="PATH", help="A file that ends in .svg or .png."),
    what: Picture | None = typer.Option(
        None, help="Results, windows or the plan. Default: results if there is an input, otherwise windows."
    ),
    input_format: str | None = INPUT_FORMAT,
    time: str | None = TIME,
    time_format: str | None = TIME_FORMAT,
) -> None:
    """Draw the results, the windows or the plan of a query: on the terminal, or as SVG or PNG."""
    from sash.cli.local_run import RunOptions
    from sash.cli.plots import draw

    draw(RunOptions(text, source, target, input_format, time=time, time_format=time_format), what)


@command("sash sample", "sash sample readings -o readings.parquet", "sash sample readings > readings.parquet")
def sample(
    name: str | None = typer.Argument(None, help="The sample. Default: list them."),
    target: str | None = typer.Option(None, "--output", "-o", metavar="PATH", help="A file; - for standard output."),
    output_format: str | None = typer.Option(
        None,
        metavar="FORMAT",
        help="csv, tsv, json, ndjson, parquet, arrow or arrows. Default: by ending; parquet for a pipe.",
    ),
) -> None:
    """Write sample data to try queries on. No download is needed."""
    from sash.cli.sample import write_sample

    write_sample(name, target, output_format)


@command("sash algorithms", "sash algorithms > algorithms.md")
def algorithms() -> None:
    """List the algorithms: what they need, what they cost, and their papers."""
    from sash.cli.listings import list_algorithms

    list_algorithms()


@command("sash aggregates", "sash aggregates arg_max")
def aggregates(name: str | None = typer.Argument(None, help="Show all about one aggregate.")) -> None:
    """List the aggregates: name, arguments, other names in SQL, and what they compute."""
    from sash.cli.listings import list_aggregates, show_aggregate

    if name is None:
        list_aggregates()
    else:
        show_aggregate(name)


@command('sash warm "SELECT avg(load) FROM t [RANGE 1 HOUR SLIDE 5 MINUTES]" -i readings.parquet')
def warm(
    text: str = TEXT, source: str | None = SOURCE, input_format: str | None = INPUT_FORMAT, time: str | None = TIME
) -> None:
    """Compile a query ahead, so that later runs over data of the same types start compiled."""
    from sash.cli.listings import warm_up
    from sash.cli.text_query import query_of_argument

    warm_up(query_of_argument(text, time), source, input_format)


@command(
    'sash bench "SELECT max(load) OVER (PARTITION BY plug ORDER BY ts ROWS 99 PRECEDING) AS peak FROM t" -i readings.parquet',
    "sash bench --generate 100000",
)
def bench(
    text: str | None = OPTIONAL_TEXT,
    source: str | None = SOURCE,
    input_format: str | None = INPUT_FORMAT,
    time: str | None = TIME,
    generate: int = typer.Option(
        1_000_000, metavar="ROWS", min=1000, help="Without -i: the number of rows to generate."
    ),
    repeat: int = typer.Option(3, min=1, help="How often each engine runs; the best time counts."),
    threads: int | None = THREADS,
) -> None:
    """Time a query in Sash, and in DuckDB if it can run the same text; compare the results first."""
    from sash.cli.against_duckdb import compare
    from sash.cli.local_run import RunOptions

    compare(RunOptions(text or "", source, None, input_format, time=time, threads=threads), generate, repeat)


@command(
    "sash live",
    'sash live "SELECT max(load) AS peak FROM t [RANGE 1 HOUR SLIDE 1 MINUTE ON ts] GROUP BY household" -i folder/',
)
def live(
    text: str | None = OPTIONAL_TEXT,
    source: str | None = typer.Option(
        None, "--input", "-i", metavar="FOLDER", help="A folder whose files are the input."
    ),
    host: str = typer.Option("127.0.0.1", help="The address to listen on, such as 0.0.0.0 for all."),
    port: int = typer.Option(0, min=0, max=65535, help="The port; 0 for any that is free."),
    token: str | None = typer.Option(
        None, help="What a browser must present; better in the environment. Default: a new one.", envvar="SASH_TOKEN"
    ),
    open_browser: bool = typer.Option(True, "--open/--no-open", help="Open a browser."),
    idle_exit: float | None = typer.Option(
        None, "--exit-when-idle", metavar="SECONDS", min=0, help="End when no page is connected for this long."
    ),
    engine: Engine = typer.Option("spark", help="Where the query runs."),
) -> None:
    """Serve a page that shows windows live: of a demo, or of your own query and data."""
    from sash.cli.text_query import read_text
    from sash.live import serve

    query = None if text is None else read_text(text)
    code = serve(
        query, source, host=host, port=port, token=token, open_browser=open_browser, idle_exit=idle_exit, engine=engine
    )
    raise typer.Exit(code)


@command(
    "sash serve card_features.sql --store sqlite:///features.db",
    "sash serve features:cards features:shops --store redis://localhost:6379/0 --host 0.0.0.0",
    'sash serve "cards=SELECT sum(amount) AS spent FROM t [PARTITION BY card RANGE 1 DAY ON ts]" --store sqlite:///features.db',
)
def serve(
    queries: list[str] = typer.Argument(
        metavar="[NAME=]QUERY...",
        help="A file that holds the text of a query, module:variable, or NAME=text. NAME is that of the states in the store; default: the name of the file or variable.",
    ),
    store: str = typer.Option(
        metavar="URL", help="The store that a stream writes: sqlite:///features.db or redis://host:6379/0."
    ),
    host: str = typer.Option("127.0.0.1", help="The address to listen on, such as 0.0.0.0 for all."),
    port: int = typer.Option(8000, min=0, max=65535, help="The port; 0 for any that is free."),
    token: str | None = typer.Option(
        None, help="What a request must present; better in the environment. Default: a new one.", envvar="SASH_TOKEN"
    ),
    allowed_hosts: list[str] | None = typer.Option(
        None, "--allow-host", metavar="HOST[:PORT]", help="Another value of the header Host, such as that of a proxy."
    ),
    time: str | None = TIME,
) -> None:
    """Serve the features of keys over HTTP, as in GET /features?card=42.

    A stream writes the states of keys to the store. A lookup computes the features at a time from the state, without Spark.
    """
    from sash.cli.served_queries import read_queries
    from sash.serve import serve as serve_queries

    found = read_queries(queries, time)
    serve_queries(found, store, host=host, port=port, token=token, allowed_hosts=allowed_hosts or ())
