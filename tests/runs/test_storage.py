"""The file below HDF5, against a plain bytearray."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from cgm_cli.runs.storage import CommittedFile

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 60), st.binary(min_size=1, max_size=20)),
        st.tuples(st.just("commit"), st.just(0), st.just(b"")),
        st.tuples(st.just("truncate"), st.integers(0, 60), st.just(b"")),
    ),
    max_size=25,
)


@settings(max_examples=200, deadline=None)
@given(OPERATIONS)
def test_reads_see_every_write_and_the_disk_every_commit(tmp_path_factory, operations):
    path = tmp_path_factory.mktemp("storage") / "file"
    file, model, committed = CommittedFile(path), bytearray(), b""
    for name, position, data in operations:
        if name == "write":
            model.extend(bytes(max(0, position + len(data) - len(model))))
            model[position : position + len(data)] = data
            file.seek(position)
            file.write(data)
        elif name == "truncate":
            # HDF5 only ever cuts what it no longer uses or announces the end of what it has allocated.
            position = max(position, len(model))
            model.extend(bytes(position - len(model)))
            file.truncate(position)
        else:
            file.commit()
            committed = bytes(model)
            assert path.read_bytes() == committed
        file.seek(0)
        assert file.read(len(model)) == bytes(model)
        # What was committed stays as it was, whatever has been appended since.
        assert path.read_bytes()[: len(committed)] == committed
    file.close()
    assert path.read_bytes() == committed


def test_after_a_failed_write_the_disk_keeps_the_last_commit(tmp_path, monkeypatch):
    from cgm_cli.runs import storage

    path = tmp_path / "file"
    file = CommittedFile(path)
    file.write(b"committed")
    file.commit()

    def full(descriptor, data, offset):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "pwrite", full)
    rng = random.Random(0)
    for _ in range(20):
        file.seek(rng.randrange(30))
        file.write(b"lost")
    file.commit()
    assert file.fault.errno == 28
    file.seek(5)
    file.write(b"memory")
    file.seek(5)
    assert file.read(6) == b"memory"
    file.close()
    assert path.read_bytes() == b"committed"
