"""Files: the format as other readers see it, errors, and what happens when writing fails."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from cerflearn import (
    CERFClassifier,
    CerfFormatError,
    MaskedCERF,
    RandomFourierFeatures,
    RandomizedKernelPCA,
    export_c,
    load,
    save,
)
from cerflearn.files.container import digest_of, header_of, lay_out, unpack
from cerflearn.files.strict_json import canonical, parse
from persistence.stored_models import MODELS, classes, rows


@pytest.fixture
def model():
    return RandomFourierFeatures(n_components=8, random_state=0).fit(rows())


@pytest.fixture
def path(model, tmp_path):
    save(model, tmp_path / "m.cerf")
    return tmp_path / "m.cerf"


def rewrite(path, change):
    """Change document and arrays of a file, with a right checksum."""
    content = unpack(memoryview(path.read_bytes()))
    document = parse(content.document, "document")
    tensors = {name: np.array(array) for name, array in content.tensors.items()}
    change(document, tensors)
    table, arrays = lay_out(tensors)
    document["digest"] = digest_of(document, table, arrays)
    path.write_bytes(header_of(table, canonical(document)) + b"".join(a.tobytes() for a in arrays))


def test_the_safetensors_library_reads_our_files_and_we_read_what_it_writes(path, model, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    arrays = safetensors.load_file(path)
    assert np.array_equal(arrays["model.feature_map_.weights"], model.feature_map_.weights)
    document = unpack(memoryview(path.read_bytes())).document
    again = tmp_path / "again.cerf"
    again.write_bytes(safetensors.save(arrays, {"cerf": document}))
    assert np.array_equal(load(again).transform(rows()), model.transform(rows()))


def test_versions_are_recorded(path):
    versions = parse(unpack(memoryview(path.read_bytes())).document, "")["versions"]
    assert set(versions) == {"cerflearn", "numpy", "scikit-learn", "scipy"}
    rewrite(path, lambda document, _: document.update(versions={}))
    load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d, _: d.update(format=2), "reads formats up to 1: update"),
        (lambda d, _: d.update(format=0), "has no number"),
        (lambda d, _: d.update(format=True), "has no number"),
        (lambda d, _: d.pop("versions"), "lacks an entry"),
        (lambda d, _: d["model"].update(kind="PCA"), "does not know"),
        (lambda d, _: d["model"].update(kind="os.system"), "does not know"),
        (lambda d, _: d["model"].update(kind=["PCA"]), "does not know"),
        (lambda d, _: d["model"].update(kind="Gaussian"), "cannot stand there"),
        (lambda d, _: d["model"].update(more=1), "unknown: more"),
        (lambda d, _: d["model"]["fields"].pop("law_"), "missing: law_"),
        (lambda d, _: d["model"]["fields"].update(x_=1), "unknown: x_"),
        (lambda d, _: d["model"]["parameters"].update(n_jobs="all"), "n_jobs='all' is not valid"),
        (lambda d, _: d["model"]["parameters"].update(colour=1), "parameter 'colour'"),
        (lambda d, _: d["model"]["fields"].update(n_features_in_=7), "do not fit"),
        (lambda d, _: d["model"]["fields"].update(n_features_in_=-1), "out of range"),
        (lambda d, _: d["model"]["fields"].update(gamma_="x"), "is not a number"),
        (lambda d, _: d["model"]["fields"].update(gamma_=-1.0), "out of range"),
        (lambda _, t: t.update(extra=np.zeros(3)), "belong to nothing"),
        (lambda _, t: t.pop("model.feature_map_.weights"), "no such array"),
        (lambda _, t: t["model.feature_map_.weights"].__setitem__((0, 0), np.nan), "NaN"),
        (
            lambda _, t: t.update({"model.feature_map_.weights": np.zeros((6, 5))}),
            "has the size",
        ),
        (
            lambda _, t: t.update({"model.feature_map_.weights": np.zeros((6, 4), np.float32)}),
            "array of float32",
        ),
    ],
)
def test_what_is_wrong_is_said(path, change, message):
    rewrite(path, change)
    with pytest.raises(CerfFormatError, match=message):
        load(path)


@pytest.mark.parametrize(
    ("name", "array", "place", "value"),
    [
        ("masked", "model.feature_map_.mask_inputs", 0, 6),
        ("masked", "model.feature_map_.mask_inputs", 0, -1),
        ("masked", "model.feature_map_.mask_pointers", 1, 10**9),
        ("masked", "model.feature_map_.projection_pointers", -1, 0),
        ("fastfood", "model.feature_map_.blocks.permutation", (0, 0), 8),
        ("fastfood", "model.feature_map_.kept_rows", 0, 99),
        ("fastfood", "model.feature_map_.kept_pointers", 1, -5),
        ("regressor", "model.feature_map_.mask_inputs", 0, 6),
        ("regressor", "model.feature_map_.mask_pointers", 1, -1),
        ("greedy", "model.selected_", 0, 10**6),
        ("imputer_budget", "model.stages_.0.observed", 0, 77),
        ("imputer", "model.indicator_.features_", 0, 6),
    ],
)
def test_every_index_is_checked_before_a_kernel_sees_it(name, array, place, value, tmp_path):
    fitted, _ = MODELS[name]()
    path = tmp_path / "m.cerf"
    save(fitted, path)

    def change(_, tensors):
        assert array in tensors, sorted(tensors)
        tensors[array][place] = value

    rewrite(path, change)
    with pytest.raises(CerfFormatError):
        load(path)


def test_a_flipped_bit_anywhere_is_noticed(path):
    content = path.read_bytes()
    for place in range(8, len(content), 97):
        damaged = bytearray(content)
        damaged[place] ^= 4
        path.write_bytes(damaged)
        with pytest.raises(CerfFormatError, match="cannot be loaded"):
            load(path)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("keep", [0, 4, 8, 100, -1])
def test_a_file_that_was_cut_off_is_refused(path, keep, mmap):
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CerfFormatError):
        load(path, mmap=mmap)


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b'{"a":1,"a":2}',
        b'{"a":NaN}',
        b'{"a":1e999}',
        b'{"a":"\\ud800"}',
        b"\xff\xfe",
        b'{"a":' + b"9" * 5000 + b"}",
        b"[]",
        b"{}",
    ],
)
def test_headers_that_are_no_strict_json(text, tmp_path):
    text += b" " * (-len(text) % 8)
    (tmp_path / "m.cerf").write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(CerfFormatError):
        load(tmp_path / "m.cerf")


def test_a_pickle_is_not_read(tmp_path):
    import pickle

    (tmp_path / "m.cerf").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(CerfFormatError):
        load(tmp_path / "m.cerf")


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (KNeighborsClassifier(), "KNeighborsClassifier"),
        (make_pipeline(PCA(2), LogisticRegression()), "steps.0.*PCA"),
        (make_pipeline(FunctionTransformer(np.abs), LogisticRegression()), "no functions"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), "steps.1.*KNeighborsClassifier"),
    ],
)
def test_what_cannot_be_stored_is_named_at_save(estimator, name, tmp_path):
    estimator.fit(rows(), classes(2))
    with pytest.raises(ValueError, match=name):
        save(estimator, tmp_path / "m.cerf")
    assert not list(tmp_path.iterdir())


def test_an_inner_map_that_cannot_be_stored_is_named(tmp_path):
    model = RandomizedKernelPCA(n_components=2, feature_map=PCA(3)).fit(rows())
    with pytest.raises(ValueError, match=r"feature_map_.*PCA"):
        save(model, tmp_path / "m.cerf")


def test_a_subclass_of_the_user_is_not_taken_for_ours(tmp_path):
    class Mine(CERFClassifier):
        pass

    Mine.__name__ = "CERFClassifier"
    model = Mine(macs=40, effort=0.05).fit(rows(), classes(2))
    with pytest.raises(ValueError, match="cannot be stored"):
        save(model, tmp_path / "m.cerf")


def test_estimators_that_are_not_fitted(tmp_path):
    with pytest.raises(NotFittedError):
        save(CERFClassifier(), tmp_path / "m.cerf")
    waiting = MaskedCERF(n_components=100, selector="cvem").partial_fit(rows())
    with pytest.raises(NotFittedError, match="more rows"):
        save(waiting, tmp_path / "m.cerf")
    with pytest.raises((NotFittedError, ValueError, TypeError)):
        save(TfidfVectorizer(), tmp_path / "m.cerf")


def test_classes_of_other_types_are_named(tmp_path):
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[classes(2)]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows(), dates)
    with pytest.raises(ValueError, match=r"classes_ cannot be stored: its dtype is datetime64"):
        save(model, tmp_path / "m.cerf")


def test_a_folder_that_does_not_exist(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        save(model, tmp_path / "no" / "m.cerf")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        save(model, tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "no.cerf")


FULL_DISK = """
import resource, sys
import numpy as np
from cerflearn import RandomFourierFeatures, save
model = RandomFourierFeatures(n_components=2000).fit(np.random.default_rng(0).normal(size=(9, 40)))
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    save(model, sys.argv[1])
except OSError as error:
    print("OSError", error.errno)
