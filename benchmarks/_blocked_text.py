"""What docs/blocked.md says between its tables."""

HEADING = """
# Blocked CERF: the kernel approximation of section 4.1

Table 2 of the paper: twelve cells in which a map of Fastfood blocks, whose laws are a mixture of
normal laws around centres drawn from P0, imitates the Gram matrix of random Fourier features with
frequencies of another law, beside a map of equal cost with frequencies of P0 itself.
Made by `make bench-blocked` (`benchmarks/blocked.py`) from `benchmarks/results/blocked.json`.
Errors are 1,000 times the mean absolute difference between Gram matrices of 1,000 held-out rows,
where k(x, x) is about 1; five folds, ± is a standard error. The paper's figures are normalised in a
way it does not state: only their order within a cell can be compared.
"""

CONCLUSION = """
- **Equal weights, as in the paper: CERF is below blocked RFF in {equal} of {cells} cells** against
  the teacher and in {equal_exact} against the exact kernel (the paper: 10 of 12).
- **NNLS weights.** With them CERF is below equal-weight RFF in {nnls_equal} of {cells} cells, and
  **below NNLS-weighted blocked RFF in {nnls}** against the teacher and {nnls_exact} against the
  exact kernel. On ten further seeds, beside the tables, it is 8 and 8, six of them by more than
  twice the standard error; lost for good is Gauss 5e-5 on the pixels at K'/K = .2 (+3.9 ± 1.0).
- **What the paper leaves open carries the latter figure**: the scale of P2 and the unit of the
  parameters. They are not chosen by who wins: on satimage, at {unit:g} over the median distance and
  P2 = {p2_scale:g}, errors come nearest to the printed ones. Cells won elsewhere, with equal and
  with NNLS weights on both sides and CERF's spreads chosen there: at other scales of P2 {scales};
  in other units {units}; with the parameters as printed {printed}. At P2 = 1 the target is as wide
  as P0, and CERF has nothing to gain by its width.
- **Stronger rivals.** Blocked RFF whose width is chosen on satimage, too, is above CERF in only
  {rescaled} of {cells} cells with equal weights and {rescaled_nnls} with NNLS weights: CERF's
  advantage over P0 is its width. CERF is below both dense RFF of equal MACs and blocked RFF in
  {both}, with NNLS weights in {both_nnls}. Dense RFF as drawn, beside the tables, is better than
  what CVEM keeps of it for Gauss (109 to 251); CERF is below that in the six Gauss cells.
- **Choice by CVEM brings nothing here with equal weights**: CERF's blocks as drawn have lower
  errors in 10 of 12 cells (`untrained` in [reproduction.md](reproduction.md)). Their law does, and
  the weights.
- **One factor c** for all outputs does much of what NNLS weights do: with it CERF is below blocked
  RFF in {scaled} of {cells} cells. Much of what equal weights measure is the size of the Gram
  matrix.
- **On satimage**, single outputs cost 2.2 to 5 times the MACs of whole blocks, as most blocks are
  touched; signs shared by all blocks (Prop. 5 as printed) save a third at a similar error.
"""

