"""Stores of both kinds: what is written, what is fenced off, what is deleted."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sash.serve import open_store
from sash.serve.store import Store
from sash.serve.stored_query import RunConflictError
from serve.made_states import made_states

NAME = "card_features"


def states(store: Store, *cards: int) -> list[bytes | None]:
    return [store.state(NAME, {"card": card}) for card in cards]


def test_a_store_returns_the_newest_states(store: Store) -> None:
    assert store.write(made_states([b"a0", b"b0"], card=[1, 2]), NAME, run="r", number=0)
    assert store.write(made_states([b"a1", None, b"c1"], card=[1, 2, 3]), NAME, run="r", number=1)
    assert states(store, 1, 2, 3, 4) == [b"a1", None, b"c1", None]
    assert store.state(NAME, {"card": "3"}) == b"c1"
    assert store.count(NAME) == 2
    assert store.names() == [NAME]
    found = store.get(NAME)
    assert (found.layout.header, found.run, found.number) == (b"header", "r", 1)


def test_another_process_reads_what_was_written(store: Store) -> None:
    store.write(made_states([b"a"], card=[1]), NAME, run="r", number=0)
    with pickle.loads(pickle.dumps(store)) as copy, open_store(store.url) as other:  # noqa: S301 — of this test
        assert states(copy, 1) == states(other, 1) == [b"a"]


def test_a_repeated_batch_has_no_effect(store: Store) -> None:
    for number in (0, 1):
        store.write(made_states([b"a%d" % number], card=[1]), NAME, run="r", number=number)
    for number in (0, 1):
        assert not store.write(made_states([b"repeated"], card=[1]), NAME, run="r", number=number)
    assert states(store, 1) == [b"a1"]
    assert store.write(made_states([b"a7"], card=[1]), NAME, run="r", number=7)  # numbers of a loop may have gaps


def test_another_run_writes_only_after_the_first_is_released(store: Store) -> None:
    store.write(made_states([b"old", b"old"], card=[1, 2]), NAME, run="first", number=41)
    with pytest.raises(RunConflictError, match=r"Run 'first' writes 'card_features'.*store.release\('card_features'\)"):
        store.write(made_states([b"new"], card=[1]), NAME, run="second", number=0)
    assert states(store, 1) == [b"old"]
    store.release(NAME)
    store.release(NAME)  # nothing is left to release
    with pytest.raises(RunConflictError, match="Run 'first' of 'card_features' was released"):
        store.write(made_states([b"zombie"], card=[1]), NAME, run="first", number=42)
    assert store.write(made_states([b"new"], card=[1]), NAME, run="second", number=0)
    with pytest.raises(RunConflictError):
        store.write(made_states([b"zombie"], card=[1]), NAME, run="first", number=43)
    assert states(store, 1, 2) == [b"new", b"old"]


def test_a_writer_that_slept_while_it_was_replaced_changes_nothing(redis_url: str) -> None:
    with open_store(redis_url) as store, open_store(redis_url) as other:
        store.drop(NAME)
        store.write(made_states([b"old"], card=[1]), NAME, run="first", number=0)
        rows = made_states([b"zombie"], card=[1])
        layout = store.get(NAME).layout
        for after in ("release", "take over", "drop"):
            sleeping = store.begin(NAME, layout, "first", 1)
            assert sleeping is not None
            other.release(NAME)
            if after == "take over":
                other.write(made_states([b"new"], card=[1]), NAME, run="second", number=0)
            if after == "drop":
                other.drop(NAME)
            with pytest.raises(RunConflictError, match="too late"):
                sleeping.put(list(zip(layout.codec.encode(rows), [b"zombie"], strict=True)))
            with pytest.raises(RunConflictError, match="too late"):
                sleeping.commit()
            assert other.find(NAME) is None or states(other, 1) != [b"zombie"]
            other.drop(NAME)
            store.write(made_states([b"old"], card=[1]), NAME, run="first", number=0)
        store.drop(NAME)


def test_the_same_run_twice_at_once_cannot_go_back(redis_url: str) -> None:
    with open_store(redis_url) as store:
        layout_of = made_states([b"x"], card=[1])
        store.write(layout_of, NAME, run="r", number=0)
        layout = store.get(NAME).layout
        slow = store.begin(NAME, layout, "r", 1)
        assert slow is not None
        store.write(made_states([b"1"], card=[1]), NAME, run="r", number=1)
        store.write(made_states([b"2"], card=[1]), NAME, run="r", number=2)
        with pytest.raises(RunConflictError):
            slow.put([(layout.codec.encode_one({"card": 1}), b"1")])
        assert states(store, 1) == [b"2"]
        store.drop(NAME)


def test_a_batch_that_fails_is_written_when_it_is_repeated(store: Store) -> None:
    store.write(made_states([b"a0", b"b0"], card=[1, 2]), NAME, run="r", number=0)
    whole = made_states([b"a1", b"b1"], card=[1, 2])

    def broken() -> pa.RecordBatchReader:
        def batches() -> object:
            yield from whole.slice(0, 1).to_batches()
            raise OSError("the input has ended")

        return pa.RecordBatchReader.from_batches(whole.schema, batches())

    with pytest.raises(OSError, match="the input has ended"):
        store.write(broken(), NAME, run="r", number=1)
    found = store.get(NAME)
    assert found.number == 0
    assert states(store, 2) == [b"b0"]
    assert store.write(whole, NAME, run="r", number=1)
    assert states(store, 1, 2) == [b"a1", b"b1"]


def test_a_reader_of_sqlite_sees_a_batch_when_it_is_whole(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'f.db'}") as store:
        store.write(made_states([b"a0"], card=[1]), NAME, run="r", number=0)
        layout = store.get(NAME).layout
        batch = store.begin(NAME, layout, "r", 1)
        assert batch is not None
        batch.put([(layout.codec.encode_one({"card": 1}), b"a1")])
        assert states(store, 1) == [b"a0"]
        batch.commit()
        assert states(store, 1) == [b"a1"]


def test_states_of_another_query_are_refused(store: Store) -> None:
    store.write(made_states([b"a"], card=[1]), NAME, run="r", number=0)
    for other in (
        made_states([b"b"], b"another header", card=[1]),
        made_states([b"b"], card=["1"]),
        made_states([b"b"], card=[1], shop=[1]),
    ):
        with pytest.raises(ValueError, match=r"states of another query.*store.drop\('card_features'\)"):
            store.write(other, NAME, run="r", number=1)
    assert states(store, 1) == [b"a"]
    store.drop(NAME)
    store.drop(NAME)
    assert store.names() == []
    assert store.write(made_states([b"b"], card=["1"]), NAME, run="other", number=0)
    assert store.state(NAME, {"card": "1"}) == b"b"


def test_rows_that_are_no_states_are_refused_before_anything_is_written(store: Store) -> None:
    with pytest.raises(ValueError, match='emit="state"'):
        store.write(pa.table({"card": [1], "state": [b"x"]}), NAME, run="r", number=0)
    with pytest.raises(TypeError, match="states must be Arrow data"):
        store.write([1], NAME, run="r", number=0)
    with pytest.raises(TypeError, match="The key column 'tags' has the type list"):
        store.write(made_states([b"x"], tags=[["a"]]), NAME, run="r", number=0)
    row = made_states([b"x"], card=[1])
    for run, number in (("", 0), ("r", -1)):
        with pytest.raises(ValueError, match="must not be"):
            store.write(row, NAME, run=run, number=number)
    wrong: list[Any] = [(None, 0), ("r", "3"), ("r", True)]
    for run, number in wrong:
        with pytest.raises(TypeError, match="must be"):
            store.write(row, NAME, run=run, number=number)
    assert store.names() == []


def test_a_key_can_be_deleted(store: Store) -> None:
    store.write(made_states([b"a", b"b"], card=[1, 2]), NAME, run="r", number=0)
    assert store.delete(NAME, {"card": "1"})
    assert not store.delete(NAME, {"card": 1})
    assert states(store, 1, 2) == [None, b"b"]
    assert store.count(NAME) == 1


def test_a_deleted_state_is_gone_from_the_files_of_sqlite(tmp_path: Path) -> None:
    secret = b"state of a person " * 3
    with open_store(f"sqlite:///{tmp_path / 'f.db'}") as store:
        many = [secret, *(b"other" * 900 for _ in range(500))]
        store.write(made_states(many, card=range(501)), NAME, run="r", number=0)
        store.write(made_states([secret * 2], card=[0]), NAME, run="r", number=1)
        assert any(secret in path.read_bytes() for path in tmp_path.iterdir())
        store.delete(NAME, {"card": 0})
        assert not any(secret in path.read_bytes() for path in tmp_path.iterdir())


def test_names_are_apart(store: Store) -> None:
    for name in (NAME, "shop", "käse/1"):
        store.write(made_states([name.encode()], card=[1]), name, run=f"run of {name}", number=3)
    store.delete("shop", {"card": 1})
    assert [store.state(name, {"card": 1}) for name in (NAME, "shop", "käse/1")] == [
        NAME.encode(),
        None,
        "käse/1".encode(),
    ]
    assert store.names() == sorted([NAME, "shop", "käse/1"])


def test_without_keys_there_is_one_state(store: Store) -> None:
    store.write(made_states([b"all"]), NAME, run="r", number=0)
    assert store.state(NAME) == store.state(NAME, {}) == b"all"
    assert store.delete(NAME, {})
    assert store.state(NAME) is None


def test_a_name_without_states_is_an_error_that_lists_the_others(store: Store) -> None:
    for call in (
        store.get,
        lambda name: store.state(name, {"card": 1}),
        lambda name: store.read(name, [b"z"]),
        store.release,
    ):
        with pytest.raises(LookupError, match=r"has no states of 'card_features'. Nothing has been written"):
            call(NAME)
    store.write(made_states([b"a"], card=[1]), "cards", run="r", number=0)
    for call in (store.get, lambda name: store.read(name, [b"z"])):
        with pytest.raises(LookupError, match=r"It has 'cards'."):
            call(NAME)
    assert store.find(NAME) is None


def test_a_stream_may_not_miss_a_batch(store: Store) -> None:
    with pytest.raises(RuntimeError, match="has no micro-batch 0 of run 'r'"):
        store.write_next(made_states([b"a"], card=[1]), NAME, "r", 1)
    for number in (0, 1, 1, 0, 2):
        store.write_next(made_states([b"%d" % number], card=[1]), NAME, "r", number)
    with pytest.raises(RuntimeError, match=r"has no micro-batch 3 to 6 of run 'r'.*the stream is at 7"):
        store.write_next(made_states([b"a"], card=[1]), NAME, "r", 7)
    assert states(store, 1) == [b"2"]


def test_threads_share_a_store(store: Store) -> None:
    store.write(made_states([b"%d" % card for card in range(100)], card=range(100)), NAME, run="r", number=0)
    wrong: list[object] = []

    def read() -> None:
        for card in range(100):
            found = states(store, card)[0]
            if found is None or not found.startswith(b"%d" % card):
                wrong.append(found)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 20):
        changed = [b"%d in batch %d" % (card, number) for card in range(100)]
        store.write(made_states(changed, card=range(100)), NAME, run="r", number=number)
    for thread in threads:
        thread.join()
    assert wrong == []


def test_large_batches_and_states(store: Store) -> None:
    many = [b"%d" % card * 20 for card in range(3_000)]
    many[7] = b"x" * 3_000_000
    store.write(made_states(many, card=range(3_000)), NAME, run="r", number=0)
    assert states(store, 0, 7, 2_999) == [many[0], many[7], many[2_999]]
    assert store.count(NAME) == 3_000


@pytest.mark.parametrize(
    "url",
    [
        "features.db",
        "",
        "postgres://x/y",
        "sqlite:",
        "sqlite:///",
        "sqlite://features.db",
        "sqlite:///f.db?mode=ro",
        "sqlit:///f",
    ],
)
def test_a_wrong_url_is_an_error(url: str) -> None:
    with pytest.raises(ValueError, match=r"sqlite:///features.db"):
        open_store(url)


def test_a_file_of_something_else_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "f.db").write_bytes(b"text, which is no database" * 100)
    with (
        open_store(f"sqlite:///{tmp_path / 'f.db'}") as store,
        pytest.raises(ValueError, match="is not an SQLite database"),
    ):
        store.names()
    with (
        open_store(f"sqlite:///{tmp_path / 'no' / 'f.db'}") as store,
        pytest.raises(OSError, match="Cannot open the store"),
    ):
        store.write(made_states([b"a"], card=[1]), NAME, run="r", number=0)


def test_messages_do_not_show_passwords() -> None:
    with open_store("redis://user:secret@localhost:1/0") as store:
        assert "secret" not in store.url
        assert "secret" not in repr(store)
