"""Functions have the same identity in each process, and another one as soon as they do something else."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sash.kernels.function_identity import UnknownContentError, identify


@dataclass
class Scale:
    """A value with state, and a method."""

    factor: int

    def __call__(self, x: int) -> int:
        return x * self.factor

    def apply(self, x: int) -> int:
        return x * self.factor


def uses(value: Any) -> Callable[[Any], Any]:
    return lambda x: (value, x)


def keyword_default(k: int) -> Callable[..., int]:
    def function(x: int, *, k: int = k) -> int:
        return x + k

    return function


def made_class(step: int) -> type:
    def move(_: Any, x: int) -> int:
        return x + 1 if step == 1 else x + 2

    def back(_: Any, x: int) -> int:
        return x - 1

    return type("Made", (), {"__module__": __name__, "move": move if step else back})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (uses(Scale(1)), uses(Scale(2))),
        (Scale(1), Scale(2)),
        (Scale(1).apply, Scale(2).apply),
        ({"a": 1}.get, {"a": 2}.get),
        ("-".join, "+".join),
        (keyword_default(1), keyword_default(2)),
        (uses(np.sqrt), uses(np.exp)),
        (uses(str.upper), uses(str.lower)),
        (uses(Decimal("1.0")), uses(Decimal("1.1"))),
        (uses(pd.DataFrame({"a": [1]})), uses(pd.DataFrame({"a": [2]}))),
        (uses(np.array(["a"], object)), uses(np.array(["b"], object))),
        (uses(functools.cache(lambda x: x + 1)), uses(functools.cache(lambda x: x + 2))),
        (functools.partial(uses(1), 2), functools.partial(uses(1), 3)),
        (uses({Scale: 1}), uses({Decimal: 1})),
        (uses(made_class(0)), uses(made_class(1))),
        (uses(SimpleNamespace(a=[1])), uses(SimpleNamespace(a=[2]))),
    ],
    ids=range(16),
)
def test_different_functions_are_told_apart(one: Any, other: Any) -> None:
    assert identify(one, exact=True) == identify(one, exact=True)
    assert identify(one, exact=True) != identify(other, exact=True)


SCRIPT = """
import json, logging, random, re, sys
import numpy as np
{before}
LOG = logging.getLogger("x")
NAMES = {{"b", "a", "c"}}
TABLE = {{("a", 1): {{"x", "y"}}, ("b", 2): None}}

class Clean:
    names = frozenset(["p", "q", "r"])
    def __init__(self):
        self.seen = {{"a", "b"}}
    def __call__(self, text):
        LOG.info(text)
        return re.sub("a+", "b", text) if text in NAMES | self.names | self.seen else json.dumps(TABLE)

from sash.kernels.function_identity import identify
functions = [Clean(), lambda s: np.sqrt(s) + np.timedelta64(1), lambda x: re.match("x", x) or Clean()(x)]
print(*(identify(one, exact=True) for one in functions))
"""


def test_other_processes_have_the_same_identity(tmp_path: Path) -> None:
    """Neither the seed of hashes nor what has happened in a process matters, nor where the code stands."""
    found = set()
    for seed, before in (("1", ""), ("2", "\n\nre.sub('zz', '', ''); random.seed(3)\nrandom.random()\n")):
        script = tmp_path / f"{seed}.py"
        script.write_text(SCRIPT.format(before=before), encoding="utf-8")
        paths = [path for path in sys.path if path]
        made = subprocess.run(
            [sys.executable, str(script)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(paths)},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(made.stdout)
    assert len(found) == 1, found


def test_a_value_without_readable_content() -> None:
    generator = (number for number in range(3))
    assert identify(uses(generator)) == identify(uses(generator))
    with pytest.raises(UnknownContentError, match=r"a value of type builtins\.generator, whose content cannot be read"):
        identify(uses(generator), exact=True)
    identify(uses(threading.Lock()), exact=True)  # it has no content


def test_code_of_libraries_is_named() -> None:
    identity = identify(uses(re.sub))
    re.sub("never seen before", "", "")  # changes the cache of re
    assert identify(uses(re.sub)) == identity
    assert identify(uses(re.sub)) != identify(uses(re.match))
    assert identify(pd.to_datetime) == identify(pd.to_datetime) != identify(pd.to_timedelta)
    assert identify(lambda s: pd.to_datetime(s) + s) != identify(lambda s: pd.to_timedelta(s) + s)
