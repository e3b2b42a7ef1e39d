// Python bindings: dtype, shape, contiguity, release of the GIL. No arithmetic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "cerf/features.h"
#include "cerf/output_memory.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using RowMajor = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

template <class Array>
void require_finite(const Array& values, const char* message) {
  require(std::all_of(values.data(), values.data() + values.size(),
                      [](double x) { return std::isfinite(x); }),
          message);
}

template <class T>
const cerf::KernelTable<T>& table_of(const std::string& level) {
  const cerf::KernelTable<T>* table = cerf::kernel_table<T>(level.c_str());
  if (table == nullptr) throw std::invalid_argument("level '" + level + "' cannot run on this CPU");
  return *table;
}

// One dtype is set, chosen when the model is packed.
class PyModel {
 public:
  explicit PyModel(std::unique_ptr<cerf::Model<float>> model) : float_(std::move(model)) {}
  explicit PyModel(std::unique_ptr<cerf::Model<double>> model) : double_(std::move(model)) {}

  template <class T>
  const cerf::Model<T>& get() const {
    const auto& model = [this]() -> const std::unique_ptr<cerf::Model<T>>& {
      if constexpr (sizeof(T) == 4)
        return float_;
      else
        return double_;
    }();
    require(model != nullptr, "X has another dtype than the model");
    return *model;
  }
  int32_t n_features() const { return float_ ? float_->n_features() : double_->n_features(); }
  int32_t n_outputs() const { return float_ ? float_->n_outputs() : double_->n_outputs(); }
  int64_t one_row_below() const {
    return float_ ? float_->one_row_below() : double_->one_row_below();
  }
  int64_t n_bytes() const { return float_ ? float_->n_bytes() : double_->n_bytes(); }
  const char* level() const { return float_ ? float_->level() : double_->level(); }
  const char* dtype() const { return float_ ? "float32" : "float64"; }

 private:
  std::unique_ptr<cerf::Model<float>> float_;
  std::unique_ptr<cerf::Model<double>> double_;
};

template <class T>
cerf::Input<T> input_of(const Matrix<T>& X, int32_t n_features) {
  require(static_cast<int64_t>(X.shape(1)) == n_features, "X has another width than the model");
  return {X.data(), static_cast<int64_t>(X.shape(0)), static_cast<int64_t>(X.shape(1)), X.stride(0),
          X.stride(1)};
}

// Array of any content, in memory that is kept for the next one when the array is gone.
template <class T>
nb::ndarray<nb::numpy, T> large_output(int64_t n_rows, int64_t n_columns) {
  require(n_rows > 0 && n_columns > 0 && n_rows <= INT64_MAX / 16 / n_columns,
          "an output needs rows and columns, and no more bytes than can be addressed");
  auto* memory = new cerf::OutputMemory(n_rows * n_columns * int64_t(sizeof(T)));
  nb::capsule owner(memory, [](void* p) noexcept { delete static_cast<cerf::OutputMemory*>(p); });
  return nb::ndarray<nb::numpy, T>(memory->data(), {size_t(n_rows), size_t(n_columns)}, owner);
}

template <class T>
bool transform(const PyModel& self, Matrix<T> X, Output<T> out, int n_threads) {
  const cerf::Model<T>& model = self.get<T>();
  const cerf::Input<T> input = input_of(X, model.n_features());
  require(out.shape(0) == X.shape(0) && static_cast<int32_t>(out.shape(1)) == model.n_outputs(),
          "out has another shape than (n_samples, n_outputs)");
  nb::gil_scoped_release released;
  return model.transform(input, out.data(), n_threads);
}

