"""Runs read back; files that are missing, broken, foreign, or point elsewhere."""

import json
import os

import h5py
import numpy as np
import pytest

from cgm_cli.errors import DataError
from cgm_cli.methods.status import Status
from cgm_cli.readers import memory
from cgm_cli.runs.directory import RunDirectory
from cgm_cli.runs.load import load_run
from cgm_cli.runs.log import RunLog
from cgm_cli.runs.summary import summarise
from tests.runs.fake import Result, record


@pytest.fixture
def ended(tmp_path):
    """The folder of a run that came to its end."""
    path = tmp_path / "run"
    result = Result(record(24))
    with RunDirectory.create("a", path) as folder:
        folder.begin("name: a  # mine\n", "name: a\nsolver: {beta0: 1e-3}\n")
        with RunLog(path / "run.h5", {"seed": 7, "git": None, "versions": {"numpy": "2"}, "argv": ["cgm"]}) as log:
            for k in range(25):
                log.on_record(record(k))
            log.finish(result.solution, result.duals, {"ended": "now"})
        folder.set_status(result.status, "", summarise(result, path))
    return path


def test_what_was_written_is_read_back(ended):
    run = load_run(ended)
    assert run.status is Status.CONVERGED
    assert (run.alive, run.died) == (False, False)
    assert run.spec_text == "name: a  # mine\n"
    assert run.resolved == {"name": "a", "solver": {"beta0": 1e-3}}
    assert run.provenance == {
        "seed": 7,
        "git": None,
        "versions": {"numpy": "2"},
        "argv": ["cgm"],
        "ended": "now",
    }
    assert run.trace["objective"].tolist() == [record(k).objective for k in range(25)]
    assert run.summary["gap"] == record(24).gap
    np.testing.assert_array_equal(run.solution["x"], [1.0, np.nan])
    assert run.duals["row_sums"].tolist() == [1.0, 1.0, 1.0]


def test_the_log_itself_names_its_run(ended):
    assert load_run(ended / "run.h5").path == ended


def test_a_run_that_goes_on_is_alive_and_one_that_was_killed_is_not(tmp_path):
    with RunDirectory.create("a", tmp_path) as folder, RunLog(tmp_path / "run.h5", {}) as log:
        folder.begin("", "")
        log.on_record(record(0))
        run = load_run(tmp_path)
        assert (run.alive, run.died, run.summary) == (True, False, None)
        assert run.trace["k"].tolist() == [0]
        assert run.solution == {}
    assert load_run(tmp_path).died


def test_rows_that_have_not_arrived_are_cut_off(ended):
    """Two rows of room; the first of them had begun to arrive, `seconds` last, when its writer was killed."""
    with h5py.File(ended / "run.h5", "r+") as file:
        for name in list(file["trace"]):
            column = file[f"trace/{name}"][()]
            del file[f"trace/{name}"]
            room = np.full(2, np.nan if column.dtype.kind == "f" else 0, dtype=column.dtype)
            file[f"trace/{name}"] = np.concatenate([column, room])
        file["trace/objective"][25] = 1.0
    assert {len(column) for column in load_run(ended).trace.values()} == {25}


def test_no_folder_and_no_run(tmp_path, ended):
    with pytest.raises(DataError, match="is not a folder"):
        load_run(tmp_path / "missing")
    with pytest.raises(DataError, match=rf"no status\.json\. It holds a run, {ended}") as caught:
        load_run(tmp_path)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"status": "splendid"}', b"\xff\xfe", '{"status": []}'])
def test_a_broken_status(ended, text):
    (ended / "status.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=r"status\.json"):
        load_run(ended)


def test_a_status_of_the_future_keeps_its_fields(ended):
    state = json.loads((ended / "status.json").read_text())
    (ended / "status.json").write_text(json.dumps({**state, "new": 1}))
    assert load_run(ended).state["new"] == 1


@pytest.mark.parametrize("attribute", ["trace", "solution", "duals", "provenance"])
@pytest.mark.parametrize("content", [None, b"", b"\x89HDF\r\n\x1a\n", b"text", "half"])
def test_a_missing_foreign_or_broken_log(ended, attribute, content):
    path = ended / "run.h5"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if content == "half" else content)
    with pytest.raises(DataError, match=r"run\.h5"):
        getattr(load_run(ended), attribute)


@pytest.mark.parametrize("name", ["spec.yaml", "resolved.yaml"])
def test_a_missing_spec(ended, name):
    (ended / name).unlink()
    with pytest.raises(DataError, match=name):
        load_run(ended).spec_text if name == "spec.yaml" else load_run(ended).resolved


def external_trace(file, other):
    del file["trace"]
    file["trace"] = h5py.ExternalLink(str(other), "/secret")


def soft_trace(file, other):
    file["elsewhere"] = file["trace"]
    del file["trace"]
    file["trace"] = h5py.SoftLink("/elsewhere")


def external_column(file, other):
    file["trace/evil"] = h5py.ExternalLink(str(other), "/secret/k")


