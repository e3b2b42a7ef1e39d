"""Choice of settings by successive halving on held-out rows, and the network with the best.

Many candidates are trained with few steps, the better ones with more, the finalists with all of
them and in several folds where rows are few. A candidate's loss on held-out rows decides; where it
cannot tell two finalists apart, the simpler one is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from cerflearn.engine.engines import map_in_order
from cerflearn.training import policy
from cerflearn.training.compared import (
    candidate_settings,
    for_more_rows,
    linear_penalty,
    neighbours,
)
from cerflearn.training.deployed import deploy_fitted
from cerflearn.training.distillation import distilled_problem
from cerflearn.training.network import TrainableNetwork
from cerflearn.training.saved_training import KeptTraining, load_round, save_round
from cerflearn.training.scores import fit_inverse_temperature, losses_of_rows
from cerflearn.training.search_options import SearchOptions, SearchResult
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.sizes import efforts_of_brackets, n_steps_for, work_of
from cerflearn.training.task import (
    Problem,
    Task,
    fullest_parts,
    hash_of_rows,
    parts_of_rows,
    scaled_inputs,
    scaled_problem,
)
from cerflearn.training.trials import (
    Fold,
    HeldOutResult,
    Trial,
    TrialResult,
    Trials,
    best_of_kinds,
    choose_bins,
    fewest_bins,
    finalists_of,
    least,
    losses_of,
    ranked_settings,
    train_start,
)

_DRAWS_OF_BRACKET = 2 * policy.N_DRAWS  # starts of candidates, and one more of each survivor


class Search:
    """Compares settings for a task.

    Parameters
    ----------
    task : Task
        All training rows.
    options : SearchOptions
        What is given, and how long to search.
    seed : numpy.random.SeedSequence
        Of all randomness; that of one training does not depend on the others.
    """

    def __init__(self, task: Task, options: SearchOptions, seed: np.random.SeedSequence) -> None:
        self._options = options
        self._seed = int(seed.generate_state(1, np.uint64)[0]) % 2**62
        self._n_usable = int(task.usable.sum())
        self._task, self._held_out = task, None
        self._n_rounds = 0
        if options.early_stopping:
            # Not compared on either: networks of the comparison are trained on with all rows.
            n_parts = max(10, task.n_samples // policy.MOST_HELD_OUT)
            parts = parts_of_rows(task.strata, n_parts, self._seed + 2)
            self._task, self._held_out = task.rows(parts != 0), task.rows(parts == 0)

    def run(self, *, needs_held_out: bool) -> SearchResult:
        """Choose settings and train a network with them on all rows.

        Parameters
        ----------
        needs_held_out : bool
            Whether held-out scores are needed although there may be nothing to compare.
        """
        candidates = self._candidates()
        if len(candidates) == 1:
            only = candidates[0]
            needs_held_out |= only.kind == "table" and None in (only.n_bins, only.refit)
            best = self._compare_with_none(only, needs_held_out=needs_held_out)
        else:
            best = self._choose([self._for_fewer_rows(c) for c in candidates])
        bins_are_open = best is not None and best.settings.n_bins is None
        best = best if best is None else self._with_bins(best)
        settings = last = candidates[0] if best is None else best.settings
        if best is not None:
            last = for_more_rows(settings, best.n_trained, self._task.n_samples)
        network = self._train_on_all(last, best)
        if bins_are_open:
            settings = replace(settings, n_bins=self._bins_of_last(network, settings))
        n_resumed = 0 if best is None else len(best.networks)
        return SearchResult(network, replace(settings, n_resumed=n_resumed), best, last.alpha)

    def _candidates(self) -> list[TrainingSettings]:
        """List the settings of the first round."""
        task, request = self._task, self._options.request
        given = (request, task.budget, self._n_usable, task.n_samples)
        if request.settings is not None or request.alpha is not None:
            return candidate_settings(*given)
        n_trained = self._folds[0].train.n_samples
        return candidate_settings(*given, n_trained, linear_penalty(task, n_trained))

    def _for_fewer_rows(self, settings: TrainingSettings) -> TrainingSettings:
        """Return settings for the rows of a fold, if alpha was given for all rows."""
        if self._options.request.alpha is None or self._options.request.settings is not None:
            return settings
        ratio = self._task.n_samples / self._folds[0].train.n_samples
        return replace(settings, alpha=ratio * settings.alpha)

    def _compare_with_none(
        self, settings: TrainingSettings, *, needs_held_out: bool
    ) -> HeldOutResult | None:
        """Networks of the only settings in as many folds as these say, or as are needed."""
        folds = self._folds
        n_folds = settings.n_resumed or (len(folds) if needs_held_out else 0)
        if n_folds == 0:
            return None
        settings = self._for_fewer_rows(settings)
        n_rows = folds[0].train.n_samples
        efforts = efforts_of_brackets(self._options.effort)
        effort = efforts[min(settings.draw // _DRAWS_OF_BRACKET, len(efforts) - 1)]
        return self._evaluate([settings], n_folds, n_rows, effort, last=True)[0]

    def _choose(self, candidates: list[TrainingSettings]) -> HeldOutResult:
        """Best of the finalists of all brackets.

        Twice the effort runs one bracket more: finalists of less effort are always among those
        of more.
        """
        finalists: list[HeldOutResult] = []
        for bracket, effort in enumerate(efforts_of_brackets(self._options.effort)):
            drawn = [replace(c, draw=c.draw + _DRAWS_OF_BRACKET * bracket) for c in candidates]
            finalists += self._halve(drawn, effort)
        least = min(finalists, key=lambda result: result.mean)
        good = [result for result in finalists if result.is_as_good_as(least)] or [least]
        return min(good, key=lambda result: (result.settings.complexity, result.mean))

    def _halve(self, candidates: list[TrainingSettings], effort: float) -> list[HeldOutResult]:
        folds = self._folds
        n_rows = folds[0].train.n_samples
        several = [c for c in candidates if c.n_components > 0]  # not of the linear part alone
        again = [replace(c, draw=c.draw + i) for i in range(1, policy.N_DRAWS) for c in several]
        drawn = [*candidates, *again]
        chosen = drawn[: self._n_within(drawn, n_rows, 0, policy.FIRST_SHARE)]
        results = self._evaluate(chosen, 1, n_rows, effort * policy.FIRST_SHARE)
        ranked = self._with_neighbours(ranked_settings(results))
        chosen = ranked[: self._n_within(ranked, n_rows, 1, policy.SECOND_SHARE)]
        results = self._evaluate(chosen, 1, n_rows, effort * policy.SECOND_SHARE)
        ranked = finalists_of(results)
        finalists = ranked[: self._n_within(ranked, n_rows, 2, 1.0)]
        n_trainings = self._n_within(finalists * len(folds), n_rows, 3, 1.0)
        n_folds = max(1, n_trainings // len(finalists))
        return self._evaluate(finalists, n_folds, n_rows, effort, last=True)

    def _with_neighbours(self, ranked: list[TrainingSettings]) -> list[TrainingSettings]:
        """Best of each kind, their variants in what the first round did not vary, the others."""
        leaders = best_of_kinds(ranked)
        more = [neighbours(best, self._options.request) for best in leaders]
        others = ranked[: round(policy.SURVIVORS * len(ranked))]
        return list(dict.fromkeys([*leaders, *(n for near in more for n in near), *others]))

    def _n_within(
        self, candidates: Sequence[TrainingSettings], n_rows: int, stage: int, share: float
    ) -> int:
        """Count the first candidates that a round has work for."""
        budget = self._task.budget
        works = [
            policy.TRAINING_OVERHEAD + share * work_of(settings, budget, self._n_usable, n_rows)
            for settings in candidates
        ]
        within = int(np.searchsorted(np.cumsum(works), policy.WORK_PER_ROW * n_rows, side="right"))
        least, most = policy.COUNTS[stage]
        return min(int(np.clip(within, least, most)), len(candidates))

    def _n_steps(self, settings: TrainingSettings, n_rows: int, effort: float) -> int:
        return n_steps_for(settings, self._task.budget, self._n_usable, n_rows, effort)

    @cached_property
    def _folds(self) -> list[Fold]:
        """Parts of at most ``SEARCH_ROWS`` rows, of which one is held out in each fold.

        The first one, which all rounds see, has rows of as many classes as any: on rows of one
        class alone, constant scores are the best.
        """
        task = self._task
        if task.n_samples > policy.SEARCH_ROWS:
            order = np.argsort(hash_of_rows(task.n_samples, self._seed), kind="stable")
            task = task.rows(np.sort(order[: policy.SEARCH_ROWS]))
        n_parts = min(policy.HELD_OUT_PARTS, task.n_samples)
        wanted = round(policy.HELD_OUT_ROWS * n_parts / task.n_samples)
        n_folds = int(np.clip(wanted, 1, min(policy.MOST_FOLDS, n_parts)))
        parts = parts_of_rows(task.strata, n_parts, self._seed + 1)
        held_out = fullest_parts(task.strata, parts, n_parts)[:n_folds]
        return [Fold(task.rows(parts != p), task.rows(parts == p)) for p in held_out]

    @cached_property
    def _trials(self) -> Trials:
        return Trials(self._folds, self._task.n_samples, self._seed, self._options.rescore)

    def _evaluate(
        self,
        candidates: Sequence[TrainingSettings],
        n_folds: int,
        n_rows: int,
        effort: float,
        *,
        last: bool = False,
    ) -> list[HeldOutResult]:
        """Train each candidate in the first folds, and score the held-out rows.

        In the last round from several starts, of which the least training loss decides.
        """
        steps = {settings: self._n_steps(settings, n_rows, effort) for settings in candidates}
        trials = [
            Trial(
                settings,
                fold,
                steps[settings],
                self._n_starts(settings, n_rows, policy.FOLD_STARTS) if last else 1,
                last,
            )
            for settings in candidates
            for fold in range(n_folds)
        ]
        found = self._run(trials)
        results = [
            self._result(settings, found[i * n_folds : (i + 1) * n_folds])
            for i, settings in enumerate(candidates)
        ]
        for result in results:
            told = f"{steps[result.settings]} steps, {self._options.describe(result.settings)}"
            self._say(f"{told}: held-out loss {result.mean:.4f}")
        return results

    def _run(self, trials: Sequence[Trial]) -> list[TrialResult]:
        """Run a round of trainings, or take what they have found from the store."""
        options, name = self._options, f"round_{self._n_rounds}"
        self._n_rounds += 1
        known = None if options.store is None else load_round(options.store, name)
        if known is not None:
            return [TrialResult(*one) for one in known]
        for trial in trials:  # made once, before threads share it, or it is sent away
            self._add_problem(self._folds[trial.fold], trial.settings)
        if options.map_trials is None:
            found = map_in_order(self._trials.run, trials, options.n_threads)
        else:
            found = options.map_trials(self._trials.run, trials)
        if options.store is not None:
            save_round(options.store, name, found)
        return found

    def _with_bins(self, best: HeldOutResult) -> HeldOutResult:
        """Choose the bins of tables; the result has the scores by these."""
        settings = best.settings
        if settings.kind != "table" or None not in (settings.n_bins, settings.refit):
            return best
        folds = self._folds[: len(best.networks)]

        def evaluate(binned: TrainingSettings) -> HeldOutResult:
            found = [
                TrialResult(self._trials.held_out_scores(network, binned, fold, last=True), network)
                for network, fold in zip(best.networks, folds, strict=True)
            ]
            result = self._result(binned, found)
            self._say(f"{self._options.describe(binned)}: held-out loss {result.mean:.4f}")
            return result

        constant = [
            fold.test.loss(np.broadcast_to(fold.train.constant_scores(), fold.test.targets.shape))
            for fold in folds
        ]
        task = self._task
        return choose_bins(
            settings, evaluate, task.n_scores, task.n_samples, float(np.mean(constant))
        )

    def _bins_of_last(self, network: TrainableNetwork, settings: TrainingSettings) -> int | None:
        """Bins of the network of all rows, if early stopping holds out rows to choose them on.

        More rows give sharper tables, which need more bins than those that were compared.
        """
        rows = self._held_out
        if rows is None or settings.kind != "table" or settings.refit:
            return settings.n_bins
        X, losses = scaled_inputs(rows, settings), {}
        for n_bins in policy.N_BINS:
            deployed = deploy_fitted(network, replace(settings, n_bins=n_bins), self._task)
            losses[n_bins] = rows.loss(self._task.bounded(deployed.scores(X)))
            self._say(f"all rows, {n_bins} bins: held-out loss {losses[n_bins]:.4f}")
        constant = np.broadcast_to(self._task.constant_scores(), rows.targets.shape)
        return fewest_bins(losses, rows.loss(constant))

    def _result(self, settings: TrainingSettings, found: Sequence[TrialResult]) -> HeldOutResult:
        """Scores of the held-out rows of the first folds, with their losses."""
        folds = self._folds[: len(found)]
        both = np.concatenate([result.scores for result in found])
        targets = np.concatenate([fold.test.targets[:] for fold in folds])
        weights = np.concatenate([fold.test.weights for fold in folds])
        kind, factor = self._task.kind, 1.0
        if self._task.classifies:  # large networks are too certain
            factor = fit_inverse_temperature(both, targets, weights, kind, policy.TEMPERATURES)
        losses = losses_of_rows(factor * both, targets, kind)
        networks = [result.network for result in found if result.network is not None]
        n_trained = folds[0].train.n_samples
        return HeldOutResult(settings, both, targets, weights, losses, networks, n_trained)

    def _add_problem(self, fold: Fold, settings: TrainingSettings) -> None:
        """Make the problem of some settings in a fold, if it is not there."""
        key = (settings.teacher, settings.scaling)
        if key in fold.problems:
            return
        column = (settings.teacher, "column")
        if column not in fold.problems:
            fold.problems[column] = self._make_problem(fold.train, settings.teacher)
        fold.problems[key] = scaled_problem(fold.problems[column], fold.train, settings)

    def _make_problem(self, task: Task, teacher: str) -> Problem:
        """Rows with the targets of a teacher, with inputs scaled one by one."""
        rng = np.random.default_rng([self._seed, 1])
        if teacher == "labels":
            return task.problem()
        task = task.evenly_spaced(policy.DISTILLED_ROWS)
        return distilled_problem(task, self._options.fit_teachers[teacher](task, rng), rng)

    def _train_on_all(
        self, settings: TrainingSettings, best: HeldOutResult | None
    ) -> TrainableNetwork:
        """Train on all rows, except for a part if early stopping needs rows.

        Small networks depend on their start. So there are several new ones where they are cheap,
        and the networks that have been compared are trained on, too, with all rows. The network
        with the least loss is taken: on the held-out part, or else on the training rows, as all
        have the same size and penalty.
        """
        task, held_out, store = self._task, self._held_out, self._options.store
        n_steps = self._n_steps(settings, task.n_samples, self._options.effort)
        resumed = best.networks if best is not None else []
        n_new = self._n_starts(settings, task.n_samples, policy.LAST_STARTS)
        starts = [*enumerate([None] * n_new), *((0, network) for network in resumed)]
        kept = [
            None if store is None else KeptTraining(store, f"start_{i}") for i in range(len(starts))
        ]
        networks = [None if one is None else one.finished_network() for one in kept]
        if any(network is None for network in networks):
            problem = scaled_problem(self._make_problem(task, settings.teacher), task, settings)

        def progress(share: float, loss: float) -> None:
            self._say(f"{share:4.0%} of training, loss {loss:.5g}")

        def run(index: int) -> TrainableNetwork:
            known = networks[index]
            if known is not None:
                return known
            number, start = starts[index]
            told = progress if start is None and number == 0 else None
            return train_start(
                task, problem, settings, n_steps, self._seed, held_out=held_out,
                on_progress=told, start=start, number=number, kept=kept[index],
            )  # fmt: skip

        found = map_in_order(run, range(len(starts)), self._options.n_threads)
        if len(found) == 1:
            return found[0]
        losses = losses_of(found, task, task if held_out is None else held_out, settings)
        self._say(f"losses of {len(found)} starts: " + ", ".join(f"{x:.4f}" for x in losses))
        return found[least(losses)]

    def _n_starts(self, settings: TrainingSettings, n_rows: int, limits: tuple[float, int]) -> int:
        """Count the starts of one training that there is work for; a linear part needs one."""
        if settings.n_components == 0:
            return 1
        work = work_of(settings, self._task.budget, self._n_usable, n_rows)
        per_row, most = limits
        return int(np.clip(per_row * n_rows / (policy.TRAINING_OVERHEAD + work), 1, most))

    def _say(self, line: str) -> None:
        if self._options.report is not None:
            self._options.report(line)
