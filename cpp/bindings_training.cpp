// Python bindings of training: dtype, shape, contiguity, release of the GIL. No arithmetic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "cerf/buffer.h"
#include "cerf/maps.h"
#include "cerf/training.h"

namespace nb = nanobind;
using namespace nb::literals;
using cerf::require;

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using RowMajor = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Changed = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Array>
int64_t size_of(const Array& array, size_t axis = 0) {
  return static_cast<int64_t>(array.shape(axis));
}
template <class T>
std::span<const T> span_of(const Vector<T>& array) {
  return {array.data(), array.shape(0)};
}

const cerf::TrainingTable& table_of(const std::string& level) {
  const cerf::TrainingTable* table = cerf::training_table(level.c_str());
  if (table == nullptr) throw std::invalid_argument("level '" + level + "' cannot run on this CPU");
  return *table;
}

// Numbers of a network while it is trained, with the moments of Adam; the arrays are the caller's.
class Network {
 public:
  Network(const std::string& kind, int32_t n_features, int32_t n_scores, int32_t n_knots,
          Vector<int64_t> pointers, Vector<int32_t> inputs, Vector<int64_t> linear_pointers,
          Vector<int32_t> linear_inputs, Changed parameters, Changed first, Changed second,
          Changed means, Changed variances, int64_t n_steps, const std::string& level)
      : pointers_(pointers),
        inputs_(inputs),
        linear_pointers_(linear_pointers),
        linear_inputs_(linear_inputs),
        arrays_{parameters, first, second, means, variances},
        table_(table_of(level)) {
    require(kind == "cosine" || kind == "relu" || kind == "table",
            "kind must be 'cosine', 'relu' or 'table'");
    require(size_of(pointers) >= 1 && size_of(pointers) <= (int64_t(1) << 30),
            "pointers must have one number more than there are features");
    layout_ = {.kind = kind == "cosine" ? cerf::FeatureKind::cosine
                       : kind == "relu" ? cerf::FeatureKind::relu
                                        : cerf::FeatureKind::table,
               .n_features = n_features,
               .n_components = static_cast<int32_t>(size_of(pointers) - 1),
               .n_scores = n_scores,
               .n_knots = n_knots,
               .pointers = pointers.data(),
               .inputs = inputs.data(),
               .linear_pointers = linear_pointers.data(),
               .linear_inputs = linear_inputs.data()};
    cerf::check(layout_, span_of(pointers), span_of(inputs), span_of(linear_pointers),
                span_of(linear_inputs));
    const int64_t n = layout_.n_parameters();
    require(size_of(parameters) == n && size_of(first) == n && size_of(second) == n,
            "parameters and their moments have another length than the network needs");
    require(size_of(means) == layout_.n_components && size_of(variances) == layout_.n_components,
            "means and variances must have one number a feature");
    state_ = {.parameters = parameters.data(),
              .first = first.data(),
              .second = second.data(),
              .means = means.data(),
              .variances = variances.data(),
              .n_steps = n_steps};
  }

  double run_steps(RowMajor<float> X, RowMajor<float> targets, Vector<float> weights,
                   const std::string& loss, RowMajor<int32_t> order, Vector<float> rates,
                   float moment_rate, float second_decay, Vector<float> penalties) {
    const cerf::TrainingRows rows = rows_of(X, targets, weights, loss);
    const cerf::StepPlan plan = plan_of(rows, order, rates, moment_rate, second_decay, penalties);
    nb::gil_scoped_release released;
    cerf::Buffer<float> scratch(cerf::training_scratch(layout_, plan.batch_size));
    return table_.run_steps(layout_, rows, plan, state_, scratch.data());
  }

  double gradient(RowMajor<float> X, RowMajor<float> targets, Vector<float> weights,
                  const std::string& loss, RowMajor<int32_t> order, Vector<float> rates,
                  float moment_rate, float second_decay, Vector<float> penalties, Changed out) {
    const cerf::TrainingRows rows = rows_of(X, targets, weights, loss);
    const cerf::StepPlan plan = plan_of(rows, order, rates, moment_rate, second_decay, penalties);
    require(size_of(out) == layout_.n_parameters(), "out has another length than the network");
    cerf::Buffer<float> scratch(cerf::training_scratch(layout_, plan.batch_size));
    return table_.gradient(layout_, rows, plan, state_, scratch.data(), out.data());
  }

