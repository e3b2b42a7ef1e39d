// Python bindings: dtype, shape, contiguity, release of the GIL. No arithmetic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "cerf/features.h"
#include "cerf/fma_peak.h"
#include "cerf/output_memory.h"
#include "cerf/overlap.h"
#include "cerf/table_model.h"
#include "cerf/threads.h"

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
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

using cerf::require;

// Sizes are compared as 64-bit numbers.
template <class Array>
int64_t size_of(const Array& array, size_t axis) {
  return static_cast<int64_t>(array.shape(axis));
}
template <class T>
std::span<const T> span_of(const Vector<T>& array) {
  return {array.data(), array.shape(0)};
}
template <class T>
cerf::MatrixView<T> view_of(const RowMajor<T>& array) {
  return {array.data(), size_of(array, 0), size_of(array, 1)};
}

template <class T>
const cerf::KernelTable<T>& table_of(const std::string& level) {
  const cerf::KernelTable<T>* table = cerf::kernel_table<T>(level.c_str());
  if (table == nullptr) throw std::invalid_argument("level '" + level + "' cannot run on this CPU");
  return *table;
}

// A model, or a linear part, of the dtype that was chosen when it was packed.
template <template <class> class Packed>
class EitherType {
 public:
  template <class T>
  explicit EitherType(Packed<T>&& model) : model_(std::move(model)) {}

  template <class T>
  const Packed<T>& get() const {
    const auto* model = std::get_if<Packed<T>>(&model_);
    require(model != nullptr, "X has another dtype than the model");
    return *model;
  }
  // Result of `question` for the model, whatever its dtype.
  template <class Question>
  auto ask(Question question) const {
    return std::visit(question, model_);
  }
  const char* dtype() const { return model_.index() == 0 ? "float32" : "float64"; }

 private:
  std::variant<Packed<float>, Packed<double>> model_;
};
using PyModel = EitherType<cerf::Model>;
using PyTableModel = EitherType<cerf::TableModel>;
using PyLinear = EitherType<cerf::Linear>;

template <class T>
cerf::Input<T> input_of(const Matrix<T>& X, int32_t n_features) {
  require(size_of(X, 1) == n_features, "X has another width than the model");
  return {X.data(), size_of(X, 0), size_of(X, 1), X.stride(0), X.stride(1)};
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
  require(out.shape(0) == X.shape(0) && size_of(out, 1) == model.n_outputs(),
          "out has another shape than (n_samples, n_outputs)");
  nb::gil_scoped_release released;
  return model.transform(input, out.data(), n_threads);
}

template <class T>
bool scores_and_linear(const PyModel& self, Matrix<T> X, RowMajor<T> coef, Vector<T> intercept,
                       Output<T> out, int n_threads, const PyLinear* linear) {
  const cerf::Model<T>& model = self.get<T>();
  const cerf::Input<T> input = input_of(X, model.n_features());
  require(size_of(coef, 1) == model.n_outputs(),
          "coef has another shape than (n_scores, n_outputs)");
  require(intercept.shape(0) == coef.shape(0), "intercept has another length than coef has rows");
  require(out.shape(0) == X.shape(0) && out.shape(1) == coef.shape(0),
          "out has another shape than (n_samples, n_scores)");
  const cerf::Head<T> head{.coef = coef.data(),
                           .intercept = intercept.data(),
                           .n_scores = size_of(coef, 0),
                           .linear = linear != nullptr ? &linear->get<T>() : nullptr};
  nb::gil_scoped_release released;
  return model.scores(input, head, out.data(), n_threads);
}

// An overload of its own: an optional argument would make calls without it slower.
template <class T>
bool scores(const PyModel& self, Matrix<T> X, RowMajor<T> coef, Vector<T> intercept, Output<T> out,
            int n_threads) {
  return scores_and_linear<T>(self, X, coef, intercept, out, n_threads, nullptr);
}

