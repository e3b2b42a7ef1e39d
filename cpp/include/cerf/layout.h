// Packed layouts of feature maps: plain data, no STL, shared by every instruction-set level.
//
// A *panel* holds the inputs that a map reads, of a few samples, transposed: one row has one input
// of `width` samples.
// Phases are in turns (radians / 2 pi); a map is amplitude * cos(2 pi phase), or the cosine and
// the sine of one phase when it is paired, or 2 pi amplitude * max(phase, 0) when it is relu.
#pragma once

#include <cstdint>

namespace cerf {

// One panel row is four cache lines: 64 float or 32 double samples. Four 64-byte or eight
// 32-byte accumulators hold it, which covers the latency of the fused multiply-add.
constexpr int kPanelRowBytes = 256;
template <class T>
constexpr int kPanelWidth = kPanelRowBytes / static_cast<int>(sizeof(T));

// Most projections that one step of the shared kernel computes together: 6 x 4 accumulators fit
// the 32 registers of AVX-512 and 6 x 2 the 16 of AVX2.
constexpr int kStepProjections = 6;

// A row of the panel is prefetched this many rows ahead; row lists are padded by as much.
constexpr int kPrefetchRows = 6;

template <class T>
struct Input {
  const T* data;
  int64_t n_rows, n_columns;
  int64_t row_stride, column_stride;  // in elements
};

// Inputs [begin, end) of which some are read by a map, or none.
struct InputRun {
  int64_t begin, end;
  bool read;
};

// Which inputs a panel holds, and where. `rows` has the panel row of each input, and `n_rows` for
// inputs that the map does not read: the panel has one more row, whose content is never used. Runs
// cover all inputs in order; those of which none is read are only checked to be finite.
struct PanelInputs {
  int32_t n_rows;
  const int32_t* rows;  // (n_features,); null: all inputs in order
  const InputRun* runs;
  int64_t n_runs;
};

// Projections [first, first + count) read the same `n_rows` inputs. Their weights lie row by row:
// weights[weight_begin + i * count + f].
struct Step {
  int64_t row_begin, weight_begin;
  int32_t n_rows, first, count;
};

// Dense maps and masks shared by several projections.
template <class T>
struct SharedLayout {
  int64_t n_steps;
  const Step* steps;
  const uint32_t* rows;  // byte offset of each panel row; null: every step reads all of them
  const T* weights;
  const T* offsets;  // (n_projections,)
};

// Independent masks. The ascending inputs of each projection are cut into `n_chunks` parts of
// equal size, so that trip counts are constant (no branch misses) while a chunk of all
// projections together touches a window of the panel that fits the first-level cache.
// Chunk c of projection k is [pointers[c * (n_projections + 1) + k], the next one).
template <class T>
struct ChunkedLayout {
  int32_t n_chunks, n_projections;
  const int64_t* pointers;
  const uint16_t* rows;  // panel row of each input: short, since all of it is read for each panel
  const T* weights;
  const T* offsets;
};
constexpr int32_t kChunkedInputs = 1 << 16;

// Fastfood blocks: row_scale * H(gaussian_diag * permute(H(signs * x))) + centre.x + offset.
template <class T>
struct FastfoodLayout {
  int32_t n_inputs, padded, n_blocks;
  bool shared_signs;
  const T* signs;                // (1 or n_blocks, padded)
  const T* gaussian_diag;        // (n_blocks, padded)
  const int32_t* permutation;    // (n_blocks, padded)
  const T* centres;              // (n_blocks, n_inputs) or null
  const int64_t* kept_pointers;  // (n_blocks + 1,)
  const int32_t* kept_rows;      // (n_projections,)
  const T* row_scale;            // (n_projections,)
  const T* offsets;              // (n_projections,)
};

// One-row form of shared masks: unit u has `width` (padded) projections from `first` on,
// weights[weight_begin + i * width + f].
struct RowUnit {
  int64_t row_begin, weight_begin;
  int32_t n_rows, first, width;
};
template <class T>
struct RowSharedLayout {
  int64_t n_units;
  const RowUnit* units;
  const uint32_t* inputs;  // null: all inputs in order
  const T* weights;
};

// One-row form of independent masks: projection k reads groups of `group` consecutive inputs
// that start at inputs[pointers[k]], ...; group = 1 is plain compressed rows.
template <class T>
struct RowGroupedLayout {
  int32_t n_projections, group;
  const int64_t* pointers;
  const uint32_t* inputs;
  const T* weights;  // group * entry
};

// Sparse linear part: score o has the terms values[i] * x[inputs[i]] for i from pointers[o] to
// pointers[o + 1].
template <class T>
struct LinearLayout {
  int32_t n_scores;
  const int64_t* pointers;
  const int32_t* inputs;
  const T* values;
};

// Tables of scores by bin. A row has the scores of one bin, zeros behind them: row_size is 1 for
// one score, else a multiple of 16 bytes and, from one narrow vector on, of a narrow vector.
// n_bins * row_size is below 2^31, so that an int32 addresses every element of a table.
template <class T>
struct TableLayout {
  int32_t n_tables, n_bins, row_size;
  const T* offsets;  // (n_tables,), in bins, and kTablePadding zeros
  const T* tables;   // (n_tables, n_bins, row_size), 64-byte aligned
};
constexpr int kTablePadding = 64;

// Where finished features go. Kernels write rows of `width` samples into `rows`; a full buffer is
// either transposed into `out` or multiplied into `scores` (the features are then never stored).
// With tables, `rows` holds places in them, int32, and the rows found there are added to `sums`.
template <class T>
struct Sink {
  T* rows;  // (capacity, width), 64-byte aligned
  int32_t width, capacity, filled;
  int32_t n_samples, n_outputs, next_output;
  bool paired, relu;    // never both
  const T* amplitudes;  // (n_projections,); times 2 pi if relu
  T* out;               // (n_samples, .) or null
  int64_t out_stride;
  bool past_caches;  // lines of the output are aligned, and too many for the caches
  const T* coef;     // (n_scores, n_outputs) or null
  int32_t n_scores;
  T* scores;                     // (n_scores, width)
  const TableLayout<T>* tables;  // or null
  T* sums;                       // (width, tables->row_size)
  // The next panel's rows of X are brought closer while this panel is computed.
  const char* next_input;
  int64_t prefetch_bytes;  // a projection
  int64_t prefetch_due;    // bytes
};

}  // namespace cerf
