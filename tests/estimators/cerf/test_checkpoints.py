"""``fit`` with a checkpoint: going on after a failure, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cerflearn import CVEM, BlockedCERF, CerfFormatError, MaskedCERF
from cerflearn._native import levels, use_level
from cerflearn.blocks import from_blocks, from_csv
from cerflearn.spectral import Gaussian, GaussianMixture
from killed_fits import fit, fitted_bits, kill_at, start
from learned_maps import LEARNED, learned

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2500, 6))
Y = (X[:, 0] > 0).astype(int)
CLASSES = [MaskedCERF, BlockedCERF]

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")


def learner(cls=MaskedCERF, **settings):
    quick = {"n_components": 10, "max_stages": 4, "tol": 0.0, "random_state": 0}
    return learned(cls, **quick | settings)


class FailingSource:
    """Blocks of rows, with an error in the pass of some number."""

    def __init__(self, deadly, rows=X, block_rows=1000):
        self.n_passes, self.deadly, self.rows, self.block_rows = 0, deadly, rows, block_rows

    def __call__(self):
        self.n_passes += 1
        for first in range(0, len(self.rows), self.block_rows):
            if self.n_passes == self.deadly and first:
                raise ConnectionError("the network is gone")
            yield self.rows[first : first + self.block_rows]


@pytest.mark.parametrize(
    ("cls", "selector"), list(zip(CLASSES * 2, [*LEARNED, "cvem"], strict=True))
)
def test_a_fit_that_fails_in_any_pass_goes_on_with_the_same_bits(tmp_path, cls, selector):
    rows = np.random.default_rng(1).normal(size=(34_000, 4))  # more than are kept when read once
    settings = {"selector": selector, "n_components": 4, "max_stages": 2}
    wanted = fitted_bits(learner(cls, **settings).fit(rows))
    for deadly in range(1, 50):
        source, folder = FailingSource(deadly, rows), tmp_path / str(deadly)
        try:
            streamed = from_blocks(source)
            learner(cls, cache_bytes=0, **settings).fit(streamed, checkpoint=folder)
        except ConnectionError:
            again = learner(cls, n_jobs=2, **settings).fit(rows, checkpoint=folder)
            assert fitted_bits(again) == wanted
        else:
            break
    assert deadly > 5


def test_after_the_end_the_same_call_computes_no_stage(tmp_path, capsys):
    sampler = learner(selector="cvem", verbose=1)
    wanted = fitted_bits(sampler.fit(X, checkpoint=tmp_path))
    assert {path.stem for path in tmp_path.iterdir()} == {"fingerprint", "embedding", "selection"}
    assert capsys.readouterr().out
    assert fitted_bits(sampler.fit(X, checkpoint=tmp_path)) == wanted
    assert capsys.readouterr().out == ""


def test_the_same_rows_are_the_same_data_wherever_they_lie(tmp_path):
    np.save(tmp_path / "x.npy", X)
    as_text = {"delimiter": ",", "header": "a,b,c,d,e,f", "comments": "", "fmt": "%.17g"}
    np.savetxt(tmp_path / "x.csv", X, **as_text)
    kinds = [
        X,
        np.asfortranarray(X),
        np.load(tmp_path / "x.npy", mmap_mode="r"),
        str(tmp_path / "x.npy"),
        from_csv(tmp_path / "x.csv"),
        from_blocks(FailingSource(None, block_rows=333)),
        csr_matrix(X),
        da.from_array(X, chunks=(700, 6)),
        da.from_array(X, chunks=(2000, 2)),
    ]
    expected = fitted_bits(learner().fit(X, checkpoint=tmp_path / "kept"))
    for kind in kinds:
        assert fitted_bits(learner().fit(kind, checkpoint=tmp_path / "kept")) == expected


CHANGES = {
    "n_components": {"n_components": 12},
    "gamma": {"gamma": 0.3},
    "random_state": {"random_state": 1},
    "teacher": {"teacher": "nystroem"},
    "weights": {"weights": "nnls"},
    "selector__max_stages": {"max_stages": 5},
    "selector: 'CVEM' there, 'Greedy' here": {"selector": "greedy"},
    "kernel__scale": {"kernel": Gaussian(0.7)},
    "teacher__scale: nothing there, 0.2 here": {"teacher": Gaussian(0.2)},
}


@pytest.mark.parametrize("name", CHANGES)
def test_other_parameters_are_refused_by_name(tmp_path, name):
    settings = {"selector": "cvem"}
    learner(**settings).fit(X, checkpoint=tmp_path)
    with pytest.raises(ValueError, match=f"of another fit .*{name}.* Pass another folder"):
        learner(**settings | CHANGES[name]).fit(X, checkpoint=tmp_path)


def test_parameters_on_which_no_bit_depends_may_change(tmp_path):
    wanted = fitted_bits(learner(selector="shared").fit(X, checkpoint=tmp_path))
    free = {"n_jobs": 2, "verbose": False, "cache_bytes": 0, "learning_decay": 0.9}
    again = learner(selector="shared", **free).fit(X, Y, checkpoint=tmp_path)
    assert fitted_bits(again) == wanted


def test_names_of_selectors_stand_for_their_defaults(tmp_path):
    MaskedCERF(n_components=8, selector="cvem", random_state=0).fit(X, checkpoint=tmp_path)
    MaskedCERF(n_components=8, selector=CVEM(), random_state=0).fit(X, checkpoint=tmp_path)


def test_laws_and_estimators_are_compared_by_what_they_hold(tmp_path):
    laws = [GaussianMixture(RNG.normal(size=(3, 6)), 0.1) for _ in range(2)]
    learner(teacher=laws[0]).fit(X, checkpoint=tmp_path / "law")
    with pytest.raises(ValueError, match="teacher__centres"):
        learner(teacher=laws[1]).fit(X, checkpoint=tmp_path / "law")
    learner(teacher=PCA(3)).fit(X, checkpoint=tmp_path / "pca")
    with pytest.raises(ValueError, match="teacher__n_components: 3 there, 4 here"):
        learner(teacher=PCA(4)).fit(X, checkpoint=tmp_path / "pca")
    frozen = [FrozenEstimator(PCA(3).fit(rows)) for rows in (X, X[:1000])]
    learner(teacher=frozen[0]).fit(X, checkpoint=tmp_path / "frozen")
    with pytest.raises(ValueError, match="Teacher or candidates are not those of the checkpoint"):
        learner(teacher=frozen[1]).fit(X, checkpoint=tmp_path / "frozen")


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        (X[:-1], "shape of X"),
        (X[::-1], "digest of X"),
        (X + 1e-12, "digest of X"),
        (X.astype(np.float32), "dtype of X"),
        (np.where(np.arange(2500)[:, None] == 2499, X + 1.0, X), "digest of X"),
    ],
)
def test_other_data_are_refused(tmp_path, changed, name):
    learner().fit(X, checkpoint=tmp_path)
    with pytest.raises(ValueError, match=f"of another fit .*{name}"):
        learner().fit(changed, checkpoint=tmp_path)


def test_targets_count_where_the_teacher_reads_them(tmp_path):
    text = np.where(Y == 1, "yes", "no")
    learner(teacher="labels").fit(X, text, checkpoint=tmp_path)
    learner(teacher="labels").fit(X, text.tolist(), checkpoint=tmp_path)
    with pytest.raises(ValueError, match="digest of y"):
        learner(teacher="labels").fit(X, text[::-1], checkpoint=tmp_path)


@pytest.mark.skipif(len(levels()) < 2, reason="the CPU has one level")
def test_another_instruction_level_is_refused(tmp_path):
    learner().fit(X, checkpoint=tmp_path)
    with use_level(levels()[0]), pytest.raises(ValueError, match="instruction level"):
        learner().fit(X, checkpoint=tmp_path)


def test_without_a_seed_the_one_of_the_first_call_is_kept(tmp_path):
    first = learner(random_state=None).fit(X, checkpoint=tmp_path / "a")
    again = learner(random_state=None).fit(X, checkpoint=tmp_path / "a")
    other = learner(random_state=None).fit(X, checkpoint=tmp_path / "b")
    assert fitted_bits(first) == fitted_bits(again) != fitted_bits(other)


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_generators_must_be_where_they_were(tmp_path, kind):
    wanted = fitted_bits(learner(random_state=kind(3)).fit(X))
    shared = kind(3)
    learner(random_state=shared).fit(X, checkpoint=tmp_path)
    assert fitted_bits(learner(random_state=kind(3)).fit(X, checkpoint=tmp_path)) == wanted
    with pytest.raises(ValueError, match="random_state: 'a generator whose state has digest"):
        learner(random_state=shared).fit(X, checkpoint=tmp_path)


@pytest.mark.parametrize("selector", ["random", "trained", "auto"])
def test_selectors_without_stages_refuse_a_checkpoint(tmp_path, selector):
    sampler = MaskedCERF(n_components=8, selector=selector)
    with pytest.raises(ValueError, match=f"has no effect with selector='{selector}'"):
        sampler.fit(X, checkpoint=tmp_path / "folder")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_refused_before_the_data_are_read(tmp_path):
    (tmp_path / "file").write_text("")
    source = FailingSource(1)
    with pytest.raises(NotADirectoryError, match="is a file"):
        learner().fit(from_blocks(source), checkpoint=tmp_path / "file")
    with pytest.raises(OSError, match="cannot be made"):
        learner().fit(from_blocks(source), checkpoint=tmp_path / "file" / "x")
    with pytest.raises(ValueError, match="checkpoint=3 is not valid"):
        learner().fit(from_blocks(source), checkpoint=3)
    assert source.n_passes == 0


def test_a_damaged_file_is_named_and_nothing_is_fitted(tmp_path):
    sampler = learner().fit(X, checkpoint=tmp_path)
    path = tmp_path / "selection.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(CerfFormatError, match=r"selection.safetensors' cannot be read.*delete"):
        sampler.fit(X, checkpoint=tmp_path)
    assert not hasattr(sampler, "feature_map_")


FULL_DISK = """
import resource, sys, warnings
from killed_fits import fit
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    fit("cvem", sys.argv[1])
except OSError as error:
    print(error)
