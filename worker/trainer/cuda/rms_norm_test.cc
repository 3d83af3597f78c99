#include "worker/trainer/cuda/rms_norm.h"

#include <stdexcept>

#include "common/testing/turn.h"
#include "worker/trainer/cuda/testing/kernel_test.h"

namespace caravan::cuda {
namespace {

using testing::in_every_order;
using testing::Outputs;
using testing::random_values;
using testing::rounded_once;
using testing::stored;
using testing::StoredArray;

constexpr float kEpsilon = 1e-5F;

struct Shape {
  Storage storage;
  std::int64_t rows, columns;
  bool other;  // something is added: forward x, backward the gradient of the residual
  int misaligned = 0;

  std::string name() const {
    return testing::name_of(storage) + " " + std::to_string(rows) + " x " + std::to_string(columns) +
           (other ? " with residual" : "") + (misaligned != 0 ? " misaligned" : "");
  }
};

// Rows of more packs than threads, tails, fewer values than a pack; more rows than partial sums, of two warps
// each.
const std::vector<Shape> kShapes = {
    {Storage::BFloat16, 3, 96, true},    {Storage::BFloat16, 2, 97, true},
    {Storage::BFloat16, 5, 1, true},     {Storage::BFloat16, 2, 8200, true},
    {Storage::BFloat16, 1, 1056, false}, {Storage::BFloat16, 3, 96, true, 3},
    {Storage::BFloat16, 258, 264, true}, {Storage::Float32, 3, 100, true},
    {Storage::Float32, 2, 33, false},    {Storage::Float32, 1, 4100, true},
    {Storage::Float32, 4, 64, true, 1},  {Storage::BFloat16, 0, 64, true},
};

struct Inputs {
  explicit Inputs(const Shape& shape)
      : residual(random_values(shape.storage, shape.rows * shape.columns, 1)),
        other(random_values(shape.storage, shape.rows * shape.columns, 2)),
        gradient(random_values(shape.storage, shape.rows * shape.columns, 3)),
        weight(random_values(shape.storage, shape.columns, 4, 0.2F, 1)),
        weight_gradient(random_values(Storage::Float32, shape.columns, 5)) {}

  std::vector<float> residual, other, gradient, weight, weight_gradient;
};

struct Reference {
  Reference(const Shape& shape, const Inputs& inputs);

  std::vector<double> residual, scale, output, gradient, weight_gradient;
};

Reference::Reference(const Shape& shape, const Inputs& inputs)
    : weight_gradient(inputs.weight_gradient.begin(), inputs.weight_gradient.end()) {
  const auto columns = static_cast<std::size_t>(shape.columns);
  for (std::size_t row = 0; row < static_cast<std::size_t>(shape.rows); ++row) {
    double squares = 0;
    double dot = 0;
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) {
      residual.push_back(shape.other ? stored(shape.storage, inputs.residual[i] + inputs.other[i])
                                     : inputs.residual[i]);
      squares += residual[i] * residual[i];
      dot += double{inputs.gradient[i]} * inputs.weight[i % columns] * residual[i];
    }
    const double factor = 1 / std::sqrt(squares / static_cast<double>(columns) + kEpsilon);
    scale.push_back(factor);
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) {
      const double weight = inputs.weight[i % columns];
      output.push_back(residual[i] * factor * weight);
      gradient.push_back((shape.other ? inputs.other[i] : 0) + inputs.gradient[i] * weight * factor -
                         residual[i] * dot * std::pow(factor, 3) / static_cast<double>(columns));
      weight_gradient[i % columns] += inputs.gradient[i] * residual[i] * factor;
    }
  }
}

