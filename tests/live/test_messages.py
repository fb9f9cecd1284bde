from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from live.decoded import decode
from sash.live.messages import MAGIC, encode, run_text

STATIC = Path(__file__).parents[2] / "src" / "sash" / "live" / "static"
COLUMNS = st.one_of(
    hnp.arrays(np.float64, st.integers(0, 9), elements=st.floats(width=64)),
    hnp.arrays(np.float32, st.integers(0, 9), elements=st.floats(width=32)),
)


@given(
    st.dictionaries(st.sampled_from(["title", "of", "key"]), st.text() | st.integers()), st.lists(COLUMNS, max_size=4)
)
def test_a_frame_reads_back(
    header: dict[str, str | int], columns: list[np.ndarray[tuple[int], np.dtype[np.float64]]]
) -> None:
    message = encode("panels", header, columns)
    assert len(message) % 8 == 0
    found, read = decode(message)
    assert found == {"kind": "panels", **header, "columns": [[f"f{one.dtype.itemsize}", len(one)] for one in columns]}
    for written, one in zip(columns, read, strict=True):
        assert one.dtype == written.dtype
        np.testing.assert_array_equal(one, written)


def test_what_is_no_frame_is_an_error() -> None:
    with pytest.raises(ValueError, match="starts with"):
        decode(b"GET / HTTP/1.1")
    message = encode("panels", {}, [np.arange(3.0)])
    with pytest.raises(ValueError, match="ends before its column 0"):
        decode(message[:-8])


def test_a_header_has_only_what_json_has() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode("status", {"delay": float("nan")})


def test_the_page_reads_the_same_layout(tmp_path: Path) -> None:
    text = (STATIC / "messages.js").read_text(encoding="utf-8")
    found = re.search(r"MAGIC = (0x[0-9a-f]+)", text)
    assert found is not None
    assert int(found[1], 16).to_bytes(4, "little") == MAGIC
    node = shutil.which("node")
    if node is None:  # tests in the browser read messages as well
        return
    (tmp_path / "message").write_bytes(
        encode("panels", {"title": "µ <b>"}, [np.array([1.5, np.nan]), np.array([2, 3, 4], np.float32)])
    )
    script = tmp_path / "read.mjs"
    script.write_text(
        f'import {{ decode }} from "{STATIC / "messages.js"}"; import fs from "fs";'
        f'const bytes = fs.readFileSync("{tmp_path / "message"}");'
        "const { header, columns } = decode(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));"
        "console.log(JSON.stringify([header.title, columns.map((one) => [...one])]));"
    )
    done = subprocess.run(
        [node, "--input-type=module", "-e", script.read_text()],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert json.loads(done.stdout) == ["µ <b>", [[1.5, None], [2, 3, 4]]]


def test_the_query_box_has_sql_around_windows_but_no_files() -> None:
    rows = pa.table({"t": [1, 2, 12], "x": [3, 4, 5]})
    text = "SELECT max(m) AS top FROM (SELECT max(x) AS m FROM readings [TUMBLE 10 ON t])"
    header, columns = run_text(text, rows)
    assert (header["results"], columns) == (1, [])
    assert "no chart" in header["note"]
    header, _ = run_text("WITH big AS (SELECT * FROM a WHERE x > 3) SELECT max(x) AS m FROM big [TUMBLE 10 ON t]", rows)
    assert header["names"] == ["window_start", "window_end", "m"]
    for attack in ("'/etc/passwd'", "read_text('/etc/passwd')", "duckdb_settings()"):
        with pytest.raises(ValueError, match=r"page has the rows|not available"):
            run_text(f"SELECT * FROM ({text}), (SELECT * FROM {attack})", rows)
    with pytest.raises(ValueError, match="not available"):
        run_text(f"SELECT current_setting('threads') FROM ({text})", rows)
