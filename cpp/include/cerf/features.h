// The interface of the core: a feature map with packed weights.
#pragma once

#include <cstdint>
#include <memory>

#include "cerf/buffer.h"
#include "cerf/kernel_table.h"
#include "cerf/linear.h"
#include "cerf/maps.h"

namespace cerf {

template <class T>
class Structure;
template <class T>
struct Panel;

template <class T>
struct Head {
  const T* coef;                      // (n_scores, n_outputs)
  const T* intercept;                 // (n_scores,)
  int64_t n_scores;                   // at most kMostScores
  const Linear<T>* linear = nullptr;  // of as many inputs and scores, or none
};

// Thread-safe: calls may run side by side. The result does not depend on `n_threads`: rows form a
// fixed grid of panels and a row's arithmetic does not depend on its place in the panel.
// X has n_features columns; std::invalid_argument if `out` shares memory with what is read.
template <class T>
class Model {
 public:
  Model(std::unique_ptr<Structure<T>> structure, const Outputs& outputs, int32_t n_features,
        const KernelTable<T>& kernels);
  Model(Model&&) noexcept;
  ~Model();

  // NumPy: out = features of X, C order. False, with `out` undefined, if X is not finite.
  bool transform(const Input<T>& X, T* out, int n_threads) const;
  // NumPy: out = features(X) @ coef.T + intercept, and + X @ linear if there is a linear part.
  bool scores(const Input<T>& X, const Head<T>& head, T* out, int n_threads) const;

  int32_t n_features() const { return n_features_; }
  int32_t n_outputs() const { return n_outputs_; }
  int64_t one_row_below() const;
  const char* level() const { return kernels_.level; }
  int64_t n_bytes() const;

 private:
  struct Workspace;
  struct Batch;
  bool run(const Input<T>& X, const Head<T>* head, T* out, int n_threads) const;
  bool run_rows(const Input<T>& X, const Head<T>* head, T* out) const;
  bool run_batch(const Input<T>& X, const Head<T>* head, T* out, int n_threads) const;
  void run_panel(const Batch& batch, const Panel<T>& panel, Workspace& space) const;

  std::unique_ptr<Structure<T>> structure_;
  int32_t n_features_, n_projections_, n_outputs_;
  bool paired_, relu_;
  Buffer<T> offsets_, amplitudes_;
  const KernelTable<T>& kernels_;
};

// Checks a map and packs it. Throws std::invalid_argument if its arrays do not fit each other.
template <class T, class Map>
Model<T> make_model(const Map& map, const Outputs& outputs, const KernelTable<T>& kernels);

}  // namespace cerf
