#include "worker/trainer/cuda/swiglu.h"

#include "worker/trainer/cuda/testing/kernel_test.h"

namespace caravan::cuda {
namespace {

using testing::in_every_order;
using testing::Outputs;
using testing::random_values;
using testing::rounded_once;
using testing::StoredArray;

struct Shape {
  Storage storage;
  std::int64_t rows, columns;
  int misaligned = 0;

  std::string name() const {
    return testing::name_of(storage) + " " + std::to_string(rows) + " x " + std::to_string(columns) +
           (misaligned != 0 ? " misaligned" : "");
  }
};

const std::vector<Shape> kShapes = {
    {Storage::BFloat16, 3, 64}, {Storage::BFloat16, 2, 2056},  {Storage::BFloat16, 3, 33},
    {Storage::BFloat16, 70, 1}, {Storage::BFloat16, 2, 64, 5}, {Storage::BFloat16, 0, 64},
    {Storage::Float32, 3, 36},  {Storage::Float32, 2, 517},    {Storage::Float32, 1, 36, 1},
};

struct Inputs {
  explicit Inputs(const Shape& shape)
      : gate_up(random_values(shape.storage, shape.rows * 2 * shape.columns, 1, 2)),
        gradient(random_values(shape.storage, shape.rows * shape.columns, 2)) {}

  std::vector<float> gate_up, gradient;
};

struct Reference {
  Reference(const Shape& shape, const Inputs& inputs) : gate_up_gradient(inputs.gate_up.size()) {
    const auto columns = static_cast<std::size_t>(shape.columns);
    for (std::size_t i = 0; i < inputs.gradient.size(); ++i) {
      const std::size_t gate_at = i / columns * 2 * columns + i % columns;
      const double gate = inputs.gate_up[gate_at];
      const double up = inputs.gate_up[gate_at + columns];
      const double sigmoid = 1 / (1 + std::exp(-gate));
      output.push_back(gate * sigmoid * up);
      gate_up_gradient[gate_at] = inputs.gradient[i] * up * sigmoid * (1 + gate * (1 - sigmoid));
      gate_up_gradient[gate_at + columns] = inputs.gradient[i] * gate * sigmoid;
    }
  }

  std::vector<double> output, gate_up_gradient;
};

Outputs run(const Shape& shape, const Inputs& inputs) {
  const StoredArray gate_up(shape.storage, inputs.gate_up, shape.misaligned);
  const StoredArray gradient(shape.storage, inputs.gradient);
  const StoredArray output(shape.storage, shape.rows * shape.columns);
  testing::expect_launched(swiglu_forward({.storage = shape.storage,
                                           .rows = shape.rows,
                                           .columns = shape.columns,
                                           .gate_up = gate_up.data(),
                                           .output = output.data()},
                                          nullptr));
  testing::expect_launched(swiglu_backward({.storage = shape.storage,
                                            .rows = shape.rows,
                                            .columns = shape.columns,
                                            .gate_up = gate_up.data(),
                                            .gradient = gradient.data()},
                                           nullptr));
  return {output.values(), gate_up.values(), gradient.values()};
}

using SwigluKernels = testing::KernelTest;

TEST_F(SwigluKernels, GateAndComeBackWithTheOutput) {
  for (const Shape& shape : kShapes) {
    const Inputs inputs(shape);
    const Reference reference(shape, inputs);
    const Outputs outputs = in_every_order(shape.name(), [&] { return run(shape, inputs); });
    testing::expect_near(outputs[0], reference.output, rounded_once(shape.storage), "output " + shape.name());
    testing::expect_near(outputs[1], reference.gate_up_gradient, rounded_once(shape.storage),
                         "gradient " + shape.name());
    EXPECT_TRUE(testing::same_bits({outputs[0]}, {outputs[2]})) << "the backward's output " << shape.name();
  }
}

TEST_F(SwigluKernels, GatesFarFromZeroGiveNumbers) {
  const Shape shape{.storage = Storage::Float32, .rows = 1, .columns = 4};
  Inputs inputs(shape);
  inputs.gate_up = {-1e4F, -90, 90, 1e4F, 1, 1, 1, 1};
  const Outputs outputs = run(shape, inputs);
  testing::expect_near(outputs[0], {0, 0, 90, 1e4}, {1e-6, 1e-30}, "output");
  for (const float value : outputs[1]) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace caravan::cuda
