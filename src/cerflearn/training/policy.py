r"""Constants of training and of the search for settings, each with its origin.

"Suite" means chosen on datasets of the development suite; docs/predictors.md lists what was tried.
"""

from __future__ import annotations

# --- one training ---------------------------------------------------------------------------
STEPS_PER_ROOT = 67.0
"""Steps for each square root of a row: 3,000 for 2,000 rows, 47,000 for 500,000 (suite; covtype
needs 20,000 and gains up to 60,000)."""

MOST_WORK_PER_ROW = 2e7
"""Multiply-adds of one training for each row, at most: about 2 ms a row. Reached by networks of
hundreds of classes only."""

BATCH_SIZE = 256
"""Rows of a step (suite: 128 loses .3 points, all 2,000 rows take 8 times as long)."""

LEARNING_RATE = 0.02
"""Of Adam at its highest; it rises over 2 % of the steps and falls along half a cosine (suite)."""

SECOND_DECAY = 0.99
"""Of Adam's second moments (suite)."""

PRUNING_SPAN = (1 / 6, 2 / 3)
"""Shares of the steps between which entries are pruned; the rest repairs (suite)."""

N_PRUNINGS = 8
"""Equal ratios in which the operations fall to the budget (suite)."""

START_FACTOR = 4.0
"""Inputs that a feature starts with, times those it can keep; 2, 8 and all do as well (MNIST-4000:
94.8 to 95.2 %)."""

LEAST_START_INPUTS = 32
"""Inputs that a feature starts with at least, where there are so many: cheap, and nothing is
missed."""

MOMENT_HORIZON = 4096
"""Rows over which running moments of projections average: their error is 1.6 % of a deviation."""

FIRST_HEAD, FIRST_NOISE = 0.1, 0.02
"""Deviation of the first head, or slope of a first table; and of noise on its knots (suite)."""

RELU_OFFSETS = 0.5
"""Deviation of the first offsets of relu features, whose projections have deviation one (suite)."""

SCALE_SPREAD = (0.5, 1.5)
"""Cosines start with so many radians a deviation of the projection, uniformly (suite)."""

N_KNOTS = 17
"""Of a table while it is trained on up to 2,000 rows (suite; 33 are tried for sharp functions).
They grow with the fifth root of the rows, the rate at which splines of a smooth function converge
best (Stone, 1982): covtype with 100,000 rows has 88.4 % with 17 and 90.2 % with 33."""

REGRESSOR_VARIANCES = {"cosine": 0.5, "relu": 0.34, "table": 1.0}
"""Variance of a feature: alpha is in units of it, as in ridge regression. A cosine of random phase
has 1/2, max(y, 0) of a normal y has 1/2 - 1/(2 pi); tables are penalised by their mean square."""

SCALE_SHARE, LINEAR_SHARE, CURVATURE = 0.2, 0.1, 4.0
"""Penalties of scales of cosines, the linear part and second differences of tables, for one unit of
that of the heads (suite)."""

WEIGHT_ROWS, MOST_WEIGHT_SHARE = 2e4, 100.0
"""Penalty of weights, for one unit of that of the heads, times the rows; and the share at most.
Projections have deviation one whatever their weights are, so it only drives weights towards zero
whose inputs do not tell: instead of a share of .1, one of 10 gains .3 +- .25 points on ten sets of
2,000 rows, and 2 points on 500 rows of MNIST, but loses 1.4 points on 20,000 rows of covtype and
2.6 on 500,000; 100 does as well as 10 on few rows."""

N_BINS, FIRST_BINS = (16, 32, 64, 128, 256), 128
"""Numbers of bins that a deployed table may have; that with which finalists are compared."""

BIN_LOSS = (0.01, 0.002)
"""Shares of the least held-out loss, and of that of constant scores, neither of which fewer bins
may add: the fewest are taken. With the latter alone MNIST got 16 bins, at 6 % of its loss."""

REFITS = (0.0, 30.0, 3.0)
"""Rows that trained values of tables weigh as much as when bins are fitted to the targets; 0: they
are not. With 30, airfoil at 20 operations rises from 84.8 to 87.6, parkinsons from 80.2 to 92.8,
and no set falls by more than half a point (suite)."""

REFIT_STEPS, REFIT_WORK_PER_ROW = 30, 5e4
"""Steps of L-BFGS, and multiply-adds for each row, at most, of one such fit."""

BINS_WITHIN_BYTES = 64
"""Bins of a table where bytes are bounded; half as many are compared later."""