template <class T>
bool table_scores(const PyTableModel& self, Matrix<T> X, Output<T> out, int n_threads) {
  const cerf::TableModel<T>& model = self.get<T>();
  const cerf::Input<T> input = input_of(X, model.n_features());
  require(out.shape(0) == X.shape(0) && size_of(out, 1) == model.n_scores(),
          "out has another shape than (n_samples, n_scores)");
  nb::gil_scoped_release released;
  return model.scores(input, out.data(), n_threads);
}

cerf::Outputs outputs_of(const Vector<double>& offsets, const Vector<double>& amplitudes,
                         int64_t n_outputs, bool paired, bool relu) {
  return {.offsets = {offsets.data(), offsets.data() + offsets.shape(0)},
          .amplitudes = {amplitudes.data(), amplitudes.data() + amplitudes.shape(0)},
          .n_outputs = n_outputs,
          .paired = paired,
          .relu = relu};
}

template <class Map>
PyModel model_of(const Map& map, const cerf::Outputs& outputs, const std::string& dtype,
                 const std::string& level) {
  if (dtype == "float32") {
    return PyModel(cerf::make_model<float>(map, outputs, table_of<float>(level)));
  }
  require(dtype == "float64", "dtype must be 'float32' or 'float64'");
  return PyModel(cerf::make_model<double>(map, outputs, table_of<double>(level)));
}

PyModel dense_model(RowMajor<double> frequencies, Vector<double> offsets, Vector<double> amplitudes,
                    int64_t n_outputs, bool paired, const std::string& dtype,
                    const std::string& level) {
  return model_of(cerf::DenseMap{.frequencies = view_of(frequencies)},
                  outputs_of(offsets, amplitudes, n_outputs, paired, false), dtype, level);
}

PyModel masked_model(int64_t n_features, Vector<int64_t> mask_pointers, Vector<int32_t> mask_inputs,
                     Vector<int64_t> projection_pointers, Vector<double> values, int64_t group_size,
                     Vector<double> offsets, Vector<double> amplitudes, int64_t n_outputs,
                     bool paired, bool relu, const std::string& dtype, const std::string& level) {
  const cerf::MaskedMap map{.n_inputs = n_features,
                            .mask_pointers = span_of(mask_pointers),
                            .mask_inputs = span_of(mask_inputs),
                            .projection_pointers = span_of(projection_pointers),
                            .values = span_of(values),
                            .group_size = group_size};
  return model_of(map, outputs_of(offsets, amplitudes, n_outputs, paired, relu), dtype, level);
}

PyModel fastfood_model(int64_t n_features, RowMajor<double> signs, RowMajor<double> gaussian_diag,
                       RowMajor<int32_t> permutation, Vector<double> row_scale,
                       Vector<int64_t> kept_pointers, Vector<int32_t> kept_rows,
                       std::optional<RowMajor<double>> centres, Vector<double> offsets,
                       Vector<double> amplitudes, int64_t n_outputs, bool paired,
                       const std::string& dtype, const std::string& level) {
  cerf::FastfoodMap map{.n_inputs = n_features,
                        .signs = view_of(signs),
                        .gaussian_diag = view_of(gaussian_diag),
                        .permutation = view_of(permutation),
                        .row_scale = span_of(row_scale),
                        .kept_pointers = span_of(kept_pointers),
                        .kept_rows = span_of(kept_rows),
                        .centres = {}};
  if (centres) map.centres = view_of(*centres);
  return model_of(map, outputs_of(offsets, amplitudes, n_outputs, paired, false), dtype, level);
}

PyLinear linear_part(int64_t n_features, Vector<int64_t> pointers, Vector<int32_t> inputs,
                     Vector<double> values, const std::string& dtype) {
  const cerf::LinearMap map{.n_inputs = n_features,
                            .pointers = span_of(pointers),
                            .inputs = span_of(inputs),
                            .values = span_of(values)};
  if (dtype == "float32") return PyLinear(cerf::Linear<float>(map));
  require(dtype == "float64", "dtype must be 'float32' or 'float64'");
  return PyLinear(cerf::Linear<double>(map));
}

