"""What docs/blocked.md and docs/blocked_tables.md say between their tables."""

HEADING = """
# Blocked CERF: the kernel approximation of section 4.1

Table 2 of the paper. A teacher is a map of random Fourier features; its frequencies follow a
product of two laws, P1 x P2. A map of Fastfood blocks has to approximate the teacher's Gram
matrix. CERF draws the frequencies of each block around a centre from a law P0; blocked RFF of
about equal cost draws them from P0 itself. There are twelve cells: two datasets, two laws P1, one
or two parameters, and two fractions K'/K of outputs kept.

Errors are 1,000 times the mean absolute difference between Gram matrices of 1,000 held-out rows,
where k(x, x) is about 1; five folds, ± is a standard error. The paper does not state how its
errors are normalised: only their order within a cell can be compared. Made by `make bench-blocked`
from `benchmarks/results/blocked.json`; all tables, more methods and the search for settings are in
[blocked_tables.md](blocked_tables.md).
"""

ANSWERS = """
- **Table 2 depends on how its parameters are read**, which the paper leaves open: the unit of the
  parameters and the scale of P2. We chose them on satimage, among 25 readings: at {unit:g} over
  the median distance and P2 = {p2_scale:g} errors are nearest to the printed ones. **That distance
  contains the gap between CERF and RFF itself**, so the rule prefers readings in which CERF is
  below RFF: in the search CERF was below in {searched} of 8 satimage cells there. With the gap
  left out, the mean of each method subtracted, the nearest reading is unit {gapless_unit:g} and P2
  = {gapless_p2:g}, and **there CERF has no advantage on satimage**: in the search, with spreads
  from 1 to 4 and independent offsets, it was below blocked RFF in {searched_gapless} of 8 cells;
  measured again with spreads from 0.5 and equally spaced offsets, in {satimage_equal} of
  {satimage_cells} with equal and in {satimage_nnls} with NNLS weights. In the twelve cells of the
  table CERF is below blocked RFF in that reading in {gapless_equal} with equal and in
  {gapless_nnls} with NNLS weights.
- **In the chosen reading, equal weights as in the paper: CERF is below blocked RFF in {equal} of
  {cells} cells** against the teacher and in {equal_exact} against the exact kernel (the paper: 10
  of 12).
- **NNLS weights: the verdict depends on the reading.** In the chosen one CERF with them is below
  blocked RFF with equal weights in {nnls_equal} of {cells} cells, and below blocked RFF with NNLS
  weights in {nnls} against the teacher and {nnls_exact} against the exact kernel. On ten further
  seeds, whose results are not kept, it was 8 and 8.
- **Elsewhere**, cells of 12 in which CERF is below blocked RFF, its spreads chosen there:

  | reading | equal weights | NNLS weights |
  |---|---|---|
{readings}

- **In the paper's setting** (`BlockedCERF.paper_setting`: masks of density .4 inside blocks, one B
  and one Q, independent offsets, CVEM with ADMM, equal weights; three folds;
  [table](blocked_tables.md#in-the-papers-setting)) CERF is below the table's blocked RFF in
  {paper} of {cells} cells ({paper_scaled} after one factor c), below blocked RFF in the same
  setting in {paper_own} ({paper_own_scaled} after one factor c), and below the table's CERF in
  {paper_cerf} cells. Masks save no MACs here: blocks with masks of their own cannot share H B x,
  so that blocked RFF in that setting has {paper_rff_macs:,} MACs where CERF has {paper_macs:,}. As
  printed (`literal=True`, one fold: S shared too, nothing standardised) CERF is below blocked RFF
  in {literal} cells and below the corrected setting in {literal_paper}.
- **Stronger rivals.** CERF's advantage over P0 is its width: if the width of blocked RFF is chosen
  on satimage too, CERF is below it in {rescaled} of {cells} cells with equal weights and in
  {rescaled_nnls} with NNLS weights. CERF is below both blocked RFF and dense RFF of equal MACs in
  {both} cells, with NNLS weights in {both_nnls}. CVEM raises the
  error of dense RFF for Gauss: as drawn it was lower, but above CERF's, in the six Gauss cells
  (measured once, not kept).
- **Selection by CVEM does not help here with equal weights**: CERF's blocks as drawn have lower
  errors in 10 of 12 cells (`untrained` among the
  [further methods](blocked_tables.md#methods-that-the-paper-leaves-out)). The law of the blocks and
  the weights do help.
- **One factor c** for all outputs does much of what NNLS weights do: with it CERF is below blocked
  RFF in {scaled} of {cells} cells. So much of the error with equal weights is an error of scale.
- **On satimage**, selecting single outputs costs 2.2 to 5 times the MACs of whole blocks, as an
  output needs its whole block; signs shared by all blocks save a third of the MACs at a similar
  error. Prop. 5 prints B, Q and S without an index, so that all blocks share them: B and Q can be
  shared at no loss, S cannot ([what blocks share](blocked_tables.md#what-blocks-share)).
"""

