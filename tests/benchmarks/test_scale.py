"""The benchmark of scale runs at a small size; its model of a cluster; the page has its tables."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest


@pytest.fixture(name="model")
def fixture_model(load):
    return load("_scale_model")


@pytest.fixture(name="costs")
def fixture_costs(model):
    return model.Costs(
        block=1.0, add=0.0, alone=0.0, dispatch=0.0, latency=0.0, bytes_per_second=1.0, n_bytes=0
    )


def test_a_small_run_has_all_results_and_goes_on_where_it_stopped(call, load, tmp_path):
    path = tmp_path / "scale.json"
    assert call("scale", "run", "--tiny", "--output", path).count("\n") == 15
    results = json.loads(path.read_text())
    engines = ("serial", "threads", "dask 1", "dask 2")
    assert set(results["growth"]) == {f"2000, {engine}" for engine in engines}
    assert set(results["cores"]) == set(engines)
    assert len({record["digest"] for record in results["growth"].values()}) == 1
    assert min(record["memory"] for record in results["growth"].values()) > 10
    assert results["costs"]["8"]["n_bytes"] > 8 * 8 * 8
    forms = {f"{name}, {form}" for name in ("MaskedCERF", "CERFClassifier")
             for form in ("array", "npy", "parquet")}  # fmt: skip
    assert set(results["memory"]) == forms
    assert len({record["digest"] for record in results["memory"].values()}) == 2
    assert call("scale", "run", "--tiny", "--output", path) == ""
    tables = load("_scale_tables")
    assert "2,000" in tables.growth(results)
    assert tables.simulated(results).count("\n") > 10
    assert tables.memory(results).count("\n") == 5
    results["costs"]["512"] = results["costs"]["8"]
    assert "with 1 process, " in tables.cores(results)


def test_the_page_shows_what_was_measured(call):
    call("scale", "render", "--check")


@pytest.mark.parametrize(("n_workers", "seconds"), [(1, 64.0), (2, 32.0), (4, 16.0), (9, 16.0)])
def test_free_merges_leave_the_blocks_alone(model, costs, n_workers, seconds):
    assert model.simulate(costs, 64 * 1024, n_workers) == seconds


def test_one_worker_adds_all_sums_and_sends_nothing_but_state_and_result(model, costs):
    some = replace(costs, add=0.5, n_bytes=3, alone=7.0)
    # 40 blocks have 39 sums; the state comes and the sums go, three seconds each.
    assert model.simulate(some, 40 * 1024, 1) == 40.0 + 39 * 0.5 + 2 * 3.0 + 7.0


def test_workers_fetch_sums_along_the_tree_and_the_state_in_rounds(model, costs):
    some = replace(costs, n_bytes=1)
    # State to the first worker and on to the second; 16 blocks; one fetch; result to the client.
    assert model.simulate(some, 32 * 1024, 2) == 2.0 + 16.0 + 1.0 + 1.0


def test_the_scheduler_serves_one_task_after_the_other(model, costs):
    slow = replace(costs, dispatch=100.0)
    # Eight tasks and seven merges wait for it; the last of them begins when it is served.
    assert model.simulate(slow, 128 * 1024, 8) >= 15 * 100.0


def test_merging_bounds_sooner_where_sums_are_large(model, costs):
    sizes = (0, 1, 100)
    found = [
        model.bound_by_merging(replace(costs, n_bytes=n), 10_000 * 1024, most=512) for n in sizes
    ]
    assert found[0] is None
    assert found[2] < (found[1] or 10_000)


def test_measured_growth_is_nearly_linear_and_memory_is_bounded(load):
    growth = json.loads(load("scale").RESULTS.read_text())["growth"]
    sizes = sorted({int(name.split(",")[0]) for name in growth})
    assert len(sizes) >= 2
    for engine in ("serial", "threads"):
        few, many = (growth[f"{n}, {engine}"] for n in (sizes[0], sizes[-1]))
        # Ten times the rows take at most sixteen times the CPU time.
        assert many["cpu_seconds"] < few["cpu_seconds"] * (sizes[-1] / sizes[0]) ** 1.2
        assert many["memory"] < 800