PyTableModel table_model(int64_t n_features, Vector<int64_t> mask_pointers,
                         Vector<int32_t> mask_inputs, Vector<double> values, Vector<double> offsets,
                         Cube tables, Vector<int64_t> linear_pointers,
                         Vector<int32_t> linear_inputs, Vector<double> linear_values,
                         Vector<double> intercept, const std::string& dtype,
                         const std::string& level) {
  require(tables.shape(0) == offsets.shape(0) && tables.shape(2) == intercept.shape(0),
          "tables must be (n_tables, n_bins, n_scores)");
  const cerf::TableMap map{.mask_pointers = span_of(mask_pointers),
                           .mask_inputs = span_of(mask_inputs),
                           .values = span_of(values),
                           .offsets = span_of(offsets),
                           .n_bins = size_of(tables, 1),
                           .tables = {tables.data(), tables.size()},
                           .linear = {.n_inputs = n_features,
                                      .pointers = span_of(linear_pointers),
                                      .inputs = span_of(linear_inputs),
                                      .values = span_of(linear_values)},
                           .intercept = span_of(intercept)};
  if (dtype == "float32") {
    return PyTableModel(cerf::TableModel<float>(map, table_of<float>(level)));
  }
  require(dtype == "float64", "dtype must be 'float32' or 'float64'");
  return PyTableModel(cerf::TableModel<double>(map, table_of<double>(level)));
}

