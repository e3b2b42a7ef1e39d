"""Estimators in other processes, in searches, and how much memory a transform takes."""

import multiprocessing
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from cerflearn import MaskedFourierFeatures

X = np.random.default_rng(0).normal(size=(600, 20))
y = (np.abs(X[:, 0]) > 0.67).astype(int)


def transform_in_worker(sampler):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return sampler.transform(X)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_processes_give_the_same_bits_without_a_warning(method):
    sampler = MaskedFourierFeatures(n_jobs=2, random_state=0).fit(X)
    wanted = sampler.transform(X)
    with multiprocessing.get_context(method).Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(transform_in_worker, (sampler,)), wanted)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_can_go_on_after_threads_were_used():
    sampler = MaskedFourierFeatures(n_jobs=2, random_state=0).fit(X)
    wanted = sampler.transform(X)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(transform_in_worker, (sampler,)), wanted)


def test_a_search_finds_the_kernel_width_that_matters():
    model = make_pipeline(
        MaskedFourierFeatures(n_components=200, random_state=0), RidgeClassifier()
    )
    grid = {
        "maskedfourierfeatures__gamma": [1e-9, 0.1],
        "maskedfourierfeatures__mask_density": [0.2],
    }
    search = GridSearchCV(model, grid, n_jobs=2, cv=2).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_params_["maskedfourierfeatures__gamma"] == 0.1
    assert scores[1] > scores[0] + 0.05


MEMORY = """
import sys
import numpy as np
from cerflearn import MaskedFourierFeatures

def resident(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name))

X = np.ones((10_000, 784), np.float32)
X[:, ::3] = np.linspace(0, 1, 10_000)[:, None]
sampler = MaskedFourierFeatures(n_components=1024, paired=False, features_per_mask=1,
                                mask_density=0.1, gamma=0.001, n_jobs=int(sys.argv[1]),
                                random_state=0).fit(X[:50])
sampler.feature_map_.model(X.dtype)
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")  # the peak starts from here
before = resident("VmRSS")
out = sampler.transform(X)
print(resident("VmHWM") - before - out.nbytes)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_transform_takes_its_output_and_two_megabytes_a_thread(n_jobs):
    run = subprocess.run(
        [sys.executable, "-c", MEMORY, str(n_jobs)], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) <= n_jobs * 2_000_000