template <class T>
bool scores(const PyModel& self, Matrix<T> X, RowMajor<T> coef, Vector<T> intercept, Output<T> out,
            int n_threads) {
  const cerf::Model<T>& model = self.get<T>();
  const cerf::Input<T> input = input_of(X, model.n_features());
  require(static_cast<int32_t>(coef.shape(1)) == model.n_outputs(),
          "coef has another shape than (n_scores, n_outputs)");
  require(intercept.shape(0) == coef.shape(0), "intercept has another length than coef has rows");
  require(out.shape(0) == X.shape(0) && out.shape(1) == coef.shape(0),
          "out has another shape than (n_samples, n_scores)");
  const cerf::Head<T> head{coef.data(), intercept.data(), static_cast<int32_t>(coef.shape(0))};
  nb::gil_scoped_release released;
  return model.scores(input, head, out.data(), n_threads);
}

void require_single_if(bool rectified, bool paired) {
  require(!(rectified && paired), "rectified features have no sine: paired must be false");
}

cerf::Outputs outputs_of(const Vector<double>& offsets, const Vector<double>& amplitudes,
                         int32_t n_outputs, bool paired, bool rectified = false) {
  const int64_t P = static_cast<int64_t>(offsets.shape(0));
  require(P > 0 && P < (int64_t(1) << 30), "a map needs between one and 2^30 projections");
  require(static_cast<int64_t>(amplitudes.shape(0)) == P,
          "amplitudes and offsets differ in length");
  require(paired ? (n_outputs == 2 * P || n_outputs == 2 * P - 1) : n_outputs == P,
          "n_outputs does not fit the number of projections");
  require_single_if(rectified, paired);
  require_finite(offsets, "offsets must be finite");
  require_finite(amplitudes, "amplitudes must be finite");
  return {{offsets.data(), offsets.data() + P},
          {amplitudes.data(), amplitudes.data() + P},
          n_outputs,
          paired,
          rectified};
}

template <class T, class Map, class Pack>
PyModel build_as(const Map& map, const cerf::Outputs& outputs, const std::string& level,
                 Pack pack) {
  const cerf::KernelTable<T>& kernels = table_of<T>(level);
  return PyModel(std::make_unique<cerf::Model<T>>(pack(map, outputs, kernels), outputs,
                                                  map.n_features, kernels));
}

template <class Map, class PackFloat, class PackDouble>
PyModel build(const Map& map, const cerf::Outputs& outputs, const std::string& dtype,
              const std::string& level, PackFloat pack_float, PackDouble pack_double) {
  if (dtype == "float32") return build_as<float>(map, outputs, level, pack_float);
  require(dtype == "float64", "dtype must be 'float32' or 'float64'");
  return build_as<double>(map, outputs, level, pack_double);
}

// A panel's rows are addressed by 32-bit byte offsets.
int32_t checked_features(int64_t n_features) {
  require(n_features > 0 && n_features < (int64_t(1) << 32) / cerf::kPanelRowBytes,
          "n_features must be between 1 and 2^24");
  return static_cast<int32_t>(n_features);
}

PyModel dense_model(RowMajor<double> frequencies, Vector<double> offsets, Vector<double> amplitudes,
                    int n_outputs, bool paired, const std::string& dtype,
                    const std::string& level) {
  const cerf::Outputs outputs = outputs_of(offsets, amplitudes, n_outputs, paired);
  require(static_cast<int32_t>(frequencies.shape(1)) == outputs.n_projections(),
          "frequencies and offsets differ in the number of projections");
  require_finite(frequencies, "frequencies must be finite");
  const cerf::DenseMap map{checked_features(int64_t(frequencies.shape(0))), frequencies.data()};
  return build(map, outputs, dtype, level, cerf::pack_dense<float>, cerf::pack_dense<double>);
}

