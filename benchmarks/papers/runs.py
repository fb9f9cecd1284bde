"""How a contestant runs: a window that is kept full, windows that slide many rows at once, single steps, memory, counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.papers.case import PaperCase, PaperRun, Prepare
from benchmarks.papers.counting import Counter, combines_per_row, filled, items_held
from benchmarks.papers.data import Values, column
from benchmarks.papers.references import check_sample
from benchmarks.sash_calls import steps_of
from benchmarks.steps import step_through
from sash.aggregates.base import Aggregate
from sash.algorithms import Algorithm, FlatFIT, Recalculate, SlideSideInvertible, SlideSideNonInvertible, TwoStacks
from sash.columns.buffers import NO_BITS
from sash.kernels import Kernel, loops
from sash.kernels.design import Loop

Kind = type[Algorithm[Any]]
MOST_ANSWERS = 1 << 22
"""Results of one call: with all ranges of a window, each row has as many as the window has rows."""
MOST_COMBINES = 30_000_000
"""Of recalculation in one call: some hundredths of a second."""
FEWEST_ROWS = 16
MOST_INTERPRETED, FEWEST_CYCLES = 1 << 12, 8
"""Rows in the interpreter, and how often a window grows and shrinks: whether its buffer is inverted changes from cycle to cycle."""
IN_LAPS = (FlatFIT, TwoStacks, SlideSideInvertible, SlideSideNonInvertible)
"""Those whose work comes in laps as long as the window: a measurement covers whole laps."""
FEWEST_COUNTED, MOST_COUNTED = 64, 400_000
"""Rows, and rows times queries, over which combines are counted, in the interpreter."""


def kernel_of(algorithm: Kind, aggregate: Aggregate[Any], dtypes: tuple[str, ...], loop: Loop) -> Kernel:
    """Return the compiled loop."""
    known: Any = algorithm  # to mypy, a class of classes with a __hash__ of their own has none
    return _compiled(known, aggregate, dtypes[: aggregate.inputs], loop)


@cache
def _compiled(algorithm: Any, aggregate: Aggregate[Any], dtypes: tuple[str, ...], loop: Loop) -> Kernel:
    return Kernel(algorithm, aggregate, dtypes, loop)


def types_of(data: tuple[Values, ...]) -> tuple[str, ...]:
    """Return the names of the types of columns."""
    return tuple(one.dtype.name for one in data)


def columns_of(case: PaperCase, rows: int) -> tuple[Values, ...]:
    """Return the columns of the aggregate; the second one of arg_max is the number of the row.

    All contestants take the begin of the same column, however many rows they need: its values depend on its length.
    """
    values = column(case.data, case.rows + 5 * max(case.lengths))[:rows]
    return (values, np.arange(rows)) if case.chosen.inputs > 1 else (values,)


def rows_of(algorithm: Kind, case: PaperCase, lengths: tuple[int, ...]) -> int:
    """Return how many rows are slid over in one measurement."""
    rows = min(case.rows, max(FEWEST_ROWS, MOST_ANSWERS // len(lengths)))
    if algorithm is Recalculate:
        return int(min(rows, max(FEWEST_ROWS, MOST_COMBINES // sum(lengths))))
    if algorithm in IN_LAPS and len(lengths) == 1:
        lap = lengths[0] + 1
        return -(-rows // lap) * lap
    return rows


def keep(algorithm: Kind, copies: bool = False) -> Prepare:
    """Return a run of a full window that is kept and slides by one row; with copies, one window for each range."""
    return partial(_keep_copies if copies else _keep, algorithm)


def _keep(algorithm: Kind, case: PaperCase, lengths: tuple[int, ...] = ()) -> PaperRun:
    lengths = lengths or case.lengths
    rows, longest, widest = rows_of(algorithm, case, lengths), max(case.lengths), max(lengths)
    data = columns_of(case, max(longest, rows))
    kernel = kernel_of(algorithm, case.chosen, types_of(data), loops.advance)
    state = kernel.new_state(lengths)
    kernel.advance(state, tuple(one[longest - widest : longest] for one in data), NO_BITS, limit=widest)
    taken = tuple(one[:rows] for one in data)
    shown, numbers = np.array(lengths[::-1]), np.arange(len(lengths))[::-1].copy()

    def slide() -> Values:
        found = kernel.advance(state, taken, NO_BITS, limit=widest, lengths=shown, numbers=numbers)[0]
        return np.asarray(found.values)

    answers = slide()
    return PaperRun(rows, lambda: _seconds(slide) * 1e9 / rows, answers, partial(check_sample, case, data))


def _keep_copies(algorithm: Kind, case: PaperCase) -> PaperRun:
    """Run each range alone, one after the other; the paper's replicated structures move on in turns."""
    alone = [_keep(algorithm, case, (length,)) for length in case.lengths]
    rows = min(one.rows for one in alone)
    answers = np.concatenate([one.answers[:, :rows] for one in reversed(alone) if one.answers is not None])
    return PaperRun(rows, lambda: sum(one.again() for one in alone), answers, alone[-1].check)


