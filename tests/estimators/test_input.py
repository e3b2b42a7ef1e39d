"""How many threads an estimator uses, and which columns vary."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from cerflearn.estimators import input as reading
from cerflearn.estimators.input import check_n_jobs, thread_count, varying_inputs


@pytest.mark.parametrize(("n_jobs", "n_threads"), [(1, 1), (4, 4), (-1, 6), (-2, 5), (-9, 1)])
def test_n_jobs_counts_threads_as_joblib_counts_processes(monkeypatch, n_jobs, n_threads):
    monkeypatch.setattr(reading, "cpu_count", lambda: 6)
    assert thread_count(n_jobs, 256) == n_threads
    assert thread_count(n_jobs, 255) == 1  # too few rows to share


def test_no_n_jobs_is_one_thread_unless_joblib_says_more():
    assert thread_count(None, 1_000) == 1
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert thread_count(None, 1_000) == 3
        assert thread_count(None, 255) == 1


def test_n_jobs_is_capped():
    assert check_n_jobs(10**9) == 2**15
    assert check_n_jobs(np.int64(-1)) == -1
    for wrong in (0, 1.0, True, "2", -(2**31) - 1):
        with pytest.raises(ValueError, match="n_jobs="):
            check_n_jobs(wrong)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_columns_of_one_value_do_not_vary(container):
    X = np.array([[0.0, 2.0, 0.0, -1.0], [0.0, 2.0, 3.0, 0.0]])
    assert varying_inputs(container(X)).tolist() == [False, False, True, True]