"""


def test_a_full_disk_ends_the_fit_and_more_room_lets_it_go_on(tmp_path):
    pytest.importorskip("resource")
    environment = os.environ | {"PYTHONPATH": os.path.dirname(sys.modules["killed_fits"].__file__)}
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert "stages.safetensors' cannot be written: File too large" in done.stdout
    assert fitted_bits(fit("cvem", tmp_path)) == fitted_bits(fit("cvem"))


def test_a_killed_process_loses_one_stage(tmp_path):
    process = start("cvem", tmp_path)
    kill_at(process, tmp_path, "stages", 4)
    assert (tmp_path / "stages.safetensors").exists()
    assert fitted_bits(fit("cvem", tmp_path)) == fitted_bits(fit("cvem"))


def test_pipelines_hand_the_folder_on(tmp_path):
    pipeline = make_pipeline(StandardScaler(), learner())
    pipeline.fit(X, maskedcerf__checkpoint=tmp_path)
    assert (tmp_path / "selection.safetensors").exists()
    assert learner().fit_transform(X, checkpoint=tmp_path / "b").shape == (2500, 10)


class StopAfter:
    """A callback of scikit-learn that ends a fit after some stages."""

    def __init__(self, n_stages):
        self.n_stages, self.n_seen = n_stages, 0

    def setup(self, estimator, context):
        self.n_seen = 0

    def on_fit_task_begin(self, estimator, context, *, X=None):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None):
        self.n_seen += context.task_name == "stage"
        return self.n_seen == self.n_stages

    def teardown(self, estimator, context):
        pass


def test_a_fit_that_a_callback_stopped_stops_there_again_or_goes_on_without_it(tmp_path):
    pytest.importorskip("sklearn.callback")
    sampler = learner(selector="cvem")
    wanted = fitted_bits(learner(selector="cvem").fit(X))
    sampler.set_callbacks(StopAfter(2))
    stopped = fitted_bits(sampler.fit(X, checkpoint=tmp_path))
    assert sampler.n_iter_ == 2
    assert fitted_bits(sampler.fit(X, checkpoint=tmp_path)) == stopped
    assert fitted_bits(learner(selector="cvem").fit(X, checkpoint=tmp_path)) == wanted
