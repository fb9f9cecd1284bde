import os
import tempfile

from hypothesis import settings

settings.register_profile("sash", derandomize=True, deadline=None, database=None, print_blob=True, max_examples=25)
settings.load_profile("sash")

# Every run compiles anew: a kernel from an earlier run would hide a change of the fuser. Its processes share what they made.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["SASH_CACHE_DIR"] = tempfile.mkdtemp(prefix="sash-tests-")
