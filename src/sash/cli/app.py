"""The commands and their options. What a command does is in another module, which it imports when it runs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from sash.cli.terminal import command

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Examples are at the end of the help of each command: sash run --help",
)


class Engine(StrEnum):
    """Where a query runs."""

    local = "local"
    spark = "spark"


class What(StrEnum):
    """What a plot shows."""

    results = "results"
    windows = "windows"
    plan = "plan"


Text = Annotated[
    str, typer.Argument(metavar="QUERY", help="The text of a query, or a file that holds it.", show_default=False)
]
Source = Annotated[
    str | None,
    typer.Option(
        "--input",
        "-i",
        metavar="PATH",
        help="A file, a folder, a pattern such as 'data/*.csv', or - for a pipe.",
        show_default=False,
    ),
]
Target = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="PATH", help="A file; - for standard output.", show_default=False),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        metavar="FORMAT",
        help="csv, tsv, json, ndjson, parquet, arrow or arrows. Default: by ending.",
        show_default=False,
    ),
]
OutputFormat = Annotated[
    str | None,
    typer.Option(
        "--output-format",
        metavar="FORMAT",
        help="As --input-format. Default: by ending; csv for a pipe.",
        show_default=False,
    ),
]
Time = Annotated[
    str | None,
    typer.Option("--time", metavar="COLUMN", help="The time column, if the text does not name it.", show_default=False),
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="The number of threads. Default: all cores.", show_default=False)
]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.", show_default=False)]


def examples(*lines: str) -> str:
    """Return the end of a help text."""
    return "[bold]Examples[/bold]\n\n" + "\n\n".join(f"$ {line}".replace("[", "\\[") for line in lines)


def _print_version(value: bool) -> None:
    if value:
        import sash  # noqa: PLC0415 — for its version only

        typer.echo(f"sash {sash.__version__}")
        raise typer.Exit


@app.callback()
def sash_command(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", is_eager=True, callback=_print_version, show_default=False),
    ] = False,
) -> None:
    """Sliding-window aggregation over files: SQL or CQL in, a table out."""


@app.command(
    "run",
    epilog=examples(
        """sash run "SELECT household, max(load) AS peak FROM 'readings.parquet' [RANGE 1 HOUR SLIDE 10 MINUTES] GROUP BY household" """.strip(),
        'sash run "SELECT *, avg(load) OVER (PARTITION BY plug ORDER BY ts ROWS 9 PRECEDING) AS mean FROM t" -i readings.parquet -o means.csv',
        "sash run query.sql -i readings.parquet -o peaks.parquet",
        'cat readings.csv | sash run "SELECT count(*) AS n FROM t [RANGE 1 DAY SLIDE 1 DAY]" -i - --output-format json',
    ),
)
@command
def run(
    text: Text,
    source: Source = None,
    target: Target = None,
    input_format: InputFormat = None,
    output_format: OutputFormat = None,
    engine: Annotated[
        Engine | None,
        typer.Option(
            "--engine", help="Where the query runs. Default: local, or spark with --stream.", show_default=False
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option("--master", help="Spark's master, such as local[4] or spark://host:7077.", show_default=False),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Read new files of a folder as they arrive, on Spark.", show_default=False)
    ] = False,
    once: Annotated[
        bool,
        typer.Option("--once", help="With --stream: process the files that are there, and end.", show_default=False),
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="FOLDER",
            help="Where a stream stores its state, to go on after a restart.",
            show_default=False,
        ),
    ] = None,
    forget: Annotated[
        str | None,
        typer.Option(
            "--forget",
            metavar="DURATION",
            help="With --stream: drop the state of a key that had no rows for so long, such as 30d.",
            show_default=False,
        ),
    ] = None,
    time: Time = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="PATH",
            help="Labels: keys and times at which to compute the aggregates.",
            show_default=False,
        ),
    ] = None,
    at_time: Annotated[
        str | None,
        typer.Option(
            "--at-time",
            metavar="COLUMN",
            help="The time column of the labels. Default: that of the query.",
            show_default=False,
        ),
    ] = None,
    lateness: Annotated[
        str | None,
        typer.Option(
            "--lateness",
            metavar="DURATION",
            help="Process rows as they come; a row may be this much older than the newest one, such as 5m.",
            show_default=False,
        ),
    ] = None,
    threads: Threads = None,
    batches: Annotated[
        bool | None,
        typer.Option(
            "--batches/--no-batches",
            help="Process the input in batches. Default: if it may not fit into memory.",
            show_default=False,
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="The memory to use, such as 2GB. Default: what is free.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[int, typer.Option("--rows", min=1, help="How many rows a terminal shows.")] = 20,
    debug: Debug = False,
) -> None:
    """Run a query and write its results.

    FROM in the text names files in quotes, or any table, which then is the input of -i. Without -o, a terminal shows a table
    and a pipe gets CSV.
    """
    from sash.cli.local_run import RunOptions, run_local  # noqa: PLC0415 — pyarrow takes long to import
    from sash.cli.text_query import read_text  # noqa: PLC0415 — as above

    on_spark = stream or engine is Engine.spark
    if engine is Engine.local and stream:
        raise typer.BadParameter(
            "A growing folder is read by Spark. Leave --engine out, or use --engine spark.", param_hint="--engine"
        )
    for name, given in {
        "--master": master,
        "--checkpoint": checkpoint,
        "--forget": forget,
        "--once": once or None,
    }.items():
        if given is not None and not (on_spark if name == "--master" else stream):
            needed = "--engine spark" if name == "--master" else "--stream"
            raise typer.BadParameter(f"It applies to {needed} only.", param_hint=name)
    for name, local in {
        "--at": at,
        "--at-time": at_time,
        "--threads": threads,
        "--batches": batches,
        "--memory": memory,
    }.items():
        if local is not None and on_spark:
            raise typer.BadParameter("It applies to --engine local only.", param_hint=name)
    options = RunOptions(
        read_text(text),
        source,
        target,
        input_format,
        output_format,
        time,
        at,
        at_time,
        lateness,
        threads,
        batches,
        rows,
        memory,
    )
    if not on_spark:
        run_local(options)
        return
    from sash.cli.spark_run import run_spark, run_stream  # noqa: PLC0415 — PySpark is optional

    if stream:
        run_stream(options, master, checkpoint, forget, once=once)
    else:
        run_spark(options, master)


@app.command(
    "explain",
    epilog=examples(
        'sash explain "SELECT max(load) FROM t [RANGE 1 DAY SLIDE 1 MINUTE ON ts] GROUP BY household"',
        'sash explain "SELECT avg(load), stddev(load) FROM t [RANGE 1 HOUR SLIDE 5 MINUTES]" -i readings.parquet',
    ),
)
@command
def explain(
    text: Text, source: Source = None, input_format: InputFormat = None, time: Time = None, debug: Debug = False
) -> None:
    """Show how a query is evaluated: slices, algorithms and why, cost and memory."""
    from sash.cli.plots import explain_text  # noqa: PLC0415 — as above
    from sash.cli.text_query import read_text  # noqa: PLC0415 — as above

    typer.echo(explain_text(read_text(text), source, input_format, time))


@app.command(
    "plot",
    epilog=examples(
        'sash plot "SELECT max(load) AS peak FROM t [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY household" -i readings.parquet',
        'sash plot "SELECT max(load) AS peak FROM t [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY household" -i readings.parquet -o peaks.svg',
        'sash plot "SELECT max(load) FROM t [RANGE 9 MINUTES SLIDE 6 MINUTES ON ts]" --what windows -o windows.png',
        'sash plot "SELECT max(load), avg(load) FROM t [RANGE 1 HOUR SLIDE 5 MINUTES ON ts]" --what plan -o plan.svg',
    ),
)
@command
def plot(
    text: Text,
    source: Source = None,
    target: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="PATH", help="A file that ends in .svg or .png.", show_default=False),
    ] = None,
    what: Annotated[
        What | None,
        typer.Option(
            "--what",
            help="Results, windows or the plan. Default: results if there is an input, otherwise windows.",
            show_default=False,
        ),
    ] = None,
    input_format: InputFormat = None,
    time: Time = None,
    debug: Debug = False,
) -> None:
    """Draw the results, the windows or the plan of a query: on the terminal, or as SVG or PNG."""
    from sash.cli.plots import plot as draw  # noqa: PLC0415 — as above
    from sash.cli.text_query import read_text  # noqa: PLC0415 — as above

    draw(read_text(text), source, target, None if what is None else what.value, input_format, time)


@app.command("algorithms", epilog=examples("sash algorithms", "sash algorithms > algorithms.md"))
@command
def algorithms(debug: Debug = False) -> None:
    """List the algorithms: what they need, what they cost, and their papers."""
    from sash.cli.listings import list_algorithms  # noqa: PLC0415 — as above

    list_algorithms()


@app.command("aggregates", epilog=examples("sash aggregates", "sash aggregates arg_max"))
@command
def aggregates(
    name: Annotated[str | None, typer.Argument(help="Show all about one aggregate.", show_default=False)] = None,
    debug: Debug = False,
) -> None:
    """List the aggregates: name, arguments, other names in SQL, and what they compute."""
    from sash.cli.listings import list_aggregates, show_aggregate  # noqa: PLC0415 — as above

    if name is None:
        list_aggregates()
    else:
        show_aggregate(name)


@app.command(
    "warm",
    epilog=examples('sash warm "SELECT avg(load) FROM t [RANGE 1 HOUR SLIDE 5 MINUTES]" -i readings.parquet'),
)
@command
def warm(
    text: Text, source: Source = None, input_format: InputFormat = None, time: Time = None, debug: Debug = False
) -> None:
    """Compile a query ahead, so that later runs over data of the same types start compiled."""
    from sash.cli.listings import warm_up  # noqa: PLC0415 — as above
    from sash.cli.text_query import read_text  # noqa: PLC0415 — as above

    warm_up(read_text(text), source, input_format, time)


@app.command(
    "bench",
    epilog=examples(
        'sash bench "SELECT max(load) OVER (PARTITION BY plug ORDER BY ts ROWS 99 PRECEDING) AS peak FROM t" -i readings.parquet',
        "sash bench --generate 100000",
    ),
)
@command
def bench(
    text: Annotated[
        str | None,
        typer.Argument(metavar="QUERY", help="The text of a query, or a file that holds it.", show_default=False),
    ] = None,
    source: Source = None,
    input_format: InputFormat = None,
    time: Time = None,
    generate: Annotated[
        int, typer.Option("--generate", metavar="ROWS", min=1000, help="Without -i: the number of rows to generate.")
    ] = 1_000_000,
    repeat: Annotated[
        int, typer.Option("--repeat", min=1, help="How often each engine runs; the best time counts.")
    ] = 3,
    threads: Threads = None,
    debug: Debug = False,
) -> None:
    """Time a query in Sash, and in DuckDB if it can run the same text; compare the results first."""
    from sash.cli.against_duckdb import compare  # noqa: PLC0415 — as above
    from sash.cli.text_query import read_text  # noqa: PLC0415 — as above

    compare(None if text is None else read_text(text), source, input_format, time, generate, repeat, threads)


@app.command(
    "live",
    epilog=examples(
        "sash live",
        'sash live "SELECT max(load) AS peak FROM t [RANGE 1 HOUR SLIDE 1 MINUTE ON ts] GROUP BY household" -i folder/',
    ),
)
@command
def live(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="QUERY", help="The text of a query, or a file that holds it. Default: a demo.", show_default=False
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--input", "-i", metavar="FOLDER", help="A folder whose files are the input.", show_default=False),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on. Others than this machine's need --token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 for any that is free.")] = 0,
    token: Annotated[
        str | None,
        typer.Option("--token", help="What a browser must present.", envvar="SASH_TOKEN", show_default=False),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
    idle_exit: Annotated[
        float | None,
        typer.Option(
            "--exit-when-idle",
            metavar="SECONDS",
            min=0,
            help="End when no page is connected for so long.",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[Engine, typer.Option("--engine", help="Where the query runs.")] = Engine.spark,
    debug: Debug = False,
) -> None:
    """Serve a page that shows windows live: of a demo, or of your own query and data."""
    serve = _live_server()
    from sash.cli.text_query import read_text  # noqa: PLC0415 — as above

    query = None if text is None else read_text(text)
    code = serve(
        query,
        source,
        host=host,
        port=port,
        token=token,
        open_browser=open_browser,
        idle_exit=idle_exit,
        engine=engine.value,
    )
    raise typer.Exit(code)


def _live_server() -> Any:
    try:
        from sash.live import serve  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 — optional
    except ImportError as error:
        message = f"The live page needs {error.name}. Install it: pip install 'sash[live]'"
        raise ImportError(message) from error
    return serve