BACKGROUND = """
## What is compared

- **Data.** digits-raw and digits-hog (rows divided by their sum, square-rooted, of unit length),
  16 principal components of the training folds; 1,000 training rows and 1,000 rows of the test
  fold. All features are single cosines with an offset, as in the paper.
- **Teacher.** 320 dense cosines of the product law P1 x P2, new in each fold. "Exact" is the
  closed form of the kernel that the teacher approximates.
- **CERF.** 320 candidates in 20 Fastfood blocks. The frequencies of a block are normal around a
  centre drawn from P0; their standard deviation is `spread` (in units of P0's scale) times a
  factor drawn for each block with `scale_spread`. CVEM keeps whole blocks. Offsets of a block are
  equally spaced, also those of blocked RFF.
- **Blocked RFF.** The same without centres: blocks of P0 itself. Fastfood gives all directions one
  law, which independent Cauchy entries do not have; for Cauchy cells P0 is the multivariate Cauchy
  law of the same scale, whose entries are Cauchy too.
- **Dense RFF.** Independent entries of P0, also for Cauchy, at 16 MACs each, with as many outputs
  as CERF's MACs allow: the usual choice for 16 inputs.
- **Blocked RFF, width chosen.** P0's frequencies times a factor chosen on satimage. The paper does
  not tune its rival so, but the `spread` of CERF is the same freedom.
- **Selection.** All methods keep their columns by CVEM from 320 candidates, each with the
  normalisation and, for CERF, the laws that are best for it on satimage, for each law P1 and each
  kind of weights. With NNLS weights, blocks that CVEM kept, of CERF and of RFF, are exchanged for
  others as long as the error on the training rows falls.
- **One factor c.** The paper's Eq. 7 has a scale c that equal weights leave out. All outputs are
  multiplied by the number that brings the Gram matrix of the training rows nearest to the
  teacher's. It costs no MACs.
- **Cost.** A Fastfood block costs 176 MACs, and 16 more with a centre. What CERF's centres cost
  together is less than one more block.

## What a parameter means

As printed, the parameters fit neither the pixels (0 to 255) nor the histograms. Read as scales of
the frequencies they give nearly constant Gram matrices, whose error comes from random offsets
alone. Read as coefficients of the squared distance they give Gram matrices near the identity on
the pixels and constant ones on the histograms. The paper does not name the scale of P2 either.
Both can be inferred from the printed errors: where the parameter is doubled, all eight errors on
digits-raw rise, by 1.6 (CERF) and 2.1 (RFF) on average. So the smallest parameter of a law on each
dataset stands for a unit over the median distance between training rows, and 5e-5 for twice as
much as 2.5e-5. Unit and scale of P2 are those at which errors on satimage are nearest to the
printed ones, up to one common factor
([distances](blocked_tables.md#distance-to-the-papers-table)).
"""

