#include "worker/trainer/cuda/normal.h"

#include "worker/trainer/cuda/testing/kernel_test.h"
#include "worker/trainer/kernels/normal_block.h"

namespace caravan::cuda {
namespace {

using testing::in_every_order;
using testing::Outputs;
using testing::StoredArray;

constexpr std::uint64_t kKey = 0x1234567890;
constexpr double kDeviation = 0.02;

std::vector<double> expected_from(std::int64_t first, std::int64_t elements) {
  std::vector<double> numbers;
  for (std::int64_t i = first; i < first + elements; ++i) {
    const auto counter = static_cast<std::uint64_t>(i / kernels::kNormals);
    numbers.push_back(kernels::normal_block(kKey, counter).item[i % kernels::kNormals] * kDeviation);
  }
  return numbers;
}

using NormalKernels = testing::KernelTest;

TEST_F(NormalKernels, MakeThePartOfTheSequenceThatIsAskedFor) {
  for (const Storage storage : {Storage::Float32, Storage::BFloat16}) {
    for (const std::int64_t first : {0, 1, 3, 4, 1'000'002}) {
      for (const std::int64_t elements : {0, 1, 2, 5, 1003}) {
        const std::string what =
            testing::name_of(storage) + ", " + std::to_string(elements) + " from " + std::to_string(first);
        const Outputs made = in_every_order(what, [&]() -> Outputs {
          const StoredArray values(storage, elements, /*misaligned=*/1);
          testing::expect_launched(fill_normal({.storage = storage,
                                                .elements = elements,
                                                .values = values.data(),
                                                .key = kKey,
                                                .first_index = first,
                                                .standard_deviation = kDeviation},
                                               nullptr));
          return {values.values()};
        });
        testing::expect_near(made[0], expected_from(first, elements),
                             testing::rounded_once(storage, /*absolute=*/0), what);
      }
    }
  }
}

}  // namespace
}  // namespace caravan::cuda