Outputs forward(const Shape& shape, const Inputs& inputs) {
  const StoredArray residual(shape.storage, inputs.residual, shape.misaligned);
  const StoredArray x(shape.storage, inputs.other, shape.misaligned);
  const StoredArray weight(shape.storage, inputs.weight);
  const StoredArray output(shape.storage, shape.rows * shape.columns);
  const StoredArray again(shape.storage, shape.rows * shape.columns);
  const StoredArray scale(Storage::Float32, shape.rows);
  testing::expect_launched(add_rms_norm({.storage = shape.storage,
                                         .rows = shape.rows,
                                         .columns = shape.columns,
                                         .epsilon = kEpsilon,
                                         .residual = residual.data(),
                                         .x = shape.other ? x.data() : nullptr,
                                         .weight = weight.data(),
                                         .output = output.data(),
                                         .scale = scale.floats()},
                                        nullptr));
  testing::expect_launched(rms_norm_apply({.storage = shape.storage,
                                           .rows = shape.rows,
                                           .columns = shape.columns,
                                           .x = residual.data(),
                                           .weight = weight.data(),
                                           .scale = scale.floats(),
                                           .output = again.data()},
                                          nullptr));
  return {residual.values(), scale.values(), output.values(), again.values()};
}

// From the residual and the scale of the forward.
Outputs backward(const Shape& shape, const Inputs& inputs, const Outputs& saved) {
  const StoredArray gradient(shape.storage, inputs.gradient, shape.misaligned);
  const StoredArray residual_gradient(shape.storage, inputs.other);
  const StoredArray x(shape.storage, saved[0]);
  const StoredArray weight(shape.storage, inputs.weight);
  const StoredArray scale(Storage::Float32, saved[1]);
  const StoredArray weight_gradient(Storage::Float32, inputs.weight_gradient);
  const StoredArray partial(Storage::Float32, std::min(shape.rows, kRmsNormPartialRows) * shape.columns);
  testing::expect_launched(
      rms_norm_backward({.storage = shape.storage,
                         .rows = shape.rows,
                         .columns = shape.columns,
                         .gradient = gradient.data(),
                         .residual_gradient = shape.other ? residual_gradient.data() : nullptr,
                         .x = x.data(),
                         .weight = weight.data(),
                         .scale = scale.floats(),
                         .weight_gradient = weight_gradient.floats(),
                         .partial = partial.floats()},
                        nullptr));
  return {gradient.values(), weight_gradient.values()};
}

using RmsNormKernels = testing::KernelTest;

TEST_F(RmsNormKernels, AddNormaliseAndComeBack) {
  CARAVAN_BY_TURNS();
  for (const Shape& shape : kShapes) {
    const Inputs inputs(shape);
    const Reference reference(shape, inputs);
    const Outputs saved = in_every_order(shape.name(), [&] { return forward(shape, inputs); });
    testing::expect_near(saved[0], reference.residual, {0, 0}, "residual " + shape.name());
    testing::expect_near(saved[1], reference.scale, {1e-5, 0}, "scale " + shape.name());
    testing::expect_near(saved[2], reference.output, rounded_once(shape.storage), "output " + shape.name());
    EXPECT_TRUE(testing::same_bits({saved[2]}, {saved[3]})) << "applied again to " << shape.name();
    const Outputs gradients = in_every_order(shape.name(), [&] { return backward(shape, inputs, saved); });
    testing::expect_near(gradients[0], reference.gradient, rounded_once(shape.storage, 1e-4),
                         "gradient " + shape.name());
    testing::expect_near(gradients[1], reference.weight_gradient, {1e-5, 1e-4},
                         "weight gradient " + shape.name());
  }
}

TEST_F(RmsNormKernels, RefuseRowsThatDoNotFitAndStoragesThatDoNotExist) {
  AddRmsNorm arguments{};
  arguments.rows = 1;
  arguments.columns = 1 << 20;
  EXPECT_STREQ(add_rms_norm(arguments, nullptr).error,
               "rows are too long for the shared memory of this device");
  arguments.storage = static_cast<Storage>(7);
  EXPECT_STREQ(add_rms_norm(arguments, nullptr).error, "values are stored as fp32 or bf16");
}

}  // namespace
}  // namespace caravan::cuda