"""


def test_when_the_disk_is_full_the_old_file_stays_and_no_other_is_left(path):
    before = path.read_bytes()
    command = [sys.executable, "-c", FULL_DISK, str(path)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    assert found.stdout.startswith("OSError")
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_pipe_is_not_replaced_by_a_file(model, tmp_path):
    pipe = tmp_path / "pipe.h"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="is a device or a pipe"):
        save(model, pipe)
    with pytest.raises(OSError, match="is a device or a pipe"):
        export_c(model, pipe, verify=False)
    assert pipe.is_fifo()
    assert [file.name for file in tmp_path.iterdir()] == [pipe.name]


def test_the_file_that_a_link_names_is_written(model, path):
    link = path.with_name("link.cerf")
    link.symlink_to(path.name)
    path.write_bytes(b"old")
    save(model, link)
    assert link.is_symlink()
    assert np.array_equal(load(path).frequencies_, model.frequencies_)


def test_a_new_file_has_the_usual_mode(path):
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_settings_beyond_the_header_are_refused_at_save(model, tmp_path):
    model.set_params(kernel=["x" * 2**20])
    with pytest.raises(CerfFormatError, match="cannot be stored"):
        save(model, tmp_path / "m.cerf")


def test_many_names_fit(tmp_path):
    pandas = pytest.importorskip("pandas")
    names = [f"a long name of column {i}" for i in range(60_000)]
    frame = pandas.DataFrame(np.zeros((3, len(names))), columns=names)
    frame.iloc[0, 0] = 1.0
    model = StandardScaler().fit(frame)
    pipeline = make_pipeline(model, LogisticRegression()).fit(frame, [0, 1, 1])
    save(pipeline, tmp_path / "m.cerf")
    assert load(tmp_path / "m.cerf").feature_names_in_.tolist() == names


def test_loading_takes_less_than_twice_reading_and_hashing(tmp_path):
    import hashlib

    n_outputs = 2**17
    model = RandomFourierFeatures(n_components=n_outputs, random_state=0)
    model.fit(np.random.default_rng(0).normal(size=(4, 200)))
    path = tmp_path / "m.cerf"
    save(model, path)
    assert path.stat().st_size > 100e6

    def seconds(work):
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    reading = min(seconds(lambda: hashlib.sha256(path.read_bytes())) for _ in range(3))
    assert min(seconds(lambda: load(path)) for _ in range(3)) < 2.0 * reading
