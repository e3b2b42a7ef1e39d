"""Typed stub of the compiled extension (cpp/bindings.cpp).

Frequencies, offsets and centres come in radians and are turned into turns (divided by 2 pi)
while packing. ``dtype`` is ``"float32"`` or ``"float64"``: the type the model reads, computes
in and writes. ``level`` is one of :func:`levels`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import Float64Array, FloatArray

class Model:
    """Packed weights of one feature map, for one dtype and one instruction-set level.

    Calls release the GIL, may run side by side and give the same bits for any ``n_threads``.
    """

    @property
    def n_features(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def one_row_below(self) -> int:
        """Calls with fewer rows take the one-row form; its last bits differ from the batch form."""

    @property
    def n_bytes(self) -> int:
        """Bytes of packed weights held at the moment (the one-row layout is built on first use)."""

    def transform(self, X: FloatArray, out: FloatArray, n_threads: int, /) -> bool:
        """``out[:] = features of X``; X of any strides, out C-contiguous, of the model's dtype.

        Returns False, with ``out`` undefined, if X holds NaN or infinity; raises ValueError if
        ``out`` may share memory with X.
        """

    def scores(
        self,
        X: FloatArray,
        coef: FloatArray,
        intercept: FloatArray,
        out: FloatArray,
        n_threads: int,
        linear: LinearPart | None = None,
        /,
    ) -> bool:
        """``out[:] = features(X) @ coef.T + intercept`` without materialising the features.

        coef (n_scores, n_outputs) C-contiguous, intercept (n_scores,), out (n_samples, n_scores);
        at most 2^24 scores. ``out`` must not share memory with any of the others. ``linear``, of
        the model's dtype, inputs and as many scores, adds ``X @ linear``.
        """

class LinearPart:
    """A sparse matrix (n_features, n_scores) that scores add as ``X @ linear``, for one dtype."""

    @property
    def n_features(self) -> int: ...
    @property
    def n_scores(self) -> int: ...
    @property
    def dtype(self) -> str: ...

class TableModel:
    """Packed tables and linear part, for one dtype and one instruction-set level.

    Calls release the GIL, may run side by side and give the same bits for any ``n_threads``.
    """

    @property
    def n_features(self) -> int: ...
    @property
    def n_scores(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def one_row_below(self) -> int:
        """Calls with fewer rows take the one-row form; its last bits differ from the batch form."""

    @property
    def n_bytes(self) -> int:
        """Bytes of packed numbers."""

    def scores(self, X: FloatArray, out: FloatArray, n_threads: int, /) -> bool:
        """``out[:] = scores of X``; X of any strides, out (n_samples, n_scores) C-contiguous.

        Returns False, with ``out`` undefined, if X holds NaN or infinity; raises ValueError if
        ``out`` may share memory with X.
        """

def dense_model(
    *,
    frequencies: Float64Array,
    offsets: Float64Array,
    amplitudes: Float64Array,
    n_outputs: int,
    paired: bool,
    dtype: str,
    level: str,
) -> Model:
    """``amplitudes * cos(X @ frequencies + offsets)``; frequencies (n_features, n_projections).

    Paired: column 2 k is the cosine and column 2 k + 1 the sine of projection k; ``n_outputs``
    may be one less than twice the projections, which drops the last sine.
    """

def masked_model(
    *,
    n_features: int,
    mask_pointers: NDArray[np.int64],
    mask_inputs: NDArray[np.int32],
    projection_pointers: NDArray[np.int64],
    values: Float64Array,
    group_size: int,
    offsets: Float64Array,
    amplitudes: Float64Array,
    n_outputs: int,
    paired: bool,
    relu: bool = False,
    dtype: str,
    level: str,
) -> Model:
    """Mask m reads inputs ``mask_inputs[mask_pointers[m]:mask_pointers[m + 1]]`` (ascending).

    It serves projections ``projection_pointers[m]:projection_pointers[m + 1]``. ``values`` is
    flat: mask by mask, a C-ordered block (inputs of the mask, projections of the mask).
    ``group_size`` is a hint: inputs come in aligned groups of that many. ``relu``:
    ``amplitudes * maximum(X @ frequencies + offsets, 0)`` instead of the cosine, never paired.
    """

def fastfood_model(
    *,
    n_features: int,
    signs: Float64Array,
    gaussian_diag: Float64Array,
    permutation: NDArray[np.int32],
    row_scale: Float64Array,
    kept_pointers: NDArray[np.int64],
    kept_rows: NDArray[np.int32],
    centres: Float64Array | None,
    offsets: Float64Array,
    amplitudes: Float64Array,
    n_outputs: int,
    paired: bool,
    dtype: str,
    level: str,
) -> Model:
    """Blocks ``row_scale * H (gaussian_diag * (H (signs * x))[permutation])`` of padded size d.

    signs (1 or n_blocks, d), gaussian_diag and permutation (n_blocks, d). Block j keeps its
    rows ``kept_rows[kept_pointers[j]:kept_pointers[j + 1]]`` as projections, in that order;
    row_scale, offsets and amplitudes have one entry a kept projection. ``centres[j] @ x``
    (n_blocks, n_features) is added to each phase of block j. H is the unnormalised
    Walsh-Hadamard matrix in natural (Sylvester) order: ``scipy.linalg.hadamard(d)``.
    """

def linear_part(
    *,
    n_features: int,
    pointers: NDArray[np.int64],
    inputs: NDArray[np.int32],
    values: Float64Array,
    dtype: str,
) -> LinearPart:
    """Score o adds ``values[i] * x[inputs[i]]`` for i in ``range(pointers[o], pointers[o + 1])``.

    Inputs of a score ascend; it may have none.
    """

def table_model(
    *,
    n_features: int,
    mask_pointers: NDArray[np.int64],
    mask_inputs: NDArray[np.int32],
    values: Float64Array,
    offsets: Float64Array,
    tables: Float64Array,
    linear_pointers: NDArray[np.int64],
    linear_inputs: NDArray[np.int32],
    linear_values: Float64Array,
    intercept: Float64Array,
    dtype: str,
    level: str,
) -> TableModel:
    """``intercept + X @ linear + sum of tables[k, clip(floor(u[k]), 0, n_bins - 1)]``.

    ``u[k]`` is ``offsets[k]`` and the sum of ``values[i] * x[mask_inputs[i]]`` for i in
    ``range(mask_pointers[k], mask_pointers[k + 1])``, in bins; NaN (where infinities of both signs
    meet) is bin 0. tables (n_tables, n_bins, n_scores); the linear part as in :func:`linear_part`.
    """

def finish_phases(
    phases: FloatArray,
    offsets: FloatArray,
    amplitudes: FloatArray,
    out: FloatArray,
    paired: bool,
    level: str,
    relu: bool,
    /,
) -> None:
    """``out[:] = features`` from phases without their offsets, all in turns (for sparse input).

    Relu: ``amplitudes * maximum(phases + offsets, 0)``, so that amplitudes of features in
    radians come multiplied by 2 pi; never paired.
    """

def cosine_turns(phases: FloatArray, level: str, /) -> Any:
    """``cos(2 pi phases)`` of a 1-D array."""

def sine_turns(phases: FloatArray, level: str, /) -> Any:
    """``sin(2 pi phases)`` of a 1-D array."""

def walsh_hadamard(rows: FloatArray, level: str, /) -> None:
    """``rows @ scipy.linalg.hadamard(d)`` in place; rows (n, d) C-contiguous, d a power of two."""

def large_output_float32(n_rows: int, n_columns: int) -> NDArray[np.float32]:
    """Array of any content in aligned memory that is kept for the next one."""

def large_output_float64(n_rows: int, n_columns: int) -> NDArray[np.float64]:
    """Array of any content in aligned memory that is kept for the next one."""

def set_kept_output_limit(n_bytes: int) -> None:
    """Most bytes to keep of large outputs that are gone."""

def kept_output_limit() -> int: ...
def kept_output_bytes() -> int: ...
def fma_peak(dtype: str, level: str, /) -> float:
    """Measured fused multiply-add throughput of one thread, in GFLOP/s (two flops an FMA)."""

def levels() -> list[str]:
    """Instruction-set levels this CPU can run, worst first: of baseline, v3, v4."""

def compiler() -> str:
    """Name and version of the compiler that built the extension."""

def get_num_threads() -> int:
    """Cap on the threads of one call: the default unless it was set."""

def set_num_threads(n_threads: int, /) -> None:
    """Set that cap; 0 or less: the default."""

def set_default_num_threads(n_threads: int, /) -> None:
    """Set the default; 0 or less: the cores of the affinity mask."""

class TrainingNetwork:
    @property
    def n_steps(self) -> int: ...
    def __init__(
        self,
        *,
        kind: str,
        n_features: int,
        n_scores: int,
        n_knots: int,
        pointers: NDArray[np.int64],
        inputs: NDArray[np.int32],
        linear_pointers: NDArray[np.int64],
        linear_inputs: NDArray[np.int32],
        parameters: NDArray[np.float32],
        first: NDArray[np.float32],
        second: NDArray[np.float32],
        means: NDArray[np.float32],
        variances: NDArray[np.float32],
        n_steps: int,
        level: str,
    ) -> None: ...
    def run_steps(
        self,
        *,
        X: NDArray[np.float32],
        targets: NDArray[np.float32],
        weights: NDArray[np.float32],
        loss: str,
        order: NDArray[np.int32],
        rates: NDArray[np.float32],
        moment_rate: float,
        second_decay: float,
        penalties: NDArray[np.float32],
    ) -> float: ...
    def gradient(
        self,
        *,
        X: NDArray[np.float32],
        targets: NDArray[np.float32],
        weights: NDArray[np.float32],
        loss: str,
        order: NDArray[np.int32],
        rates: NDArray[np.float32],
        moment_rate: float,
        second_decay: float,
        penalties: NDArray[np.float32],
        out: NDArray[np.float32],
    ) -> float: ...
    def scores(self, *, X: NDArray[np.float32], out: NDArray[np.float32]) -> None: ...