TABLES_HEADING = """
# Blocked CERF: all tables of section 4.1

[blocked.md](blocked.md) has the answers and says what is compared. Errors are 1,000 times the mean
absolute difference between Gram matrices of 1,000 held-out rows; five folds, ± is a standard
error.
"""

PAPER_SETTING = """
## In the paper's setting

`BlockedCERF.paper_setting` in the chosen reading, with CERF's spread of the law (the paper gives
none) and 320 candidates, three folds: blocks around centres with one B and one Q, a mask of a
Beta-Bernoulli process of density .4 in each block, independent offsets, CVEM with ADMM on
standardised embeddings. *Blocked RFF, paper's setting* has blocks of P0 without centres and masks.
*As printed* is `literal=True`, one fold: one S too, nothing standardised, the E-step with the
rotation that ADMM leaves. Equal weights, against the teacher's Gram matrix; the other columns are
those of the twelve cells on the same folds."""

FURTHER = """
## Methods that the paper leaves out

The same cells, K = 320 candidates and five folds; errors are means.
"""

GAPLESS = """
The reading that is nearest to the printed errors if the gap between CERF and RFF is left out.
First satimage, on which spreads and, with equal weights, normalisations were chosen (three seeds),
then the twelve cells."""

SHARES = """
## What blocks share

Mean absolute difference between the Gram matrix of Fastfood features (512 pairs) and the Gaussian
kernel, 500 rows, width by the median heuristic, 20 seeds. One S cannot have the norm of each G:
`share=("scales",)` gives it the expected one. If it keeps that of the first block's G, as Def. 4
has it for one block, all frequencies are off by one random factor, and the error is highest."""

CELLS_TITLE = """
## Twelve cells

The lowest of CERF, blocked RFF and dense RFF is bold.
"""

SEARCH = """
## Settings tried on satimage

Eight cells: Gauss and Cauchy, a parameter and its double, K'/K = .4 and .2; 1,000 training and 500
test rows; errors against the teacher.

1. Unit and scale of P2: two seeds, equal weights, blocks with independent offsets as in the paper,
   spreads 1 to 4 and three normalisations, the best for each method. The distance is the root mean
   square, over 16 errors, of the difference of logarithms to those printed for digits-raw, less
   its mean. The least is chosen. Without the gap: less the mean of each method. With equally
   spaced offsets and three seeds, unit 0.5 would be slightly nearer (.369, and .380 at 0.25), also
   with P2 = 2; there CERF is below blocked RFF in 5 cells with NNLS weights.
2. Laws, normalisation, width: with CVEM in that reading, three seeds; geometric mean errors over
   the cells. Chosen values are bold: the least error of each method.
3. Whole blocks or single outputs, own or shared signs: measured at the chosen settings. Nothing is
   chosen from these, as the protocol prescribes whole blocks.
4. In other readings only CERF's spreads are chosen again, from 0.5 to 6; in the one that is nearest
   without the gap from 0.5 to 4, and with equal weights the normalisation of both methods too.

**Earlier runs.** This is not the first run on the digits. An earlier one took one over the median
distance for the unit and P2 = 3, at which CERF's blocks as drawn were below blocked RFF in most
cells on satimage. On the digits CERF was below blocked RFF in 12 cells with equal and in 8 with
NNLS weights, but only in 6 of those on ten further seeds. Gram matrices are near the identity
there, and errors fall in all eight pairs in which the paper's rise, so the reading was given up. A
first run in the present reading, with independent offsets, without the exchange of blocks and with
settings chosen from two seeds of satimage, gave 7 and 7 cells: those settings did not carry over.
Equally spaced offsets, the exchange and a third seed were added then, and tested on satimage and
on the digits that come with scikit-learn. `scale_spread` of 1 was tried too and changed the least
error on satimage by at most one per cent. In the earlier reading we also tried orthogonal centres,
an L1 penalty on the weights, and for Cauchy cells a rival with Cauchy values on the diagonal G of
its blocks, which was worse than the multivariate law.
"""