  void scores(RowMajor<float> X, Output out) const {
    require(size_of(X, 1) == layout_.n_features, "X has another width than the network");
    require(out.shape(0) == X.shape(0) && size_of(out, 1) == layout_.n_scores,
            "out has another shape than (n_samples, n_scores)");
    nb::gil_scoped_release released;
    cerf::Buffer<float> scratch(cerf::training_scratch(layout_, 1));
    table_.scores(layout_, X.data(), size_of(X), state_, scratch.data(), out.data());
  }

  int64_t n_steps() const { return state_.n_steps; }

 private:
  cerf::TrainingRows rows_of(const RowMajor<float>& X, const RowMajor<float>& targets,
                             const Vector<float>& weights, const std::string& loss) const {
    require(loss == "squared" || loss == "logistic" || loss == "softmax",
            "loss must be 'squared', 'logistic' or 'softmax'");
    require(size_of(X, 1) == layout_.n_features && size_of(targets, 1) == layout_.n_scores &&
                X.shape(0) == targets.shape(0) && X.shape(0) == weights.shape(0),
            "X, targets and weights do not fit each other or the network");
    return {.X = X.data(),
            .targets = targets.data(),
            .weights = weights.data(),
            .n_rows = size_of(X),
            .loss = loss == "squared"    ? cerf::LossKind::squared
                    : loss == "logistic" ? cerf::LossKind::logistic
                                         : cerf::LossKind::softmax};
  }

  static cerf::StepPlan plan_of(const cerf::TrainingRows& rows, const RowMajor<int32_t>& order,
                                const Vector<float>& rates, float moment_rate, float second_decay,
                                const Vector<float>& penalties) {
    require(order.shape(0) == rates.shape(0), "order and rates must have one row a step");
    require(size_of(order, 1) >= 1 && size_of(order, 1) <= (1 << 20),
            "a batch must have 1 to 2^20 rows");
    const int32_t* end = order.data() + order.shape(0) * order.shape(1);
    require(std::all_of(order.data(), end, [&](int32_t r) { return r >= 0 && r < rows.n_rows; }),
            "a row of order is not among the rows");
    require(penalties.shape(0) == 5, "penalties must be five numbers");
    const float* p = penalties.data();
    return {.order = order.data(),
            .rates = rates.data(),
            .n_steps = size_of(order),
            .batch_size = static_cast<int32_t>(order.shape(1)),
            .moment_rate = moment_rate,
            .second_decay = second_decay,
            .penalties = {p[0], p[1], p[2], p[3], p[4]}};
  }

  // Kept alive as long as the network.
  Vector<int64_t> pointers_;
  Vector<int32_t> inputs_;
  Vector<int64_t> linear_pointers_;
  Vector<int32_t> linear_inputs_;
  Changed arrays_[5];
  const cerf::TrainingTable& table_;
  cerf::NetworkLayout layout_{};
  cerf::TrainingState state_{};
};

}  // namespace

void bind_training(nb::module_& m) {
  const auto exact = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<Network>(m, "TrainingNetwork")
      .def(nb::init<const std::string&, int32_t, int32_t, int32_t, Vector<int64_t>, Vector<int32_t>,
                    Vector<int64_t>, Vector<int32_t>, Changed, Changed, Changed, Changed, Changed,
                    int64_t, const std::string&>(),
           nb::kw_only(), "kind"_a, "n_features"_a, "n_scores"_a, "n_knots"_a, exact("pointers"),
           exact("inputs"), exact("linear_pointers"), exact("linear_inputs"), exact("parameters"),
           exact("first"), exact("second"), exact("means"), exact("variances"), "n_steps"_a,
           "level"_a)
      .def("run_steps", &Network::run_steps, nb::kw_only(), exact("X"), exact("targets"),
           exact("weights"), "loss"_a, exact("order"), exact("rates"), "moment_rate"_a,
           "second_decay"_a, exact("penalties"))
      .def("gradient", &Network::gradient, nb::kw_only(), exact("X"), exact("targets"),
           exact("weights"), "loss"_a, exact("order"), exact("rates"), "moment_rate"_a,
           "second_decay"_a, exact("penalties"), exact("out"))
      .def("scores", &Network::scores, nb::kw_only(), exact("X"), exact("out"))
      .def_prop_ro("n_steps", &Network::n_steps);
}