def soft_column(file, other):
    file["trace/evil"] = h5py.SoftLink("/trace/k")


def dangling_column(file, other):
    file["trace/evil"] = h5py.SoftLink("/nowhere")


def external_storage(file, other):
    file.create_dataset("trace/evil", shape=(25,), dtype="f8", external=[(str(other), 0, 200)])


def virtual_column(file, other):
    layout = h5py.VirtualLayout((25,), dtype="f8")
    layout[:] = h5py.VirtualSource(str(other), "/secret/k", (25,))
    file.create_virtual_dataset("trace/evil", layout)


def words(file, other):
    file["trace/evil"] = ["a"] * 25


def matrix(file, other):
    file["trace/evil"] = np.ones((25, 2))


def scalar(file, other):
    file["trace/evil"] = 1.0


def group(file, other):
    file.create_group("trace/evil")


def array_for_group(file, other):
    del file["trace"]
    file["trace"] = np.ones(3)


def nothing(file, other):
    file.create_dataset("trace/evil", data=h5py.Empty("f8"))


TRICKS = [
    nothing,
    external_trace,
    soft_trace,
    external_column,
    soft_column,
    dangling_column,
    external_storage,
    virtual_column,
    words,
    matrix,
    scalar,
    group,
    array_for_group,
]


@pytest.mark.parametrize("trick", TRICKS)
def test_whatever_points_elsewhere_or_is_no_column_is_refused(ended, tmp_path, trick):
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["secret/k"] = np.arange(25.0)
    with h5py.File(ended / "run.h5", "r+") as file:
        trick(file, other)
    with pytest.raises(DataError, match=r"run\.h5"):
        load_run(ended).trace  # noqa: B018


def test_links_are_not_even_looked_behind(ended, tmp_path):
    # Opening a named pipe would wait for ever.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with h5py.File(ended / "run.h5", "r+") as file:
        external_trace(file, pipe)
    with pytest.raises(DataError, match="links are not followed"):
        load_run(ended).trace  # noqa: B018


# What of a run reads which file; the status is read first of all.
READS = {"spec.yaml": "spec_text", "resolved.yaml": "resolved", "run.h5": "trace", "status.json": "state"}


@pytest.mark.parametrize("place", ["trace", "solution", "duals"])
@pytest.mark.parametrize("options", [{}, {"chunks": (1000,)}])
def test_a_dataset_that_claims_more_than_there_is_memory_is_not_read(ended, place, options):
    with h5py.File(ended / "run.h5", "r+") as file:
        file.create_dataset(f"{place}/evil", (10**12,), "f8", **options)
    with pytest.raises(DataError, match=r"run\.h5.*(would take 8 TB|has 1000000000 chunks, and most were)"):
        getattr(load_run(ended), place)


def test_datasets_are_weighed_together(ended, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1_500_000)
    with h5py.File(ended / "run.h5", "r+") as file:
        for number in range(2):
            file.create_dataset(f"duals/{number}", (100_000,), "f8")
    with pytest.raises(DataError, match=r"would take 1\.6 MB in memory, and only 1\.5 MB are available"):
        load_run(ended).duals  # noqa: B018


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_a_status_nested_without_end(ended, text):
    (ended / "status.json").write_text(text)
    with pytest.raises(DataError, match="is not a status of cgm"):
        load_run(ended)


def test_attributes_that_cgm_did_not_write(ended):
    with h5py.File(ended / "run.h5", "r+") as file:
        file.attrs["deep"] = "[" * 20_000
        file.attrs["empty"] = h5py.Empty("f8")
    provenance = load_run(ended).provenance
    assert provenance["deep"] == "[" * 20_000
    assert provenance["empty"] is None


def test_a_result_that_is_none(ended):
    state = json.loads((ended / "status.json").read_text())
    (ended / "status.json").write_text(json.dumps({**state, "result": 3}))
    assert load_run(ended).summary is None


@pytest.mark.parametrize("name", ["spec.yaml", "resolved.yaml", "run.h5", "status.json"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "it is a named pipe"),
        (os.mkdir, "it is a folder"),
        (lambda path: path.symlink_to("/dev/zero"), "it is a device"),
        (lambda path: path.symlink_to("nowhere"), "it is a link that leads nowhere"),
    ],
)
def test_what_is_no_file_is_never_opened(ended, name, make, words):
    (ended / name).unlink()
    make(ended / name)
    with pytest.raises(DataError, match=f"{name} cannot be read: {words}"):
        getattr(load_run(ended), READS[name])


@pytest.mark.parametrize("name", ["spec.yaml", "resolved.yaml", "status.json"])
def test_a_text_of_any_size_is_not_read(ended, name):
    os.truncate(ended / name, 10**12)
    with pytest.raises(DataError, match=f"{name} is larger than 20 MB: cgm did not write it"):
        getattr(load_run(ended), READS[name])


def test_a_named_pipe_for_the_lock_is_no_writer(ended):
    os.mkfifo(ended / ".lock")
    assert not load_run(ended).alive
