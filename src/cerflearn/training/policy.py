r"""Every constant of training and of the search for settings, with its origin.

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

WARM_UP = 0.02
"""Share of the steps over which the rate rises (usual for Adam, whose first moments are rough)."""

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

MOMENT_ROWS, LAST_MOMENT_ROWS, LAST_MOMENT_ENTRIES = 4096, 2**16, 2**24
"""Rows over which mean and variance of projections are measured before and after training, at most,
and projections that are stored for it: 64 MB."""

MOMENT_ROUNDS, MOMENT_TOLERANCE = 10, 1e-3
"""Rounds of clamped moments, at most; change of a variance after which they end."""

LEAST_CLAMPED = 1.0 / 2500.0
"""Of the variance of a relu feature's projection, that of its values clamped to a table's span is
at least, here and in the native steps: an input that is zero but for one row in ten or fewer would
have none, and its feature a weight of 10,000 over its deviation. A share of 1/400 hides the other
values where a hundredth of the rows are 1,000 deviations away."""

LEAST_VARIANCE = 1e-8
"""Added to variances before they are divided by, here and in the native steps: a feature whose
inputs are all pruned has none."""

TABLE_END = 3.0
"""Tables cover projections of up to so many deviations, here and in the native steps; beyond, they
are constant. Of a normal projection .3 % lie there."""

IMPORTANCE_ROWS = 512
"""Rows over which importances of inputs are measured: deviations then err by 3 %."""

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

KNOT_ROWS, KNOT_GROWTH = 2_000, 0.2
"""Rows up to which there are so many knots, and the power of the rows with which they grow."""

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

EARLY_STOPPING_ROWS = 10_000
"""Rows from which on early stopping can spare a part of them."""

MOST_HELD_OUT = 5_000
"""Rows that early stopping holds out, at most: a tenth of fewer."""

EARLY_STOPPING_CHECKS = 8
"""Networks after pruning that are compared on held-out rows."""

# --- size of a network ----------------------------------------------------------------------
FEW_INPUTS = 1.5
"""Inputs a feature of the narrowest networks that are compared (suite)."""

USUAL_DIVISOR = 3.0
"""A usual feature keeps the root of inputs times scores, divided by this (suite)."""

DEFAULT_FEATURES = (32, 8)
"""Without a budget there is one for so many features of so many inputs, or that of a linear model
if it is more."""

MOST_FEATURES_PER_ROOT = 5.0
"""Features for each square root of a row, at most: more overfit."""

MOST_FREQUENCIES = 2**27
"""Features times inputs that training starts with, at most: 1 GiB."""

# --- search ---------------------------------------------------------------------------------
ALPHAS = (3e-3, 3e-4, 3e-2, 3e-5)
"""Penalties that are compared, the likeliest first (suite)."""

PENALTY_ROWS = 1_500
"""Rows of a training that these penalties were chosen for. They are priors, so fewer rows have
stronger ones, by the ratio: with 40, 100, 200 and 500 rows of 16 sets +10, +1, +.8 and +.3 points,
with the penalty of the linear part alone (suite)."""

PATH_ALPHAS = tuple(10.0 ** (power / 2) for power in range(8, -9, -1))
"""Penalties of the linear part alone whose leave-one-out errors are compared, in units of the mean
variance of an input, the strongest first."""

PRUNED_SHARE = 0.1
"""Of this penalty that a linear part is tried with, too, if the budget is enough for some of its
coefficients only."""

PATH_ROWS, PATH_ENTRIES = 4_000, 2**22
"""Rows, and numbers of inputs or targets in them, that they are compared on, at most: a tenth of a
second."""

SEARCH_ROWS = 16_000
"""Rows that settings are compared on, at most: held-out losses differ little beyond."""

DISTILLED_ROWS = 2**16
"""Rows that a teacher gives targets to, at most: of more, evenly spaced ones."""

KERNEL_ROWS, KERNEL_ENTRIES, KERNEL_BLOCK_ROWS = 4_000, 2**24, 1_000
"""Rows that the kernel machine is fitted to, of which it stores a square matrix of 128 MB, and
numbers in them, at most; rows that it predicts at once."""

TUNING_ROWS = 600
"""Rows on which width and ridge of the kernel are compared: a decomposition takes their cube."""

KERNEL_WIDTHS, KERNEL_RIDGES = (0.5, 1.0, 2.0, 4.0), (1e-3, 1e-2, 1e-1, 0.5, 2.0)
"""Gammas that are compared, times the median squared distance; and penalties (the ten datasets of
docs/predictors_ten.md, with the trainer before this one)."""

SOFTENING = 0.5
"""Of the inverse temperature that fits left-out labels best, for the targets of the kernel machine:
softer ones tell more of the other classes (the same ten datasets)."""

TEACHER_TEMPERATURES = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 24.0)
"""Inverse temperatures of the kernel machine's scores that are compared: scores fitted to targets
of -1 and 1 are too small for log-odds."""

POINTS_PER_ROW, FEW_POINTS = 4, 3_000
"""Points between rows that a teacher gives targets to, for each row, until there are so many; then
one for each row. With 20 and 60 for each of 500 rows, twice and three times the time gain .6 and
1 point (MNIST)."""

FEATURE_ENTRIES = 2**26
"""Numbers of features, or of inputs, that are stored to fit a head to features or to select drawn
ones, at most, 512 MB: of more rows, evenly spaced ones are used."""

GAMMA_SHARE = 0.2
"""Gamma of drawn features, times the median squared distance: they read few inputs each, so that
their distances are a part of the whole ones."""

DRAWN_GAMMA_FACTORS, FACTOR_ROWS, FACTOR_FEATURES = (0.03, 0.1, 0.3, 1.0, 3.0), 5_000, 256
"""Multiples of that gamma which are compared, rows and features that they are compared on, at most.
"""

SELECTED_SHARE, MOST_DRAWN = 0.4, 2**14
"""Share of the drawn features that is selected, as in the paper; features that are drawn, at most:
a square matrix of them has 2 GB."""

INVERSE_PENALTIES, HEAD_FOLDS, MOST_TUNED_CLASSES = (0.01, 0.1, 1.0, 10.0), 3, 100
"""Values of C that a fitted head compares, in so many folds; of more classes it is 1, as each fit
takes long."""

TEMPERATURES = tuple(float(1.25**power) for power in range(-8, 5))
"""Inverse temperatures, of which the best scales held-out scores of classes before their losses are
compared, as predicted probabilities are scaled. Without it, networks of 5,000 operations lose to a
linear model on 5,000 rows of covtype, which has 3 points less (suite: -.15 +- .24)."""

LOG_TEMPERATURE_BOUNDS, LARGEST_LOG_ODDS = (-3.0, 5.0), 500.0
"""Range of the logarithm of the inverse temperature of probabilities; log-odds at most: exp of 710
overflows."""

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

HIGHER_FREQUENCIES = 2.0
"""Times the usual frequencies that the best cosines are tried with, too."""

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

SCORE_WORK = {"cosine": 4.0, "relu": 4.0, "table": 8.0}
"""Multiply-adds of a score of a feature in one step, about: a table updates two knots."""

BOOSTING_ROUNDS = (25, 100)
"""Fewest and most rounds of boosted trees as teacher; with fewer they are not compared (suite)."""

BOOSTING_SHARE = 0.25
"""Of the work of a round of the search that one fit of boosted trees may take."""

BOOSTING_RATE, BOOSTING_BINS = 10.0, 64
"""Learning rate of the trees times their rounds; bins of an input: fewer are faster, and points
between rows smooth what they lose."""

TREE_WORK, TREE_INPUT_WORK, TREE_ROW_WORK = 6e6, 4e5, 55.0
"""Of one tree of 31 leaves, in multiply-adds of the trainer that take as long: for the tree, for
each input, and for each input and row (scikit-learn's histogram trees, 64 bins)."""

FINALISTS_WITHIN = 2.0
"""Paired standard errors within which the best of a kind of features becomes a finalist."""

SIMPLER_WITHIN = 0.25
"""Paired standard errors within which the simpler of two candidates is taken (suite)."""

# --- rows and memory ------------------------------------------------------------------------
GRID_ROWS, SHUFFLED_BLOCKS = 2**16, 4
"""Rows of a block of the fixed grid: rows are merged, sorted and stratified within a block only.
Blocks whose rows are mixed by a shuffle: what is in memory at once when data are larger."""

LOADED_ROWS = 2**16
"""Rows up to which a part of the rows is read into memory, as it was given, and kept."""

DENSE_ENTRIES, DENSE_ENTRIES_OF_STEPS, DENSE_WEIGHTS = 2**24, 2**22, 2**16
"""Numbers of a sparse matrix that is made dense, 128 MB; of sparse rows that are made dense for
some steps, but for one batch; of weights up to which a dense product is faster."""

QUARTILE_ROWS, SORTED_ENTRIES, NORMAL_QUARTILES = 10_000, 2**22, 1.349
"""Evenly spaced rows over which quartiles of inputs are measured, which then err by 1 %; numbers
that are sorted at once; distance of the quartiles of a normal variable of deviation one."""

MOST_ROBUST_FACTOR = 20.0
"""Times as large as scaled by their deviations, at most, inputs are that are scaled by quartiles:
where most values are nearly equal, few others must not be huge."""

GROSS_DEVIATIONS = 1000.0
"""Deviations, by the quartiles, from the median at which values of training rows are clipped: a
sentinel or a wrong entry, which hides all other values from networks of scaled inputs."""

LATER_DEVIATIONS = 10.0
"""Deviations of the first rows from their mean at which values of rows that a network is trained on
with are clipped: it keeps the scaling of the first rows, of which few are so far off."""

LARGEST_INPUT, LARGEST_START_GAMMA = 1e15, 1e65
"""Inputs as they are, and kernel coefficients, at most: squares and frequencies of single precision
must not overflow."""

# --- streams --------------------------------------------------------------------------------
KEPT_ROWS = 2**16
"""Rows of a stream that are kept, at most: one block of the grid."""

NEW_MASKS_AFTER = 4.0
"""Masks and settings are chosen anew when the rows that are kept are so many times those that they
were chosen on. With masks of the first 2,000 rows for good, 50 pieces of covtype have 76.9 %,
where a fit of all 100,000 rows has 82.6."""
