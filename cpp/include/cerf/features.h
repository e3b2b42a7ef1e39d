// The interface of the core: a feature map with packed weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cerf/buffer.h"
#include "cerf/kernel_table.h"

namespace cerf {

// What a map is, whatever its structure. Radians; packing turns them into turns.
struct Outputs {
  std::vector<double> offsets, amplitudes;  // one a projection
  int32_t n_outputs;
  bool paired;
  bool rectified = false;  // amplitude * max(phase, 0) instead of the cosine; never paired
  int32_t n_projections() const { return static_cast<int32_t>(offsets.size()); }
};

// NumPy: offsets and frequencies (n_features, n_projections), C order.
struct DenseMap {
  int32_t n_features;
  const double* frequencies;
};

// Mask m reads mask_inputs[mask_pointers[m] ..] and serves projections projection_pointers[m] ..;
// values: per mask a C-ordered block (inputs, projections).
struct MaskedMap {
  int32_t n_features, n_masks, group_size;
  const int64_t* mask_pointers;
  const int32_t* mask_inputs;
  const int64_t* projection_pointers;
  const double* values;
};

struct FastfoodMap {
  int32_t n_features, padded, n_blocks;
  bool shared_signs;
  const double *signs, *gaussian_diag;
  const int32_t* permutation;
  const double *row_scale, *centres;  // row_scale per kept projection; centres may be null
  const int64_t* kept_pointers;
  const int32_t* kept_rows;
};

// The linear part of a map: how phases come from inputs. Immutable after construction, apart
// from the one-row layout, which is built on first use.
template <class T>
class Structure {
 public:
  virtual ~Structure() = default;
  virtual int32_t panel_width() const { return kPanelWidth<T>; }
  virtual int64_t panel_scratch() const { return 0; }  // elements
  virtual int64_t row_scratch() const { return 0; }
  // Rows from which on the batch form is quicker: it always pays for a whole panel.
  virtual int64_t one_row_below() const = 0;
  virtual void run_panel(const T* panel, T* scratch, Sink<T>& sink) const = 0;
  virtual void run_row(const T* x, T* scratch, T* phases) const = 0;
  virtual int64_t n_bytes() const = 0;
};

template <class T>
std::unique_ptr<Structure<T>> pack_dense(const DenseMap&, const Outputs&, const KernelTable<T>&);
template <class T>
std::unique_ptr<Structure<T>> pack_masked(const MaskedMap&, const Outputs&, const KernelTable<T>&);
template <class T>
std::unique_ptr<Structure<T>> pack_fastfood(const FastfoodMap&, const Outputs&,
                                            const KernelTable<T>&);

template <class T>
struct Head {
  const T* coef;       // (n_scores, n_outputs)
  const T* intercept;  // (n_scores,)
  int32_t n_scores;
};

// Thread-safe: calls may run side by side. The result does not depend on `n_threads`: rows form a
// fixed grid of panels and a row's arithmetic does not depend on its place in the panel.
template <class T>
class Model {
 public:
  Model(std::unique_ptr<Structure<T>> structure, const Outputs& outputs, int32_t n_features,
        const KernelTable<T>& kernels);

  // NumPy: out = features of X, C order. False, with `out` undefined, if X is not finite.
  bool transform(const Input<T>& X, T* out, int n_threads) const;
  // NumPy: out = features(X) @ coef.T + intercept.
  bool scores(const Input<T>& X, const Head<T>& head, T* out, int n_threads) const;

  int32_t n_features() const { return n_features_; }
  int32_t n_outputs() const { return n_outputs_; }
  int64_t one_row_below() const { return structure_->one_row_below(); }
  const char* level() const { return kernels_.level; }
  int64_t n_bytes() const;

 private:
  bool run(const Input<T>& X, const Head<T>* head, T* out, int n_threads) const;
  bool run_batch(const Input<T>& X, const Head<T>* head, T* out, int n_threads) const;
  bool run_rows(const Input<T>& X, const Head<T>* head, T* out) const;

  std::unique_ptr<Structure<T>> structure_;
  int32_t n_features_, n_projections_, n_outputs_;
  bool paired_, rectified_;
  Buffer<T> offsets_, amplitudes_;
  const KernelTable<T>& kernels_;
};

// Cap on the threads of one call.
int get_num_threads();
void set_num_threads(int n_threads);

}  // namespace cerf