PyModel masked_model(int64_t n_features, Vector<int64_t> mask_pointers, Vector<int32_t> mask_inputs,
                     Vector<int64_t> projection_pointers, Vector<double> values, int group_size,
                     Vector<double> offsets, Vector<double> amplitudes, int n_outputs, bool paired,
                     const std::string& dtype, const std::string& level, bool rectified) {
  const cerf::Outputs outputs = outputs_of(offsets, amplitudes, n_outputs, paired, rectified);
  const int64_t n_masks = static_cast<int64_t>(mask_pointers.shape(0)) - 1;
  require(n_masks > 0 && projection_pointers.shape(0) == mask_pointers.shape(0),
          "mask_pointers and projection_pointers must have n_masks + 1 entries");
  const int64_t *begin = mask_pointers.data(), *serve = projection_pointers.data();
  require(begin[0] == 0 && serve[0] == 0 && serve[n_masks] == outputs.n_projections() &&
              begin[n_masks] == static_cast<int64_t>(mask_inputs.shape(0)),
          "pointers must start at 0 and end at the number of entries");
  const int32_t D = checked_features(n_features);
  // All pointers first: the entries they name are read only once they are known to ascend.
  for (int64_t m = 0; m < n_masks; m++) {
    require(begin[m] < begin[m + 1] && serve[m] < serve[m + 1],
            "mask_pointers and projection_pointers must ascend: a mask is empty");
  }
  int64_t n_values = 0;
  for (int64_t m = 0; m < n_masks; m++) {
    n_values += (begin[m + 1] - begin[m]) * (serve[m + 1] - serve[m]);
    for (int64_t i = begin[m]; i < begin[m + 1]; i++) {
      require(mask_inputs.data()[i] >= 0 && mask_inputs.data()[i] < D &&
                  (i == begin[m] || mask_inputs.data()[i - 1] < mask_inputs.data()[i]),
              "the inputs of a mask must be ascending and below n_features");
    }
  }
  require(static_cast<int64_t>(values.shape(0)) == n_values,
          "values must hold inputs x projections entries for each mask");
  require_finite(values, "values must be finite");
  require(
      group_size == 1 || group_size == 2 || group_size == 4 || group_size == 8 || group_size == 16,
      "group_size must be 1, 2, 4, 8 or 16");
  const cerf::MaskedMap map{D,
                            static_cast<int32_t>(n_masks),
                            group_size,
                            begin,
                            mask_inputs.data(),
                            serve,
                            values.data()};
  return build(map, outputs, dtype, level, cerf::pack_masked<float>, cerf::pack_masked<double>);
}

PyModel fastfood_model(int64_t n_features, RowMajor<double> signs, RowMajor<double> gaussian_diag,
                       RowMajor<int32_t> permutation, Vector<double> row_scale,
                       Vector<int64_t> kept_pointers, Vector<int32_t> kept_rows,
                       std::optional<RowMajor<double>> centres, Vector<double> offsets,
                       Vector<double> amplitudes, int n_outputs, bool paired,
                       const std::string& dtype, const std::string& level) {
  const cerf::Outputs outputs = outputs_of(offsets, amplitudes, n_outputs, paired);
  const int32_t D = checked_features(n_features);
  const int64_t J = static_cast<int64_t>(gaussian_diag.shape(0));
  const int64_t d = static_cast<int64_t>(gaussian_diag.shape(1));
  const int64_t P = outputs.n_projections();
  require(d >= 2 && (d & (d - 1)) == 0 && d >= D && d <= (int64_t(1) << 24),
          "the padded size must be a power of two, at least 2 and n_features");
  require(static_cast<int64_t>(signs.shape(1)) == d &&
              (signs.shape(0) == 1 || static_cast<int64_t>(signs.shape(0)) == J),
          "signs must be (1 or n_blocks, padded)");
  require(static_cast<int64_t>(permutation.shape(0)) == J &&
              static_cast<int64_t>(permutation.shape(1)) == d,
          "permutation must be (n_blocks, padded)");
  for (int64_t i = 0; i < J * d; i++) {
    require(permutation.data()[i] >= 0 && permutation.data()[i] < d,
            "permutation entries must be below the padded size");
  }
  require(static_cast<int64_t>(row_scale.shape(0)) == P &&
              static_cast<int64_t>(kept_rows.shape(0)) == P &&
              static_cast<int64_t>(kept_pointers.shape(0)) == J + 1 &&
              kept_pointers.data()[0] == 0 && kept_pointers.data()[J] == P,
          "kept_pointers, kept_rows and row_scale must describe every projection");
  for (int64_t j = 0; j < J; j++) {
    require(kept_pointers.data()[j] <= kept_pointers.data()[j + 1], "kept_pointers must ascend");
  }
  for (int64_t k = 0; k < P; k++) {
    require(kept_rows.data()[k] >= 0 && kept_rows.data()[k] < d,
            "kept_rows must be below the padded size");
  }
  require(!centres || (static_cast<int64_t>(centres->shape(0)) == J &&
                       static_cast<int64_t>(centres->shape(1)) == D),
          "centres must be (n_blocks, n_features)");
  require_finite(signs, "signs must be finite");
  require_finite(gaussian_diag, "gaussian_diag must be finite");
  require_finite(row_scale, "row_scale must be finite");
  if (centres) require_finite(*centres, "centres must be finite");
  const cerf::FastfoodMap map{D,
                              static_cast<int32_t>(d),
                              static_cast<int32_t>(J),
                              signs.shape(0) == 1,
                              signs.data(),
                              gaussian_diag.data(),
                              permutation.data(),
                              row_scale.data(),
                              centres ? centres->data() : nullptr,
                              kept_pointers.data(),
                              kept_rows.data()};
  return build(map, outputs, dtype, level, cerf::pack_fastfood<float>, cerf::pack_fastfood<double>);
}

