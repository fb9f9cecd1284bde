"""Messages of the library, in the words of a shell: options of commands in place of arguments of Python."""

from __future__ import annotations

import re

WORDS = (
    (r'as in \[RANGE 1 HOUR ON ts\] or sash\.sql\(text, time="ts"\)', "as in [RANGE 1 HOUR ON ts], or with --time ts"),
    (r'sash\.sql\(text, time="(\w+)"\)', r"--time \1"),
    (r"run\(events, at=labels, at_time=…\)", "--at-time when"),
    (r"\bat= (does not apply|needs)", r"--at \1"),
    (r', as in Query\(time="ts", …\)', ", as in [RANGE 1 HOUR ON ts], or with --time ts"),
    (r'window\.time\("1h"\), window\.rows\(10\) or window\.expanding\(\)', "[RANGE 1 HOUR], [ROWS 10] or [EXPANDING]"),
    (r"Convert it: pd\.to_datetime.* for the command sash\.", "Name its format with --time-format '%d/%m/%Y %H:%M'."),
    (
        r"(Use a number in the unit of .*), or convert the column to timestamps\.",
        r"\1, or say what its numbers are: --time-format epoch_s, epoch_ms, epoch_us or epoch_ns.",
    ),
    (
        r"^(The time column .*) Cast it\.$",
        r"\1 Cast it, or say what its numbers are: --time-format epoch_s, epoch_ms, epoch_us or epoch_ns.",
    ),
    (
        r"(Could not convert string \".*\" to 'TIMESTAMP')\.?",
        r"\1. Name its format: strptime(column, '%d/%m/%Y %H:%M') instead of CAST.",
    ),
    (r"pass future=True\.", "pass --future."),
    (r'pass mode="update" to run', 'use Python, query.run(stream, mode="update")'),
    (r"FROM names the file (.*), so run needs no data", r"FROM names the file \1, so -i is not needed"),
    (r"Pass it: query\.run\(\w+\)", "Name it: -i data.parquet"),
    (r"Use secrets\.token_urlsafe\(\)\.", "Use a longer --token."),
    (r"^('.*' is no URL of a store\.)", r"--store: \1"),
    (r"(--store: )?('.*' names no file\.)", r"--store: \2"),
    (r"\blateness='([^']*)'", r"--lateness \1"),
    (
        r"Set Query\(lateness=…\) to accept rows out of order, .* on disk if need be\.",
        "--lateness 1h accepts rows that are up to an hour late; with --resume, start again with another file.",
    ),
)
"""Patterns of messages, and what a shell says."""


def in_shell_words(message: str) -> str:
    """Return a message with options of commands in place of arguments of Python.

    >>> in_shell_words('Name it, as in [RANGE 1 HOUR ON ts] or sash.sql(text, time="ts").')
    'Name it, as in [RANGE 1 HOUR ON ts], or with --time ts.'
    """
    for pattern, words in WORDS:
        message = re.sub(pattern, words, message)
    return message
