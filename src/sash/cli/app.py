"""The commands and their options. A command imports the module that does the work when it runs, so that `sash --help` is fast."""

# ruff: noqa: PLC0415
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import typer

from sash.cli.terminal import report_errors

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Examples are at the end of the help of each command: sash run --help",
)

Engine = Literal["local", "spark"]
Picture = Literal["results", "windows", "plan"]
Text = Annotated[str, typer.Argument(metavar="QUERY", help="The text of a query, or a file that holds it.")]
OptionalText = Annotated[
    str | None, typer.Argument(metavar="QUERY", help="The text of a query, or a file that holds it. Default: a demo.")
]
Source = Annotated[
    str | None,
    typer.Option(
        "--input", "-i", metavar="PATH", help="A file, a folder, a pattern such as 'data/*.csv', or - for a pipe."
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", help="csv, tsv, json, ndjson, parquet, arrow or arrows. Default: by ending."),
]
Time = Annotated[str | None, typer.Option(metavar="COLUMN", help="The time column, if the text does not name it.")]
Threads = Annotated[int | None, typer.Option(min=1, help="The number of threads. Default: all cores.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]


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
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Sliding-window aggregation over files: SQL or CQL in, a table out."""


@command(
    "sash run \"SELECT household, max(load) AS peak FROM 'readings.parquet' [RANGE 1 HOUR SLIDE 10 MINUTES] GROUP BY household\"",
    'sash run "SELECT *, avg(load) OVER (PARTITION BY plug ORDER BY ts ROWS 9 PRECEDING) AS mean FROM t" -i readings.parquet -o means.csv',
    "sash run query.sql -i readings.parquet -o peaks.parquet",
    'cat readings.csv | sash run "SELECT count(*) AS n FROM t [RANGE 1 DAY SLIDE 1 DAY]" -i - --output-format json',
)
def run(
    text: Text,
    source: Source = None,
    target: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PATH", help="A file; - for standard output.")
    ] = None,
    input_format: InputFormat = None,
    output_format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="As --input-format. Default: by ending; csv for a pipe."),
    ] = None,
    engine: Annotated[
        Engine | None, typer.Option(help="Where the query runs. Default: local, or spark with --stream.")
    ] = None,
    master: Annotated[str | None, typer.Option(help="Spark's master, such as local[4] or spark://host:7077.")] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Read new files of a folder as they arrive, on Spark.")
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="With --stream: process the files that are there, and end.")
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Where a stream stores its state, to go on after a restart."),
    ] = None,
    forget: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="With --stream: drop the state of a key that had no rows for this long, such as 30d.",
        ),
    ] = None,
    time: Time = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Labels: keys and times at which to compute the aggregates."),
    ] = None,
    at_time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The time column of the labels. Default: that of the query."),
    ] = None,
    lateness: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Process rows as they come; a row may be this much older than the newest one, such as 5m.",
        ),
    ] = None,
    threads: Threads = None,
    batches: Annotated[
        bool | None,
        typer.Option(
            "--batches/--no-batches", help="Process the input in batches. Default: if it may not fit into memory."
        ),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The memory to use, such as 2GB. Default: what is free.")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="How many rows a terminal shows.")] = 20,
    debug: Debug = False,
) -> None:
    """Run a query and write its results.

    FROM in the text names files in quotes, or any table, which then is the input of -i. Without -o, a terminal shows a table
    and a pipe gets CSV.
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
    if on_spark:
        local = {"--at": at, "--at-time": at_time, "--threads": threads, "--batches": batches, "--memory": memory}
        _refuse(local, "--engine local")
    from sash.cli.local_run import RunOptions, run_local

    options = RunOptions(
        text, source, target, input_format, output_format, time, at, at_time, lateness, threads, batches, rows, memory
    )
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
    text: Text, source: Source = None, input_format: InputFormat = None, time: Time = None, debug: Debug = False
) -> None:
    """Show how a query is evaluated: slices, algorithms and why, cost and memory."""
    from sash.cli.plots import explanation
    from sash.cli.text_query import TextQuery

    typer.echo(str(explanation(TextQuery(text, time), source, input_format)))


@command(
    'sash plot "SELECT max(load) AS peak FROM t [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY household" -i readings.parquet',
    'sash plot "SELECT max(load) AS peak FROM t [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY household" -i readings.parquet -o peaks.svg',
    'sash plot "SELECT max(load) FROM t [RANGE 9 MINUTES SLIDE 6 MINUTES ON ts]" --what windows -o windows.png',
    'sash plot "SELECT max(load), avg(load) FROM t [RANGE 1 HOUR SLIDE 5 MINUTES ON ts]" --what plan -o plan.svg',
)
def plot(
    text: Text,
    source: Source = None,
    target: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PATH", help="A file that ends in .svg or .png.")
    ] = None,
    what: Annotated[
        Picture | None,
        typer.Option(help="Results, windows or the plan. Default: results if there is an input, otherwise windows."),
    ] = None,
    input_format: InputFormat = None,
    time: Time = None,
    debug: Debug = False,
) -> None:
    """Draw the results, the windows or the plan of a query: on the terminal, or as SVG or PNG."""
    from sash.cli.local_run import RunOptions
    from sash.cli.plots import draw

    draw(RunOptions(text, source, target, input_format, time=time), what)


@command("sash algorithms", "sash algorithms > algorithms.md")
def algorithms(debug: Debug = False) -> None:
    """List the algorithms: what they need, what they cost, and their papers."""
    from sash.cli.listings import list_algorithms

    list_algorithms()


@command("sash aggregates", "sash aggregates arg_max")
def aggregates(
    name: Annotated[str | None, typer.Argument(help="Show all about one aggregate.")] = None, debug: Debug = False
) -> None:
    """List the aggregates: name, arguments, other names in SQL, and what they compute."""
    from sash.cli.listings import list_aggregates, show_aggregate

    if name is None:
        list_aggregates()
    else:
        show_aggregate(name)


@command('sash warm "SELECT avg(load) FROM t [RANGE 1 HOUR SLIDE 5 MINUTES]" -i readings.parquet')
def warm(
    text: Text, source: Source = None, input_format: InputFormat = None, time: Time = None, debug: Debug = False
) -> None:
    """Compile a query ahead, so that later runs over data of the same types start compiled."""
    from sash.cli.listings import warm_up
    from sash.cli.text_query import TextQuery

    warm_up(TextQuery(text, time), source, input_format)


@command(
    'sash bench "SELECT max(load) OVER (PARTITION BY plug ORDER BY ts ROWS 99 PRECEDING) AS peak FROM t" -i readings.parquet',
    "sash bench --generate 100000",
)
def bench(
    text: OptionalText = None,
    source: Source = None,
    input_format: InputFormat = None,
    time: Time = None,
    generate: Annotated[
        int, typer.Option(metavar="ROWS", min=1000, help="Without -i: the number of rows to generate.")
    ] = 1_000_000,
    repeat: Annotated[int, typer.Option(min=1, help="How often each engine runs; the best time counts.")] = 3,
    threads: Threads = None,
    debug: Debug = False,
) -> None:
    """Time a query in Sash, and in DuckDB if it can run the same text; compare the results first."""
    from sash.cli.against_duckdb import compare

    compare(text, source, input_format, time, generate, repeat, threads)


@command(
    "sash live",
    'sash live "SELECT max(load) AS peak FROM t [RANGE 1 HOUR SLIDE 1 MINUTE ON ts] GROUP BY household" -i folder/',
)
def live(
    text: OptionalText = None,
    source: Annotated[
        str | None, typer.Option("--input", "-i", metavar="FOLDER", help="A folder whose files are the input.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on. Others than this machine's need --token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 0,
    token: Annotated[str | None, typer.Option(help="What a browser must present.", envvar="SASH_TOKEN")] = None,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
    idle_exit: Annotated[
        float | None,
        typer.Option("--exit-when-idle", metavar="SECONDS", min=0, help="End when no page is connected for this long."),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="Where the query runs.")] = "spark",
    debug: Debug = False,
) -> None:
    """Serve a page that shows windows live: of a demo, or of your own query and data."""
    from sash.cli.text_query import read_text
    from sash.live import serve

    code = serve(
        None if text is None else read_text(text),
        source,
        host=host,
        port=port,
        token=token,
        open_browser=open_browser,
        idle_exit=idle_exit,
        engine=engine,
    )
    raise typer.Exit(code)
