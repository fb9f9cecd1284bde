"""Functions have the same identity in each process, and another one as soon as they do something else."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sash.kernels import function_identity
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


class Number(int):
    """A number that may have attributes."""


class Names(frozenset[str]):
    """A set that may have attributes."""


def with_attribute(value: Any, k: int) -> Any:
    value.k = k
    return value


def missing_from(default: int) -> dict[str, int]:
    def missing(_: Any, key: str) -> int:
        return default + len(key)

    made: dict[str, int] = type("Made", (dict,), {"__module__": __name__, "__missing__": missing})()
    return made


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
        (uses({"eu": {"de": 1, "fr": 2}}), uses({"eu": {"de": 1}, "fr": 2})),
        (uses({"a": 1, "ab": 2}), uses({"ab": 2, "a": 1})),
        (uses(defaultdict(lambda: 1)), uses(defaultdict(lambda: 2))),
        (uses(missing_from(1)), uses(missing_from(2))),
        (lambda *x: (x, 1), lambda x: (x, 1)),
        (lambda x, /, k=1: x + k, lambda x, k=1: x + k),
        (uses([1]), uses((1,))),
        (uses([[1], 2]), uses([[1, 2]])),
        (uses(with_attribute(Number(1), 1)), uses(with_attribute(Number(1), 2))),
        (uses(with_attribute(Names("a"), 1)), uses(with_attribute(Names("a"), 2))),
        (with_attribute(uses(1), 1), with_attribute(uses(1), 2)),
        (uses(np.ma.array([1, 2], mask=[False, True])), uses(np.ma.array([1, 2], mask=[True, False]))),
        (uses(frozenset({Scale})), uses(frozenset({Decimal}))),
        (uses(frozenset({frozenset({(1, 2)})})), uses(frozenset({frozenset({(1, 3)})}))),
        (uses(MappingProxyType({"a": 1})), uses(MappingProxyType({"a": 2}))),
        (uses(10**5000), uses(10**5000 + 1)),
    ],
    ids=range(32),
)
def test_different_functions_are_told_apart(one: Any, other: Any) -> None:
    assert identify(one, exact=True) == identify(one, exact=True)
    assert identify(one, exact=True) != identify(other, exact=True)


SCRIPT = """
import enum, json, logging, random, re, sys
import numpy as np
{before}
class Color(enum.Enum):
    RED, GREEN, BLUE = 1, 2, 3
class Tags(set):
    pass
COLORS = frozenset(Color)
PAIRS = {{frozenset([("a", Color.RED), ("b", Color.BLUE)]), frozenset("xyz")}}
TAGS = Tags("pqr")
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
functions += [lambda x: x in COLORS, lambda x: x in PAIRS, lambda x: x in TAGS]
print(*(identify(one, exact=True) for one in functions))
"""


def test_other_processes_have_the_same_identity(tmp_path: Path) -> None:
    """Neither the seed of hashes nor what has happened in a process matters, nor where the code stands."""
    found = set()
    for seed, before in (("1", ""), ("3", ""), ("2", "\n\nre.sub('zz', '', ''); random.seed(3)\nrandom.random()\n")):
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


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the program with a submodule."""
    module, inner = ModuleType("some_config"), ModuleType("some_config.inner")
    module.K, inner.A, inner.B = 1, 1, 1  # type: ignore[attr-defined]
    module.inner, inner.parent = inner, module  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "some_config", module)
    monkeypatch.setitem(sys.modules, "some_config.inner", inner)
    return module


def imports(x: int) -> int:
    import some_config  # type: ignore[import-not-found]  # noqa: PLC0415

    return int(some_config.K * x)


def imports_a_name(x: int) -> int:
    from some_config import K  # noqa: PLC0415

    return int(K * x)


def imports_a_submodule(x: int) -> Any:
    def later() -> int:
        import some_config.inner as it  # type: ignore[import-not-found]  # noqa: PLC0415

        return int(it.A * x)

    return later


@pytest.mark.parametrize("function", [imports, imports_a_name, imports_a_submodule])
@pytest.mark.parametrize("exact", [False, True])
def test_modules_that_the_body_imports(function: Any, exact: bool, config: ModuleType) -> None:
    before = identify(function, exact=exact)
    assert identify(function, exact=exact) == before
    config.K = 2  # type: ignore[attr-defined]
    config.inner.A = 2
    assert identify(function, exact=exact) != before


def test_each_function_reads_its_own_names_of_a_module(config: ModuleType) -> None:
    def other(x: int) -> int:
        return int(config.inner.B * x)

    def function(x: int, module: Any = config) -> int:
        return int(config.inner.A * other(x) * module.K)

    found = {identify(function)}
    for module, name in ((config.inner, "A"), (config.inner, "B"), (config, "K")):
        setattr(module, name, 5)
        found.add(identify(function))
    assert len(found) == 4


def test_an_imported_module_that_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not matter whether the function has run and loaded the module, unless the identity must be exact."""
    (tmp_path / "some_config.py").write_text("K = 1", encoding="utf-8")
    with pytest.raises(UnknownContentError, match="it imports some_config, which is not loaded"):
        identify(imports, exact=True)
    assert identify(imports) == identify(imports)  # there is no such module
    monkeypatch.syspath_prepend(tmp_path)
    try:
        before = identify(imports)
        imports(1)
        assert identify(imports) == before
        vars(sys.modules["some_config"])["K"] = 2
        assert identify(imports) != before
    finally:
        sys.modules.pop("some_config", None)


def linked(values: list[int]) -> Any:
    node = None
    for value in values:
        node = SimpleNamespace(value=value, next=node)
    return node


def test_deep_values() -> None:
    one, other = uses(linked(list(range(3000)))), uses(linked([-1, *range(1, 3000)]))
    assert identify(one, exact=True) == identify(one, exact=True) != identify(other, exact=True)


@pytest.mark.parametrize("k", [1, 2])
def test_values_that_contain_themselves(k: int) -> None:
    around: dict[str, Any] = {"k": 1, "items": []}
    around["items"].append(around)
    before = identify(uses(around), exact=True)
    around["k"] = k
    assert (identify(uses(around), exact=True) == before) == (k == 1)


class Person:
    """Knows others. A graph of these has more paths than can be read."""

    def __init__(self) -> None:
        self.knows: set[Person] = set()


def test_values_that_cannot_be_read_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_identity, "MOST_IN_SETS", 1000)
    people = [Person() for _ in range(20)]
    for person in people:
        person.knows = {*people} - {person}
    assert identify(uses(people)) == identify(uses(people)) != identify(uses([*people, 1]))
    with pytest.raises(UnknownContentError, match="it uses sets in sets"):
        identify(uses(people), exact=True)


def test_functions_of_numpy_without_a_name_have_unknown_content() -> None:
    one = np.frompyfunc(lambda x: x + 1, 1, 1)
    with pytest.raises(UnknownContentError, match=r"numpy\.ufunc"):
        identify(uses(one), exact=True)