template <class T>
void finish_phases(Matrix<T> phases, Vector<T> offsets, Vector<T> amplitudes, Output<T> out,
                   bool paired, const std::string& level, bool relu) {
  const cerf::KernelTable<T>& kernels = table_of<T>(level);
  const int64_t n = size_of(phases, 0), P = size_of(phases, 1), K = size_of(out, 1);
  require(phases.stride(1) == 1 || P == 1, "phases must have contiguous rows");
  require(size_of(offsets, 0) == P && size_of(amplitudes, 0) == P && size_of(out, 0) == n &&
              K <= std::numeric_limits<int32_t>::max(),
          "phases, offsets, amplitudes and out do not fit each other");
  require(paired ? (K == 2 * P || K == 2 * P - 1) : K == P, "out has the wrong number of columns");
  cerf::require_single_if(relu, paired);
  const cerf::Input<T> read{phases.data(), n, P, phases.stride(0), phases.stride(1)};
  require(!cerf::overlap(cerf::extent_of(read), cerf::extent_of(out.data(), n * K)),
          "out shares memory with phases: pass an array of its own");
  nb::gil_scoped_release released;
  for (int64_t i = 0; i < n; i++) {
    kernels.finish_row(phases.data() + i * phases.stride(0), offsets.data(), amplitudes.data(),
                       int32_t(P), int32_t(K), paired, relu, out.data() + i * K);
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
  const int64_t n = size_of(rows, 0), d = size_of(rows, 1);
  require(d > 0 && (d & (d - 1)) == 0 && d <= (int64_t(1) << 24),
          "the number of columns must be a power of two");
  nb::gil_scoped_release released;
  cerf::Buffer<T> buffer(d);  // aligned, as the kernel needs it
  for (int64_t i = 0; i < n; i++) {
    T* row = rows.data() + i * d;
    std::copy(row, row + d, buffer.data());
    kernels.walsh_hadamard(buffer.data(), static_cast<int32_t>(d));
    std::copy(buffer.data(), buffer.data() + d, row);
  }
}

double fma_peak(const std::string& dtype, const std::string& level) {
  require(dtype == "float32" || dtype == "float64", "dtype must be 'float32' or 'float64'");
  nb::gil_scoped_release released;
  return dtype == "float32" ? cerf::fma_peak(table_of<float>(level))
                            : cerf::fma_peak(table_of<double>(level));
}

// Answer of a model, or a linear part, of either type.
template <class Either, class Question>
auto asked(Question question) {
  return [question](const Either& self) { return self.ask(question); };
}

// What models of every kind tell.
template <class Either>
nb::class_<Either> def_common(nb::class_<Either> model) {
  model.def_prop_ro("n_features", asked<Either>([](const auto& m) { return m.n_features(); }))
      .def_prop_ro("one_row_below", asked<Either>([](const auto& m) { return m.one_row_below(); }))
      .def_prop_ro("n_bytes", asked<Either>([](const auto& m) { return m.n_bytes(); }))
      .def_prop_ro("level", asked<Either>([](const auto& m) { return m.level(); }))
      .def_prop_ro("dtype", &Either::dtype);
  return model;
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

void bind_training(nb::module_& m);  // bindings_training.cpp

NB_MODULE(_core, m) {
  bind_training(m);
  const auto exact = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<PyLinear>(m, "LinearPart")
      .def_prop_ro("n_features", asked<PyLinear>([](const auto& l) { return l.n_features(); }))
      .def_prop_ro("n_scores", asked<PyLinear>([](const auto& l) { return l.n_scores(); }))
      .def_prop_ro("dtype", &PyLinear::dtype);
  def_common(nb::class_<PyModel>(m, "Model"))
      .def("transform", &transform<float>, exact("X"), exact("out"), "n_threads"_a)
      .def("transform", &transform<double>, exact("X"), exact("out"), "n_threads"_a)
      .def("scores", &scores<float>, exact("X"), exact("coef"), exact("intercept"), exact("out"),
           "n_threads"_a)
      .def("scores", &scores<double>, exact("X"), exact("coef"), exact("intercept"), exact("out"),
           "n_threads"_a)
      .def("scores", &scores_and_linear<float>, exact("X"), exact("coef"), exact("intercept"),
           exact("out"), "n_threads"_a, "linear"_a.none())
      .def("scores", &scores_and_linear<double>, exact("X"), exact("coef"), exact("intercept"),
           exact("out"), "n_threads"_a, "linear"_a.none())
      .def_prop_ro("n_outputs",
                   asked<PyModel>([](const auto& model) { return model.n_outputs(); }));
  def_common(nb::class_<PyTableModel>(m, "TableModel"))
      .def("scores", &table_scores<float>, exact("X"), exact("out"), "n_threads"_a)
      .def("scores", &table_scores<double>, exact("X"), exact("out"), "n_threads"_a)
      .def_prop_ro("n_scores",
                   asked<PyTableModel>([](const auto& model) { return model.n_scores(); }));
  m.def("dense_model", &dense_model, nb::kw_only(), "frequencies"_a, "offsets"_a, "amplitudes"_a,
        "n_outputs"_a, "paired"_a, "dtype"_a, "level"_a);
  m.def("masked_model", &masked_model, nb::kw_only(), "n_features"_a, "mask_pointers"_a,
        "mask_inputs"_a, "projection_pointers"_a, "values"_a, "group_size"_a, "offsets"_a,
        "amplitudes"_a, "n_outputs"_a, "paired"_a, "relu"_a = false, "dtype"_a, "level"_a);
  m.def("fastfood_model", &fastfood_model, nb::kw_only(), "n_features"_a, "signs"_a,
        "gaussian_diag"_a, "permutation"_a, "row_scale"_a, "kept_pointers"_a, "kept_rows"_a,
        nb::arg("centres").none(), "offsets"_a, "amplitudes"_a, "n_outputs"_a, "paired"_a,
        "dtype"_a, "level"_a);
  m.def("linear_part", &linear_part, nb::kw_only(), "n_features"_a, "pointers"_a, "inputs"_a,
        "values"_a, "dtype"_a);
  m.def("table_model", &table_model, nb::kw_only(), "n_features"_a, "mask_pointers"_a,
        "mask_inputs"_a, "values"_a, "offsets"_a, "tables"_a, "linear_pointers"_a,
        "linear_inputs"_a, "linear_values"_a, "intercept"_a, "dtype"_a, "level"_a);
  m.def("finish_phases", &finish_phases<float>, exact("phases"), exact("offsets"),
        exact("amplitudes"), exact("out"), "paired"_a, "level"_a, "relu"_a);
  m.def("finish_phases", &finish_phases<double>, exact("phases"), exact("offsets"),
        exact("amplitudes"), exact("out"), "paired"_a, "level"_a, "relu"_a);
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
  m.def("set_default_num_threads", &cerf::set_default_num_threads);
}
