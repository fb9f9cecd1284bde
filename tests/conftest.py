import os
import sys
import tempfile
from typing import Any

import pytest
from hypothesis import settings
from numba.core import compiler

settings.register_profile("sash", derandomize=True, deadline=None, database=None, print_blob=True, max_examples=25)
settings.load_profile("sash")

# Every run compiles anew: a kernel from an earlier run would hide a change of the fuser. Its processes share what they
# made, and so do the runs that make test consists of.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["SASH_CACHE_DIR"] = os.environ.get("SASH_TESTS_CACHE") or tempfile.mkdtemp(prefix="sash-tests-")

_compile: Any = compiler.compile_extra


def _compile_untraced(*arguments: Any, **options: Any) -> Any:
    """Compile without coverage, which would double the time by following Numba's every line."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return _compile(*arguments, **options)
    finally:
        sys.settrace(tracer)
        _go_on()


def _go_on() -> None:
    """Be called: coverage goes on following what is running, this function's callers too, from the next call on."""


pytest.MonkeyPatch().setattr(compiler, "compile_extra", _compile_untraced)