BACKGROUND = """
## What is compared

- **Data.** digits-raw and digits-hog (rows divided by their sum, square-rooted, of unit length),
  16 principal components of the training folds. 1,000 training rows to learn from, 1,000 rows of
  the test fold to judge by. All features are single cosines with an offset, as in the paper.
- **Teacher.** 320 dense cosines of the product law P1 x P2, new in each fold. "Exact" is the closed
  form of the kernel that it approximates itself.
- **CERF.** 320 candidates in 20 Fastfood blocks; the frequencies of a block are normal with
  standard deviation `spread` (in units of P0's scale), times a factor drawn for each block with
  `scale_spread`, around a centre drawn from P0. CVEM keeps whole blocks. Offsets of a block are
  equally spaced, those of blocked RFF as well.
- **Blocked RFF.** The same without centres: blocks of P0 itself. Fastfood gives all directions one
  law, which independent Cauchy entries do not have; for Cauchy cells P0 is the multivariate Cauchy
  law of the same scale, whose entries are Cauchy, too.
- **Dense RFF.** Independent entries of P0, also for Cauchy, at 16 MACs each: as many as CERF's MACs
  pay for. It is the rival that a user would take at 16 inputs.
- **Blocked RFF, width chosen.** P0's frequencies times a factor chosen on satimage. The paper does
  not allow its rival this; but the `spread` of CERF is the same freedom, and is not P0's either.
- **Choice.** All sides keep their columns by CVEM from 320 candidates, each with the normalisation
  and, for CERF, the laws that are best for it on satimage, for Gauss and Cauchy and for equal and
  NNLS weights apart. NNLS weights come with their own last step: blocks that CVEM kept, of CERF and
  of RFF, are exchanged for others while the error on the training rows falls.
- **One factor c.** The paper's Eq. 7 has a scale c that equal weights leave out: all outputs are
  multiplied by the one number that brings the Gram matrix of the training rows nearest to the
  teacher's. It costs nothing.
- **Cost.** A Fastfood block costs 176 MACs, 16 more with a centre; what CERF's centres cost does
  not pay for a further block of the rival.

## What a parameter means

As printed, the parameters fit neither the pixels (0 to 255) nor the histograms: read as scales of
the frequencies they give nearly constant Gram matrices, in which random offsets are all the error
there is; read as coefficients of the squared distance, Gram matrices near the identity on the
pixels and constant ones on the histograms. Nor does the paper name the scale of P2. But it prints
errors, for two laws, a parameter and its double, two fractions and two sides, which all depend on
both: where the parameter is doubled all eight errors on digits-raw rise, by 1.6 (CERF) and 2.1
(RFF) in the mean. So the smallest parameter of a law on each dataset stands for a unit over the
median distance between training rows, 5e-5 for twice as much as 2.5e-5, and the unit and the scale
of P2 are those at which errors on satimage are nearest to the printed ones, up to one factor for
all of them (the distances are below).

## Twelve cells

The lowest of CERF, blocked RFF and dense RFF is bold.
"""

SEARCH = """
## Settings tried on satimage

Eight cells: Gauss and Cauchy, a parameter and its double, K'/K = .4 and .2; 1,000 rows to train,
500 to test; errors against the teacher.

1. Unit and scale of P2: two seeds, equal weights, blocks with independent offsets as in the paper,
   spreads 1 to 4 and three normalisations, of which each side has its best. The distance is the
   root mean square, over 16 errors, of the difference of logarithms to those printed for
   digits-raw, less its mean. Chosen: the least. With equally spaced offsets and three seeds it
   would be unit 0.5 by a hair (.369, and .380 at 0.25), with P2 = 2 as well; CERF wins 5 cells with
   NNLS weights there.
2. Laws, normalisation, width: with CVEM in that reading, three seeds; geometric mean errors over
   the cells. Bold: chosen, for each side the least error.
3. Whole blocks or single outputs, own or shared signs: judged at the chosen settings, not chosen
   from, as the protocol says which.
4. In other readings only CERF's spreads are chosen anew, from 0.5 to 6.

**What was known before.** This is not the first run on the digits. An earlier one took one over the
median distance for the unit and P2 = 3, at which laws as drawn won most cells on satimage: CERF won
12 cells with equal and 8 with NNLS weights, but only 6 of those on ten further seeds. Gram matrices
are near the identity there, and errors fall in all eight pairs in which the paper's rise, which is
why the reading was given up. A first run in the present one, with independent offsets, without the
exchange of blocks and with settings from two seeds, won 7 and 7 cells: settings that two seeds of
satimage had chosen did not carry over. Equally spaced offsets, the exchange and a third seed came
then, and were looked at on satimage and on the digits that come with scikit-learn. `scale_spread`
of 1 was tried, too, and changed the least error on satimage by a percent at most. So were, in the
earlier reading, orthogonal centres, an L1 penalty on the weights, and for Cauchy cells a rival with
Cauchy values on the diagonal G of its blocks, which was worse than the multivariate law.
"""