PREDICTION_MARGIN = 0.1
"""Of the range of training targets, by which predicted numbers may lie outside it: a new target
lies outside the range of N others with probability 2 / (N + 1)."""

MOST_HELD_OUT = 5_000
"""Rows that early stopping holds out, at most: a tenth of fewer."""

EARLY_STOPPING_CHECKS = 8
"""Networks after pruning that are compared on held-out rows."""

# --- size of a network ----------------------------------------------------------------------
FEW_INPUTS = 1.5
"""Inputs a feature of the narrowest networks that are compared (suite)."""

MOST_FEATURES_PER_ROOT = 5.0
"""Features for each square root of a row, at most: more overfit."""

# --- search ---------------------------------------------------------------------------------
ALPHAS = (3e-3, 3e-4, 3e-2, 3e-5)
"""Penalties that are compared, the likeliest first (suite)."""

SEARCH_ROWS = 16_000
"""Rows that settings are compared on, at most: held-out losses differ little beyond."""

DISTILLED_ROWS = 2**16
"""Rows that a teacher gives targets to, at most: of more, evenly spaced ones."""

FEATURE_ENTRIES = 2**26
"""Numbers of features, or of inputs, that are stored to fit a head to features or to select drawn
ones, at most, 512 MB: of more rows, evenly spaced ones are used."""

TEMPERATURES = tuple(float(1.25**power) for power in range(-8, 5))
"""Inverse temperatures, of which the best scales held-out scores of classes before their losses are
compared, as predicted probabilities are scaled. Without it, networks of 5,000 operations lose to a
linear model on 5,000 rows of covtype, which has 3 points less (suite: -.15 +- .24)."""

HELD_OUT_PARTS = 4
"""One of which is held out."""

HELD_OUT_ROWS = 1_500
"""Rows that finalists are compared on, if several folds are needed for so many."""

MOST_FOLDS = 3
"""Folds that finalists are compared in."""

FIRST_SHARE, SECOND_SHARE = 1 / 6, 1 / 3
"""Shares of the steps in the first and second round of the search."""

SURVIVORS = 1 / 4
"""Share of the candidates of the first round that go on."""

N_DRAWS = 2
"""Random starts of each candidate in the first round, at most (small networks depend on them)."""

COUNTS = ((6, 10**6), (4, 24), (2, 4), (1, 12))
"""Fewest and most candidates of the three rounds, and trainings of the finalists in all folds."""

FOLD_STARTS, LAST_STARTS = (8e5, 5), (3e6, 20)
"""Multiply-adds for each row that starts of one finalist in one fold, and of the last training, may
take; and most starts. With 16 instead of one, tables of 16 operations gain up to 6 points (suite).
"""

RESUMED_STEPS, RESUMED_RATE = 1 / 3, 0.5
"""Shares of steps and rate with which a network of a part of the rows is trained on with all."""

WORK_PER_ROW = 6.5e6
"""Multiply-adds of each round at effort 1 for each row that settings are compared on: about a
second of one core for 2,000 rows. It bounds the number of candidates."""

TRAINING_OVERHEAD = 5e7
"""Of one training beside its multiply-adds, in the same unit: about 5 ms."""

BOOSTING_ROUNDS = (25, 100)
"""Fewest and most rounds of boosted trees as teacher; with fewer they are not compared (suite)."""

BOOSTING_SHARE = 0.25
"""Of the work of a round of the search that one fit of boosted trees may take."""

TREE_WORK, TREE_INPUT_WORK, TREE_ROW_WORK = 6e6, 4e5, 55.0
"""Of one tree of 31 leaves, in multiply-adds of the trainer that take as long: for the tree, for
each input, and for each input and row (scikit-learn's histogram trees, 64 bins)."""

FINALISTS_WITHIN = 2.0
"""Paired standard errors within which the best of a kind of features becomes a finalist."""

SIMPLER_WITHIN = 0.25
"""Paired standard errors within which the simpler of two candidates is taken (suite)."""

# --- streams --------------------------------------------------------------------------------
KEPT_ROWS = 2**16
"""Rows of a stream that are kept, at most: one block of the grid."""

NEW_MASKS_AFTER = 4.0
"""Masks and settings are chosen anew when the rows that are kept are so many times those that they
were chosen on. With masks of the first 2,000 rows for good, 50 pieces of covtype have 76.9 %,
where a fit of all 100,000 rows has 82.6."""