template <class T>
void finish_phases(Matrix<T> phases, Vector<T> offsets, Vector<T> amplitudes, Output<T> out,
                   bool paired, const std::string& level, bool rectified) {
  const cerf::KernelTable<T>& kernels = table_of<T>(level);
  const int64_t n = int64_t(phases.shape(0)), P = int64_t(phases.shape(1)),
                K = int64_t(out.shape(1));
  require(phases.stride(1) == 1 || P == 1, "phases must have contiguous rows");
  require(int64_t(offsets.shape(0)) == P && int64_t(amplitudes.shape(0)) == P &&
              int64_t(out.shape(0)) == n,
          "phases, offsets, amplitudes and out do not fit each other");
  require(paired ? (K == 2 * P || K == 2 * P - 1) : K == P, "out has the wrong number of columns");
  require_single_if(rectified, paired);
  nb::gil_scoped_release released;
  for (int64_t i = 0; i < n; i++) {
    kernels.finish_row(phases.data() + i * phases.stride(0), offsets.data(), amplitudes.data(),
                       int32_t(P), int32_t(K), paired, rectified, out.data() + i * K);
  }
}

template <class T, bool kSine>
nb::ndarray<nb::numpy, T> trigonometric(Vector<T> phases, const std::string& level) {
  const cerf::KernelTable<T>& kernels = table_of<T>(level);
  const size_t n = phases.shape(0);
  T* out = new T[n];
  nb::capsule owner(out, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  (kSine ? kernels.sine : kernels.cosine)(phases.data(), out, static_cast<int64_t>(n));
  return nb::ndarray<nb::numpy, T>(out, {n}, owner);
}

template <class T>
void walsh_hadamard(Output<T> rows, const std::string& level) {
  const cerf::KernelTable<T>& kernels = table_of<T>(level);
  const int64_t n = static_cast<int64_t>(rows.shape(0)), d = static_cast<int64_t>(rows.shape(1));
  require(d > 0 && (d & (d - 1)) == 0 && d <= (int64_t(1) << 24),
          "the number of columns must be a power of two");
  nb::gil_scoped_release released;
  cerf::Buffer<T> buffer(d);  // aligned, as the kernel wants it
  for (int64_t i = 0; i < n; i++) {
    T* row = rows.data() + i * d;
    std::copy(row, row + d, buffer.data());
    kernels.walsh_hadamard(buffer.data(), static_cast<int32_t>(d));
    std::copy(buffer.data(), buffer.data() + d, row);
  }
}

template <class T>
double measured_peak(const cerf::KernelTable<T>& kernels) {
  double best = 0;
  for (int repeat = 0; repeat < 20; repeat++) {
    constexpr int64_t n_rounds = 1000000;
    const auto start = std::chrono::steady_clock::now();
    const double flops = kernels.fma_loop(n_rounds) * n_rounds;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, flops / seconds.count() / 1e9);
  }
  return best;
}

