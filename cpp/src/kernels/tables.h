// Tables: rows of scores, found by the bin of a phase and added up.
//
// NumPy: sum over k of tables[k, np.clip(np.floor(u[:, k]), 0, n_bins - 1).astype(int)], with bin 0
// for NaN (a phase that overflowed both ways). The bin of a stored phase is exact; a score of K
// tables is off by at most u (K - 1) sum |entry|.
//
// A *place* is where the row of a bin starts in its table: bin * row_size. Places of kTableBlock
// tables are used for all samples of the panel before those of the next ones: so many tables of 64
// bins of 8 floats fill a first-level cache.
#pragma once

#include "kernels/lookup.h"
#include "kernels/relu.h"
#include "kernels/vector.h"

namespace cerf::CERF_LEVEL {

constexpr int kTableBlock = 16;

// Places of one vector of phases; a phase that is NaN compares as false and gets bin 0.
template <class T, int B>
CERF_INLINE void store_places(const TableLayout<T>& map, Vec<T, B> phases, int32_t* places) {
  using Places = typename VectorOf<int32_t, kLanes<T, B> * 4>::unaligned;
  const Vec<T, B> last = broadcast<T, B>(static_cast<T>(map.n_bins - 1));
  const Vec<T, B> t = positive_part<T, B>(phases);
  const Vec<T, B> bins = t < last ? t : last;
  *reinterpret_cast<Places*>(places) = __builtin_convertvector(bins, Places) * map.row_size;
}

// Row r of the sink as places: int32, from where the row of features would start.
template <class T>
CERF_INLINE int32_t* places_of_row(const Sink<T>& sink, int32_t r) {
  return reinterpret_cast<int32_t*>(sink.rows + static_cast<int64_t>(r) * sink.width);
}

template <class T>
CERF_INLINE int64_t table_size(const TableLayout<T>& map) {
  return static_cast<int64_t>(map.n_bins) * map.row_size;
}

// One score: sums[s] += table[places[s]] for a block of tables; a whole panel row of samples. The
// numbers of a table are in R registers.
template <class T, int R>
CERF_INLINE void add_numbers(const TableLayout<T>& map, const T* tables, const int32_t* places,
                             int64_t stride, int32_t n_tables, T* sums) {
  constexpr int w = kLanes<T>, V = kVectorBytes == 64 ? 4 : 2;
  for (int32_t s = 0; s < kPanelWidth<T>; s += V * w) {
    Vec<T> sum[V];
    CERF_UNROLL for (int v = 0; v < V; v++)
      sum[v] = load<T>(sums + s + v * w);
    for (int32_t k = 0; k < n_tables; k++) {
      const Numbers<T, R> numbers(tables + k * table_size(map), map.n_bins);
      CERF_UNROLL for (int v = 0; v < V; v++)
        sum[v] += numbers.at(places + k * stride + s + v * w);
    }
    CERF_UNROLL for (int v = 0; v < V; v++)
      store<T>(sums + s + v * w, sum[v]);
  }
}

template <class T>
void add_single_rows(const TableLayout<T>& map, const T* tables, const int32_t* places,
                     int64_t stride, int32_t n_tables, T* sums) {
  with_registers<T>(
      map.n_bins, [&]<int R>() { add_numbers<T, R>(map, tables, places, stride, n_tables, sums); });
}

// Several scores: V vectors of scores of R samples stay in registers while the rows of a block of
// tables are added; R * V = 8 chains of additions hide their latency.
template <class T, int V, int B>
CERF_INLINE void add_columns(const TableLayout<T>& map, const T* tables, const int32_t* places,
                             int64_t stride, int32_t n_tables, T* sums) {
  constexpr int w = kLanes<T, B>, R = 8 / V;
  for (int32_t s = 0; s < kPanelWidth<T>; s += R) {
    Vec<T, B> sum[R][V];
    T* const rows = sums + static_cast<int64_t>(s) * map.row_size;
    CERF_UNROLL for (int r = 0; r < R; r++) {
      CERF_UNROLL for (int v = 0; v < V; v++)
        sum[r][v] = load<T, B>(rows + static_cast<int64_t>(r) * map.row_size + v * w);
    }
    for (int32_t k = 0; k < n_tables; k++) {
      const T* table = tables + k * table_size(map);
      CERF_UNROLL for (int r = 0; r < R; r++) {
        const T* row = table + places[k * stride + s + r];
        CERF_UNROLL for (int v = 0; v < V; v++)
          sum[r][v] += load<T, B>(row + v * w);
      }
    }
    CERF_UNROLL for (int r = 0; r < R; r++) {
      CERF_UNROLL for (int v = 0; v < V; v++)
        store<T, B>(rows + static_cast<int64_t>(r) * map.row_size + v * w, sum[r][v]);
    }
  }
}

// All columns, in parts that fit the registers. `Part` adds V vectors from a column on.
template <class T, int B, class Part>
CERF_INLINE void for_each_part(int32_t row_size, const Part& part) {
  constexpr int w = kLanes<T, B>;
  for (int32_t at = 0; at < row_size;) {
    const int32_t left = (row_size - at) / w;
    if (left >= 8) {
      part.template add<8, B>(at);
      at += 8 * w;
    } else if (left >= 4) {
      part.template add<4, B>(at);
      at += 4 * w;
    } else if (left >= 2) {
      part.template add<2, B>(at);
      at += 2 * w;
    } else {
      part.template add<1, B>(at);
      at += w;
    }
  }
}

// Rows are multiples of the vector that is taken: the widest that divides them.
template <class T, class Part>
CERF_INLINE void for_all_columns(int32_t row_size, const Part& part) {
  if (row_size % kLanes<T> == 0) {
    for_each_part<T, kVectorBytes>(row_size, part);
  } else if (row_size % kLanes<T, kNarrowBytes> == 0) {
    for_each_part<T, kNarrowBytes>(row_size, part);
  } else {
    for_each_part<T, 16>(row_size, part);
  }
}

template <class T>
struct PanelPart {
  const TableLayout<T>& map;
  const T* tables;
  const int32_t* places;
  int64_t stride;
  int32_t n_tables;
  T* sums;
  template <int V, int B>
  void add(int32_t column) const {
    add_columns<T, V, B>(map, tables + column, places, stride, n_tables, sums + column);
  }
};

// Adds the rows that the first `n_rows` rows of places name.
template <class T>
void add_table_rows(const Sink<T>& sink, int32_t n_rows) {
  const TableLayout<T>& map = *sink.tables;
  const int64_t stride = sink.width * static_cast<int64_t>(sizeof(T) / sizeof(int32_t));
  for (int32_t r = 0; r < n_rows; r += kTableBlock) {
    const int32_t n_tables = n_rows - r < kTableBlock ? n_rows - r : kTableBlock;
    const T* tables = map.tables + (sink.next_output + r) * table_size(map);
    const int32_t* places = places_of_row(sink, r);
    if (map.row_size == 1) {
      add_single_rows(map, tables, places, stride, n_tables, sink.sums);
    } else {
      for_all_columns<T>(map.row_size,
                         PanelPart<T>{map, tables, places, stride, n_tables, sink.sums});
    }
  }
}

// One row. R tables in flight hide the latency of the additions.
template <class T>
struct RowPart {
  const TableLayout<T>& map;
  const int32_t* places;
  T* sums;
  template <int V, int B>
  void add(int32_t column) const {
    constexpr int w = kLanes<T, B>, R = 8 / V;
    Vec<T, B> sum[R][V] = {};
    const T* table = map.tables + column;
    int32_t k = 0;
    for (; k + R <= map.n_tables; k += R) {
      CERF_UNROLL for (int r = 0; r < R; r++, table += table_size(map)) {
        CERF_UNROLL for (int v = 0; v < V; v++)
          sum[r][v] += load<T, B>(table + places[k + r] + v * w);
      }
    }
    for (; k < map.n_tables; k++, table += table_size(map)) {
      CERF_UNROLL for (int v = 0; v < V; v++)
        sum[0][v] += load<T, B>(table + places[k] + v * w);
    }
    CERF_UNROLL for (int v = 0; v < V; v++) {
      CERF_UNROLL for (int r = 1; r < R; r++)
        sum[0][v] += sum[r][v];
      store<T, B>(sums + column + v * w, sum[0][v]);
    }
  }
};

template <class T>
CERF_SCALAR T single_row_sum(const TableLayout<T>& map, const int32_t* places) {
  const int64_t size = table_size(map);
  const T* table = map.tables;
  T a = 0, b = 0, c = 0, d = 0;
  int32_t k = 0;
  for (; k + 4 <= map.n_tables; k += 4, table += 4 * size) {
    a += table[places[k]];
    b += table[size + places[k + 1]];
    c += table[2 * size + places[k + 2]];
    d += table[3 * size + places[k + 3]];
  }
  for (; k < map.n_tables; k++, table += size) a += table[places[k]];
  return (a + b) + (c + d);
}

template <class T>
void table_row(const TableLayout<T>& map, const T* phases, int32_t* places, T* sums) {
  for (int32_t k = 0; k < map.n_tables; k += kLanes<T>) {
    const Vec<T> u = load_any<T>(phases + k) + load_any<T>(map.offsets + k);
    store_places<T, kVectorBytes>(map, u, places + k);
  }
  if (map.row_size == 1) {
    sums[0] = single_row_sum(map, places);
  } else {
    for_all_columns<T>(map.row_size, RowPart<T>{map, places, sums});
  }
}

}  // namespace cerf::CERF_LEVEL
