"""Folders of states: what comes back, what is refused, and what happens when writing fails."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from cerflearn import CerfFormatError, load
from cerflearn.files.checkpoint import PAUSE, Checkpoint
from cerflearn.files.container import digest_of, header_of, lay_out, unpack
from cerflearn.files.strict_json import canonical, parse

FINGERPRINT = {"macs": 100, "tol": 0.5, "names": ["a", "b"], "kernel": None, "worst": math.inf}


def rewrite(path, change):
    """Change the document of a file, with a right checksum."""
    content = unpack(memoryview(path.read_bytes()))
    document = parse(content.document, "document")
    change(document)
    table, arrays = lay_out(content.tensors)
    document["digest"] = digest_of(document, table, arrays)
    path.write_bytes(header_of(table, canonical(document)) + b"".join(a.tobytes() for a in arrays))


def test_states_come_back_with_their_bits_types_and_order_in_memory(tmp_path):
    block = np.random.default_rng(0).normal(size=(3, 4, 5))
    arrays = [
        block,
        np.asfortranarray(block),
        block.transpose(1, 2, 0),
        block[:, ::2],
        np.zeros((0, 3)),
        np.array(2.0),
        np.array([True, False]),
        np.arange(3, dtype=np.int32),
        np.array([np.nan, -0.0, np.inf, 5e-324]),
    ]
    numbers = [None, True, 1, 1.0, 2**127 + 1, -0.0, 0.1, math.inf, -math.inf, "text \U0001f600"]
    state = {"arrays": arrays, "numbers": numbers, "inner": {"array": [], "tree": {}}}
    Checkpoint(tmp_path, FINGERPRINT).save("stages", state)
    found = Checkpoint(tmp_path, FINGERPRINT).load("stages")
    assert [*map(repr, found["numbers"])] == [*map(repr, numbers)]
    assert found["inner"] == {"array": [], "tree": {}}
    for old, new in zip(arrays, found["arrays"], strict=True):
        assert (new.dtype, new.shape) == (old.dtype, old.shape)
        assert new.tobytes() == old.tobytes()
        assert new.flags.aligned
        assert new.flags.writeable
    assert found["arrays"][1].flags.f_contiguous
    assert found["arrays"][2].strides == arrays[2].strides
    assert math.isnan(
        Checkpoint(tmp_path / "b", {"x": math.nan})._read("fingerprint")["state"]["x"]
    )
    Checkpoint(tmp_path / "b", {"x": math.nan})


@pytest.mark.parametrize("state", [object(), {1: 2}, np.array(["a"]), {"x": {"y": 1j}}, b"bytes"])
def test_what_is_no_tree_is_refused(tmp_path, state):
    with pytest.raises(TypeError, match="which a checkpoint cannot hold"):
        Checkpoint(tmp_path, {}).save("stages", state)


def test_there_is_nothing_at_first_and_after_removal(tmp_path):
    checkpoint = Checkpoint(tmp_path / "a" / "b", FINGERPRINT)
    assert checkpoint.load("stages") is None
    checkpoint.save("stages", [1])
    checkpoint.remove("stages", "rounds")
    assert checkpoint.load("stages") is None
    with pytest.raises(ValueError, match="lower-case"):
        checkpoint.save("../x", 1)


def test_another_fingerprint_is_refused_with_the_differences_and_the_remedy(tmp_path):
    Checkpoint(tmp_path, FINGERPRINT).save("stages", [1])
    assert Checkpoint(tmp_path, FINGERPRINT | {"macs": 100.0}).load("stages") == [1]
    other = FINGERPRINT | {"macs": 200, "names": ["a"], "more": None}
    message = (
        r"is of another fit \(macs: 100 there, 200 here; more: nothing there, None here; "
        r"names: \['a', 'b'\] there, \['a'\] here\). Pass another folder, or delete this one"
    )
    with pytest.raises(ValueError, match=message):
        Checkpoint(tmp_path, other)
    with pytest.raises(ValueError, match="; and 3 more"):
        Checkpoint(tmp_path, {"a": 1, "b": 2, "c": 3})
    assert Checkpoint(tmp_path, FINGERPRINT).load("stages") == [1]


def test_a_state_of_another_folder_is_refused(tmp_path):
    Checkpoint(tmp_path / "a", {"macs": 1}).save("stages", [1])
    here = Checkpoint(tmp_path / "b", {"macs": 2})
    (tmp_path / "a" / "stages.safetensors").rename(tmp_path / "b" / "stages.safetensors")
    with pytest.raises(ValueError, match="belongs to another fit"):
        here.load("stages")


@pytest.mark.parametrize("place", [0, 5, 9, 40, 200, -1])
def test_a_changed_byte_is_found(tmp_path, place):
    checkpoint, path = Checkpoint(tmp_path, FINGERPRINT), tmp_path / "stages.safetensors"
    checkpoint.save("stages", {"x": np.arange(50.0)})
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(CerfFormatError, match=r"stages.safetensors' cannot be read: .* Pass anoth"):
        checkpoint.load("stages")


@pytest.mark.parametrize("n_bytes", [0, 7, 100, 300])
@pytest.mark.parametrize("name", ["stages", "fingerprint"])
def test_a_file_that_is_cut_off_is_refused(tmp_path, name, n_bytes):
    Checkpoint(tmp_path, FINGERPRINT).save("stages", {"x": np.arange(50.0)})
    path = tmp_path / f"{name}.safetensors"
    path.write_bytes(path.read_bytes()[:n_bytes])
    with pytest.raises(CerfFormatError, match="cannot be read"):
        Checkpoint(tmp_path, FINGERPRINT).load("stages")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: d.update(checkpoint=2),
            "format 2, and this version of cerflearn reads format 1",
        ),
        (lambda d: d.update(checkpoint="1"), "format '1'"),
        (lambda d: d.pop("checkpoint"), "no checkpoint"),
        (lambda d: d.update(more=1), "one too many"),
        (lambda d: d.update(state={"array": "y"}), "not known"),
        (lambda d: d.update(state={"array": ["state.x"]}), "not known"),
        (lambda d: d.update(state={"float": "1"}), "not known"),
        (lambda d: d.update(state={"tree": []}), "not known"),
        (lambda d: d.update(state={"array": "state.x", "axes": [1]}), "axes"),
        (lambda d: d.update(state={"array": "state.x", "axes": "0"}), "axes"),
    ],
)
def test_documents_of_others_are_refused(tmp_path, change, message):
    Checkpoint(tmp_path, FINGERPRINT).save("stages", {"x": np.arange(5.0)})
    rewrite(tmp_path / "stages.safetensors", change)
    with pytest.raises(CerfFormatError, match=message):
        Checkpoint(tmp_path, FINGERPRINT).load("stages")


def test_a_checkpoint_is_no_model(tmp_path):
    Checkpoint(tmp_path, FINGERPRINT)
    with pytest.raises(CerfFormatError, match="cannot be loaded"):
        load(tmp_path / "fingerprint.safetensors")


def test_folders_that_cannot_be_made(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(NotADirectoryError, match="is a file: pass the path of a folder"):
        Checkpoint(file, {})
    with pytest.raises(OSError, match=r"/file/inside' cannot be made"):
        Checkpoint(file / "inside", {})
    for folder in (3, True, b"", ""):
        with pytest.raises(ValueError, match="must be the path of a folder"):
            Checkpoint(folder, {})


def test_what_a_killed_process_was_writing_is_removed(tmp_path):
    Checkpoint(tmp_path, FINGERPRINT).save("stages", [1])
    (tmp_path / ".stages.safetensors.x1y2").write_bytes(b"half of it")
    (tmp_path / "notes.txt").write_text("of the user")
    assert Checkpoint(tmp_path, FINGERPRINT).load("stages") == [1]
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"fingerprint.safetensors", "stages.safetensors", "notes.txt"}


def test_many_small_arrays_fit_into_a_header(tmp_path):
    checkpoint = Checkpoint(tmp_path, {})
    checkpoint.save("stages", [np.full(2, i) for i in range(20_000)])
    assert checkpoint.load("stages")[-1].tolist() == [19_999, 19_999]


def test_states_are_written_in_a_tenth_of_the_time_at_most(tmp_path):
    checkpoint, calls = Checkpoint(tmp_path, {}), []

    def make_state():
        calls.append(1)
        return np.zeros(2**20)

    checkpoint.save_at_times("rounds", make_state)
    checkpoint.save_at_times("rounds", make_state)
    assert len(calls) == 1
    assert checkpoint.load("rounds").shape == (2**20,)
    checkpoint._due["rounds"] -= PAUSE * 60.0
    checkpoint.save_at_times("rounds", make_state)
    assert len(calls) == 2


FULL_DISK = """
import resource, sys
import numpy as np
from cerflearn.files.checkpoint import Checkpoint
checkpoint = Checkpoint(sys.argv[1], {})
checkpoint.save("stages", {"x": np.arange(10.0)})
resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, 2**16))
try:
    checkpoint.save("stages", {"x": np.zeros(2**16)})
except OSError as error:
    print(error)
"""


def test_a_full_disk_is_an_error_and_the_state_before_stays(tmp_path):
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, check=True
    )
    assert "stages.safetensors' cannot be written: File too large" in done.stdout
    assert "the same call goes on from there" in done.stdout
    assert len(list(tmp_path.iterdir())) == 2
    assert np.array_equal(Checkpoint(tmp_path, {}).load("stages")["x"], np.arange(10.0))
