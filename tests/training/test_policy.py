"""Candidates, sizes of networks, and how long training takes."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.training import policy
from cerflearn.training.compared import candidate_settings, for_more_rows, neighbours
from cerflearn.training.pruning import Budget
from cerflearn.training.settings import SettingsRequest, TrainingSettings
from cerflearn.training.sizes import (
    default_macs,
    least_macs,
    n_components_for,
    n_knots_for,
    n_steps_for,
    part_of_budget,
    start_inputs,
    usual_inputs,
    work_of,
)

BUDGET = Budget(500, 3)


def candidates(request=None, budget=BUDGET, n_usable=20, n_samples=1000):
    return candidate_settings(request or SettingsRequest(), budget, n_usable, n_samples)


def test_candidates_have_every_kind_the_linear_model_and_several_penalties():
    found = candidates()
    with_features = [c for c in found if c.n_components > 0]
    for activation in ("table", "cosine", "relu"):
        same = [c for c in with_features if c.activation == activation]
        assert {c.linear_part for c in same} == {False, True}
        assert len({c.n_components for c in same}) == 2
        assert {c.alpha for c in same} == set(policy.ALPHAS)
    (linear,) = [c for c in found if c.n_components == 0]
    assert linear.linear_part
    assert len(set(found)) == len(found)


def test_the_linear_part_alone_has_its_own_penalty_and_a_weaker_one_if_it_is_pruned():
    for macs, shares in ((60, [1.0]), (59, [1.0, policy.PRUNED_SHARE])):
        sizes = (Budget(macs, 3), 20, 1000, 750)
        found = candidate_settings(SettingsRequest(), *sizes, linear_penalty=7.0)
        alphas = [c.alpha for c in found if c.n_components == 0]
        assert alphas == [pytest.approx(70.0 * share) for share in shares]


@pytest.mark.parametrize(
    ("n_trained", "factor"), [(30, 50.0), (750, 2.0), (1500, 1.0), (9000, 1.0)]
)
def test_fewer_rows_have_stronger_penalties(n_trained, factor):
    found = candidate_settings(SettingsRequest(), BUDGET, 20, 10_000, n_trained)
    alphas = {c.alpha for c in found if c.n_components > 0}
    assert sorted(alphas) == pytest.approx(sorted(factor * alpha for alpha in policy.ALPHAS))


def test_the_first_candidates_have_all_kinds():
    # Where work is short, only the first ones are compared.
    first = candidates()[: policy.COUNTS[0][0]]
    assert any(c.n_components == 0 for c in first)
    assert {c.activation for c in first if c.n_components > 0} == {"table", "cosine", "relu"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 0.7),
        ("n_components", 5),
        ("teacher", "kernel"),
        ("activation", "relu"),
        ("learn", "features"),
    ],
)
def test_a_given_value_replaces_that_of_all_candidates(name, value):
    found = candidates(SettingsRequest(**{name: value}))
    assert {getattr(c, name) for c in found} == {value}
    assert len(set(found)) == len(found)
    assert len(found) > 1


def test_a_given_gamma_leaves_cosines_of_unscaled_inputs():
    found = candidates(SettingsRequest(gamma=0.2, linear_part=False))
    assert {(c.activation, c.gamma, c.scaling) for c in found} == {("cosine", 0.2, "none")}


def test_what_may_not_be_compared_is_not():
    assert not any(c.linear_part for c in candidates(SettingsRequest(linear_part=False)))
    assert not any(c.linear_part for c in candidates(SettingsRequest(learn="features")))
    assert "table" not in {c.activation for c in candidates(SettingsRequest(tables=False))}
    assert all(c.n_components == 7 for c in candidates(SettingsRequest(n_components=7)))


def test_given_settings_are_the_only_candidate():
    given = TrainingSettings("relu", 9, 0.1, draw=3)
    assert candidates(SettingsRequest(settings=given)) == [given]


def test_tables_within_bytes_have_a_number_of_bins_that_fits():
    def count_bytes(n_entries, n_components, n_linear, n_bins):
        return 4 * n_components * 3 * (n_bins or 1)

    budget = Budget(500, 3, max_bytes=4000, count_bytes=count_bytes)
    for c in candidates(budget=budget):
        assert (c.n_bins is not None) == (c.activation == "table" and c.n_components > 0)
        assert count_bytes(0, c.n_components, 0, c.n_bins) <= 4000


def test_where_rows_bound_the_features_parts_of_the_budget_are_compared_too():
    # 100 rows: at most 50 features, of sqrt(20 x 3) / 3 or 1.5 inputs and 3 scores each.
    usual, few = (int(50 * (n_inputs + 3)) for n_inputs in (np.sqrt(60) / 3, 1.5))
    for macs in (1_000, 2_000, 10**6):
        found = candidates(budget=Budget(macs, 3), n_samples=100)
        features = [c for c in found if c.n_components > 0]
        assert {(c.n_components, c.macs) for c in features} == {(50, usual), (50, few), (50, None)}
        assert features[0].macs == usual  # also where work is enough for the first ones alone
        assert {c.macs for c in found if c.n_components == 0} == {None}
    # Between both: only features of few inputs are bounded.
    found = candidates(budget=Budget(250, 3), n_samples=100)
    assert {c.macs for c in found} == {None, few}
    assert {c.macs for c in found if c.n_components < 50} == {None}


def test_the_whole_budget_is_used_where_rows_do_not_bound_the_features():
    assert {c.macs for c in candidates()} == {None}
    given = candidates(SettingsRequest(n_components=7), Budget(10**6, 3), n_samples=100)
    assert {c.macs for c in given} == {None}


@pytest.mark.parametrize(("group_size", "features_per_mask"), [(1, 1), (4, 1), (1, 3), (4, 2)])
def test_a_part_of_the_budget_is_that_of_features_of_so_many_inputs(group_size, features_per_mask):
    for macs in range(20, 600, 7):
        budget = Budget(macs, 2, group_size, features_per_mask)
        n = n_components_for(budget, 3.0, 30, 25)
        unbounded = n_components_for(budget, 3.0, 30, 10**9)
        expected = n * (max(3, group_size) + 2) if n < unbounded else None
        assert part_of_budget(budget, 3.0, 30, n) == expected


def test_neighbours_vary_what_the_first_round_did_not():
    setting = TrainingSettings("table", 8, 1e-3)
    found = neighbours(setting, SettingsRequest())
    assert setting not in found
    assert {c.scaling for c in found} == {"column", "common", "robust"}
    assert "kernel" in {c.teacher for c in found}
    assert 33 in {c.n_knots for c in found}
    assert 1 in {c.draw for c in found}
    cosine = neighbours(replace(setting, activation="cosine"), SettingsRequest())
    assert 2.0 in {c.frequency_scale for c in cosine}
    given = neighbours(setting, SettingsRequest(teacher="labels"))
    assert {c.teacher for c in given} == {"labels"}
    unscaled = neighbours(
        replace(setting, activation="cosine", gamma=1.0, scaling="none"), SettingsRequest(gamma=1.0)
    )
    assert {(c.gamma, c.scaling, c.frequency_scale) for c in unscaled} == {(1.0, "none", 1.0)}
    binned = neighbours(replace(setting, n_bins=64), SettingsRequest())
    assert 32 in {c.n_bins for c in binned}


def test_a_linear_model_has_no_neighbours_in_what_it_does_not_have():
    linear = TrainingSettings("table", 0, 1e-3, linear_part=True)
    found = neighbours(linear, SettingsRequest())
    assert {(c.scaling, c.n_knots) for c in found} == {("column", policy.N_KNOTS)}


def test_linear_is_simpler_than_relu_cosines_and_tables_and_fewer_than_more():
    linear = TrainingSettings("table", 0, 1e-3, linear_part=True)
    relu, cosine, table = (TrainingSettings(a, 8, 1e-3) for a in ("relu", "cosine", "table"))
    order = [linear, replace(relu, macs=50, alpha=1e-4), relu, replace(relu, alpha=1e-4)]
    order += [replace(relu, n_components=9), cosine, table]
    mixed = [order[i] for i in (3, 5, 0, 2, 6, 4, 1)]
    assert sorted(mixed, key=lambda c: c.complexity) == order


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    macs=st.integers(1, 5000),
    n_scores=st.integers(1, 10),
    group_size=st.sampled_from([1, 4]),
    features_per_mask=st.integers(1, 4),
    n_inputs=st.floats(1.0, 50.0),
    n_samples=st.integers(1, 10_000),
)
def test_features_share_the_budget(
    macs, n_scores, group_size, features_per_mask, n_inputs, n_samples
):
    budget = Budget(macs, n_scores, group_size, features_per_mask)
    n_features = 60
    found = n_components_for(budget, n_inputs, n_features, n_samples)
    assert found % features_per_mask == 0
    assert found >= features_per_mask
    if found > features_per_mask:
        assert found * (max(n_inputs, group_size) + n_scores) <= macs
        assert found <= 5.0 * np.sqrt(n_samples)


def test_features_start_with_several_times_the_inputs_they_keep():
    budget = Budget(100, 2)
    assert start_inputs(TrainingSettings("relu", 5, 0.1), budget, 500) == 72  # four times 18
    assert start_inputs(TrainingSettings("relu", 25, 0.1), budget, 500) == 32  # at least
    assert start_inputs(TrainingSettings("relu", 5, 0.1), budget, 50) == 50
    assert start_inputs(TrainingSettings("relu", 5, 0.1, learn="features"), budget, 500) == 18
    assert start_inputs(TrainingSettings("relu", 500, 0.1, learn="features"), budget, 500) == 1
    assert start_inputs(TrainingSettings("relu", 0, 0.1), budget, 500) == 0
    assert start_inputs(TrainingSettings("relu", 5, 0.1, macs=60), budget, 500) == 40
    assert start_inputs(TrainingSettings("relu", 5, 0.1, macs=600), budget, 500) == 72


def test_steps_grow_with_the_root_of_the_rows_and_with_effort():
    def n_steps(n_samples, effort=1.0):
        return n_steps_for(TrainingSettings("relu", 10, 0.1), BUDGET, 20, n_samples, effort)

    assert n_steps(2000) == pytest.approx(3000, rel=0.01)
    assert n_steps(8000) == pytest.approx(2 * n_steps(2000), rel=1e-3)
    assert n_steps(2000, 0.5) == pytest.approx(0.5 * n_steps(2000), abs=1)
    assert n_steps(1, 1e-6) == 1


def test_large_networks_take_fewer_steps_so_that_work_per_row_is_bounded():
    settings, budget = TrainingSettings("table", 30, 0.1), Budget(40_000, 1_000)
    assert n_steps_for(settings, budget, 20, 2_000) < 1_000
    work = work_of(settings, budget, 20, 2_000)
    assert work == pytest.approx(policy.MOST_WORK_PER_ROW * 2_000, rel=0.01)


def test_more_rows_have_a_weaker_penalty_and_more_knots():
    settings = TrainingSettings("table", 5, 0.1)
    few = for_more_rows(settings, 1_500, 2_000)
    assert few == replace(settings, alpha=few.alpha)
    assert few.alpha == pytest.approx(0.1 * 0.75)
    many = for_more_rows(settings, 12_000, 500_000)
    assert many.alpha == pytest.approx(0.1 * 12_000 / 500_000)
    assert many.n_knots == round(17 * n_knots_for(500_000) / n_knots_for(12_000))
    assert n_knots_for(2_000 * 32) == 2 * n_knots_for(2_000)


def test_work_grows_with_features_rows_and_the_linear_part():
    small = TrainingSettings("relu", 10, 0.1)
    base = work_of(small, BUDGET, 20, 1000)
    assert work_of(small, BUDGET, 20, 4000) > 1.9 * base
    for other in (
        replace(small, n_components=40),
        replace(small, linear_part=True),
        replace(small, activation="table"),
    ):
        assert work_of(other, BUDGET, 20, 1000) > base
    assert work_of(replace(small, n_components=0), BUDGET, 20, 1000) == 0.0


def test_budgets_of_small_networks():
    assert least_macs(Budget(9, 3), 10) == 4
    assert least_macs(Budget(9, 3, 4, 2), 10) == 2 * (4 + 3)
    assert least_macs(Budget(9, 3, 4, 2), 2) == 2 * (2 + 3)
    assert default_macs(784, 10) == 7840
    assert default_macs(4, 1) == 32 * 5
    assert usual_inputs(784, 10) == pytest.approx(np.sqrt(7840) / 3)
    assert usual_inputs(2, 1) == 2.0
    assert usual_inputs(1, 1) == 1.0


def test_settings_are_told_in_words():
    text = str(TrainingSettings("table", 8, 1e-3, linear_part=True, scaling="robust", draw=2))
    for word in ("activation='table'", "n_components=8", "alpha=0.001", "linear part", "robust"):
        assert word in text
    assert "start 2" in text
    assert "(" not in str(TrainingSettings("relu", 8, 1e-3))


def numbers_of_modules(folder):
    """Names in capitals that modules of a folder set to something with a number in it."""
    for path in sorted(folder.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and any(
                isinstance(part, ast.Constant) and type(part.value) in (int, float)
                for part in ast.walk(node.value)
            ):
                names = {part.id for target in node.targets for part in ast.walk(target)
                         if isinstance(part, ast.Name)}  # fmt: skip
                yield from ((path.stem, name) for name in names if name.isupper())


def test_every_constant_of_training_is_in_the_policy():
    package = Path(policy.__file__).parents[1]
    found = {*numbers_of_modules(package / "training")}
    assert {name for module, name in found if module != "policy"} == {"_DRAWS_OF_BRACKET"}
    # Of the predictors: what parameters may be, and how many inputs a report lists.
    others = {*numbers_of_modules(package / "estimators" / "predictors")}
    assert {module for module, _ in others} <= {"parameters", "report"}


def test_every_constant_of_the_policy_says_what_it_is():
    body = ast.parse(Path(policy.__file__).read_text()).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign):
            assert isinstance(following, ast.Expr), ast.unparse(node)