def interpret(algorithm: Kind) -> Prepare:
    """Return a run of the interpreted class, for partials that do not compile."""

    def prepare(case: PaperCase) -> PaperRun:
        rows = max(FEWEST_ROWS, min(case.rows, MOST_INTERPRETED) // case.size)
        values = column(case.data, case.size + rows).tolist()
        partials = [case.chosen.lift(value) for value in values]
        window = filled(algorithm, case.chosen, (case.size,), values)

        def slide() -> list[Any]:
            answers = []
            for partial_ in partials[:rows]:
                window.evict()
                window.insert(partial_)
                answers.append(case.chosen.lower(window.query()))
            return answers

        if slide()[-1] != (values[: case.size] + values[:rows])[-case.size :]:
            message = f"{case.name}: {algorithm.about.name} collects other values than the raw rows."
            raise AssertionError(message)
        return PaperRun(rows, lambda: _seconds(slide) * 1e9 / rows)

    return prepare


def fire(algorithm: Kind, step: Callable[[int], int]) -> Prepare:
    """Return a run of a window that slides by `step(n)` rows at once and is asked once after each slide."""
    return partial(_fire, algorithm, step)


def _fire(algorithm: Kind, step: Callable[[int], int], case: PaperCase) -> PaperRun:
    """Time a full run minus one that only fills the window. The state is allocated before the clock starts."""
    length, slide = case.size, min(case.size, max(1, step(case.size)))
    firings = max(1, max(case.rows, min(length, 4 * case.rows)) // slide)
    rows = firings * slide
    data = columns_of(case, length + rows)
    kernel = kernel_of(algorithm, case.chosen, types_of(data), loops.slide_between)
    begins = np.arange(firings + 1) * slide
    ends = begins + length
    empty = kernel.new_state((length,))
    answers = kernel.slide_between(data, begins, ends)[0].values

    def spent(count: int) -> float:
        results = [np.empty(count, answers.dtype)]
        bits = [np.zeros((count + 7) // 8, np.uint8)] if kernel.spec.marks else []
        state = empty.copy()
        own = (count, begins[:count], ends[:count], kernel.at_least)
        masks = [NO_BITS] if kernel.design.nullable else []
        return _seconds(lambda: kernel.run(*own, *data, *masks, *results, *bits, kernel.progress, *state.arguments))

    def again() -> float:
        return max(0.0, spent(firings + 1) - spent(1)) * 1e9 / rows

    def check(found: Values) -> None:
        check_sample(case, data, found, begins, ends)

    return PaperRun(rows, again, answers.reshape(1, -1), check)


def steps(algorithm: Kind, percentile: float) -> Prepare:
    """Return a run of single steps, each timed; the value is the percentile of their durations."""

    def prepare(case: PaperCase) -> PaperRun:
        known: Any = algorithm  # as in kernel_of
        answers, durations = _time_steps(known, case.chosen, case.data, case.lengths[0], case.rows)
        return PaperRun(
            case.rows,
            lambda: float(np.percentile(durations, percentile)),
            answers,
            partial(check_sample, case, columns_of(case, max(case.rows, case.lengths[0]))),
        )

    return prepare


@cache  # all percentiles are of the same steps
def _time_steps(algorithm: Any, aggregate: Aggregate[Any], data: str, length: int, rows: int) -> tuple[Values, Values]:
    values = column(data, rows + 5 * length)
    kernel = kernel_of(algorithm, aggregate, types_of((values,)), loops.advance)
    (run, own, rest), answer, state = steps_of(kernel, length)
    kernel.advance(state, (values[:length],), NO_BITS, limit=length)
    answers, durations = np.empty(rows, answer.dtype), np.empty(rows, np.int64)
    for _ in range(2):  # the first pass warms up
        step_through(run, own, values[:rows], rest, answer, answers, durations)
        kernel.advance(state, (values[:length],), NO_BITS, limit=length)
    return answers.reshape(1, -1), durations


def held_bytes(algorithm: Kind) -> Prepare:
    """Return a run whose value is the megabytes of the arrays of a compiled window."""

    def prepare(case: PaperCase) -> PaperRun:
        kernel = kernel_of(algorithm, case.chosen, types_of(columns_of(case, 1)), loops.advance)
        size = sum(array.nbytes for array in kernel.new_state(case.lengths).arrays.values())
        return PaperRun(case.size, lambda: size / 1e6)

    return prepare


def held_items(algorithm: Kind) -> Prepare:
    """Return a run whose value is the number of partials and pointers that a full window keeps."""

    def prepare(case: PaperCase) -> PaperRun:
        values = column(case.data, case.size).tolist()
        window = filled(algorithm, case.chosen, case.lengths, values)
        window.query()
        held = items_held(window)
        return PaperRun(case.size, lambda: held)

    return prepare


def combines(algorithm: Kind, copies: bool = False, step: Callable[[int], int] = lambda _: 1) -> Prepare:
    """Return a run whose value is the combines per row, counted in the interpreted class; copies as in `keep`."""

    def prepare(case: PaperCase) -> PaperRun:
        values = column(case.data, 1 << 16).tolist()
        several = [(length,) for length in case.lengths] if copies else [case.lengths]
        slide = min(case.size, max(1, step(case.size)))
        counted, rows = 0.0, 0
        for lengths in several:
            rows = counted_rows(algorithm, lengths)
            counted += combines_per_row(algorithm, case.chosen, lengths, values, rows, slide)
        return PaperRun(rows, lambda: counted)

    return prepare


def counted_rows(algorithm: Kind, lengths: tuple[int, ...]) -> int:
    """Return how many rows are counted: whole laps, or enough to come round the tree."""
    lap = max(lengths) + 1
    if algorithm in IN_LAPS:
        return -(-FEWEST_COUNTED // lap) * lap
    most = MOST_COUNTED // (sum(lengths) if algorithm is Recalculate else len(lengths))
    return max(FEWEST_ROWS, min(max(FEWEST_COUNTED, 2 * lap), most))


def oscillate(algorithm: Kind, between: bool, *, counted: bool = False) -> Prepare:
    """Return a run of an interpreted window that stays at n rows, or whose capacity changes between n and 2n (figure 9).

    Compiled windows allocate for the largest window before they start, so there is nothing to resize.
    """

    def prepare(case: PaperCase) -> PaperRun:
        counter = Counter(case.chosen)
        chosen = counter.aggregate if counted else case.chosen
        partials = [chosen.lift(value) for value in column(case.data, 4 * case.size).tolist()]
        window = algorithm(chosen, () if between else (case.size,))
        cycles = max(FEWEST_CYCLES, min(case.rows, MOST_INTERPRETED) // case.size)
        move = _grow_and_shrink if between else _stay
        move(window, case.size, partials, 1)  # the first cycle fills the window
        counter.take()

        def again() -> float:
            start = time.thread_time_ns()
            rows = move(window, case.size, partials, cycles)
            spent = time.thread_time_ns() - start
            return (counter.take() if counted else spent) / rows

        return PaperRun(cycles * case.size, again)

    return prepare


def _stay(window: Any, size: int, partials: list[Any], cycles: int) -> int:
    """Slide a window of `size` rows by one row at a time."""
    for partial_ in partials[:size] * cycles:
        if len(window) == size:
            window.evict()
        window.insert(partial_)
        window.query()
    return size * cycles


def _grow_and_shrink(window: Any, size: int, partials: list[Any], cycles: int) -> int:
    """Insert until the buffer of n is full and doubles, then evict until it is less than a quarter full and halves."""
    rows = 0
    for _ in range(cycles):
        while len(window) <= size:
            window.insert(partials[rows % len(partials)])
            window.query()
            rows += 1
        while 4 * len(window) >= 2 * size:
            window.evict()
    return rows


def _seconds(run: Callable[[], object]) -> float:
    """Return the processor time of this thread, which other work on the machine does not change."""
    start = time.thread_time_ns()
    result = run()
    spent = time.thread_time_ns() - start
    del result  # after the clock was read
    return spent / 1e9
