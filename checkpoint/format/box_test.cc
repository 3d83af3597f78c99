#include "checkpoint/format/box.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace caravan::checkpoint {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

struct Case {
  std::string name;
  std::vector<Box> boxes;
  bool covers = false;
};

TEST(Boxes, CoverATensorExactlyOrNot) {
  const Box whole{.rows = 4, .columns = 6};
  const Case cases[] = {
      {"one", {{0, 0, 4, 6}}, true},
      {"rows", {{2, 0, 2, 6}, {0, 0, 2, 6}}, true},
      {"columns", {{0, 0, 4, 2}, {0, 2, 4, 4}}, true},
      {"a cut row", {{0, 0, 1, 6}, {1, 0, 1, 4}, {1, 4, 1, 2}, {2, 0, 2, 6}}, true},
      {"none", {}},
      {"a hole", {{0, 0, 2, 6}, {3, 0, 1, 6}}},
      {"a hole in a row", {{0, 0, 3, 6}, {3, 0, 1, 5}}},
      {"an overlap", {{0, 0, 3, 6}, {2, 0, 2, 6}}},
      {"an overlap that hides a hole", {{0, 0, 2, 6}, {1, 0, 2, 6}}},
      {"the same twice", {{0, 0, 4, 3}, {0, 0, 4, 3}}},
      {"outside", {{1, 0, 4, 6}}},
      {"below 0", {{-1, 0, 4, 6}}},
      {"empty ones", {{0, 0, 4, 6}, {0, 0, 0, 6}}},
      {"sizes that overflow", {{kHuge, 0, kHuge, 6}, {0, 0, 4, 6}}},
      {"columns that overflow", {{0, kHuge, 4, kHuge}}},
  };
  for (const Case& each : cases) EXPECT_EQ(cover_exactly(whole, each.boxes), each.covers) << each.name;
}

TEST(Boxes, OneDimensionIsAColumn) {
  const int64_t shape[] = {7};
  EXPECT_EQ(whole_tensor(shape), (Box{.rows = 7, .columns = 1}));
}

}  // namespace
}  // namespace caravan::checkpoint
