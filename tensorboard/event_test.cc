#include "tensorboard/event.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace caravan::tensorboard {
namespace {

std::string hex(const std::string& bytes) {
  std::string digits;
  for (const char byte : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

// Expected are the records that TensorBoard 2.20's own RecordWriter makes of the same events.
TEST(Event, OpensAFileAsTensorBoardDoes) {
  EXPECT_EQ(hex(opening_record(1.5)),
            "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c");
}

TEST(Event, ARestartIsTheStartOfASession) {
  EXPECT_EQ(hex(restart_record(1.5, 300)),
            "100000000000000095fbfe1809000000000000f83f10ac023a020801713b788a");
}

TEST(Event, AStepHasAllItsScalars) {
  EXPECT_EQ(
      hex(scalars_record(
          {.step = 300, .wall_seconds = 1.5, .scalars = {{"loss/training", 2.5}, {"speed/mfu", 0.25}}})),
      "36000000000000004f578cef09000000000000f83f10ac022a280a140a0d6c6f73732f747261696e696e67150000204"
      "00a100a0973706565642f6d6675150000803ec2039104");
}

}  // namespace
}  // namespace caravan::tensorboard