double fma_peak(const std::string& dtype, const std::string& level) {
  require(dtype == "float32" || dtype == "float64", "dtype must be 'float32' or 'float64'");
  nb::gil_scoped_release released;
  return dtype == "float32" ? measured_peak(table_of<float>(level))
                            : measured_peak(table_of<double>(level));
}

std::vector<std::string> levels() {
  std::vector<std::string> names;
  for (int i = 0; i < cerf::n_levels(); i++) names.emplace_back(cerf::level_name(i));
  return names;
}

}  // namespace

// Plain C symbols for threadpoolctl, which looks them up in the loaded library.
extern "C" {
__attribute__((visibility("default"))) int cerf_get_num_threads() {
  return cerf::get_num_threads();
}
__attribute__((visibility("default"))) void cerf_set_num_threads(int n) {
  cerf::set_num_threads(n);
}
}

NB_MODULE(_core, m) {
  const auto exact = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<PyModel>(m, "Model")
      .def("transform", &transform<float>, exact("X"), exact("out"), "n_threads"_a)
      .def("transform", &transform<double>, exact("X"), exact("out"), "n_threads"_a)
      .def("scores", &scores<float>, exact("X"), exact("coef"), exact("intercept"), exact("out"),
           "n_threads"_a)
      .def("scores", &scores<double>, exact("X"), exact("coef"), exact("intercept"), exact("out"),
           "n_threads"_a)
      .def_prop_ro("n_features", &PyModel::n_features)
      .def_prop_ro("n_outputs", &PyModel::n_outputs)
      .def_prop_ro("one_row_below", &PyModel::one_row_below)
      .def_prop_ro("n_bytes", &PyModel::n_bytes)
      .def_prop_ro("dtype", &PyModel::dtype)
      .def_prop_ro("level", &PyModel::level);
  m.def("dense_model", &dense_model);
  m.def("masked_model", &masked_model, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg("rectified") = false);
  m.def("fastfood_model", &fastfood_model, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg());
  m.def("finish_phases", &finish_phases<float>, exact("phases"), exact("offsets"),
        exact("amplitudes"), exact("out"), "paired"_a, "level"_a, "rectified"_a);
  m.def("finish_phases", &finish_phases<double>, exact("phases"), exact("offsets"),
        exact("amplitudes"), exact("out"), "paired"_a, "level"_a, "rectified"_a);
  m.def("cosine_turns", &trigonometric<float, false>, exact("phases"), "level"_a);
  m.def("cosine_turns", &trigonometric<double, false>, exact("phases"), "level"_a);
  m.def("sine_turns", &trigonometric<float, true>, exact("phases"), "level"_a);
  m.def("sine_turns", &trigonometric<double, true>, exact("phases"), "level"_a);
  m.def("walsh_hadamard", &walsh_hadamard<float>, exact("rows"), "level"_a);
  m.def("walsh_hadamard", &walsh_hadamard<double>, exact("rows"), "level"_a);
  m.def("large_output_float32", &large_output<float>, "n_rows"_a, "n_columns"_a);
  m.def("large_output_float64", &large_output<double>, "n_rows"_a, "n_columns"_a);
  m.def("set_kept_output_limit", &cerf::set_kept_output_limit, "n_bytes"_a);
  m.def("kept_output_limit", &cerf::kept_output_limit);
  m.def("kept_output_bytes", &cerf::kept_output_bytes);
  m.def("fma_peak", &fma_peak);
  m.def("levels", &levels);
  m.def("compiler", [] {
#if defined(__clang__)
    return std::string("clang ") + __clang_version__;
#else
    return std::string("gcc ") + __VERSION__;
#endif
  });
  m.def("get_num_threads", &cerf::get_num_threads);
  m.def("set_num_threads", &cerf::set_num_threads);
}
