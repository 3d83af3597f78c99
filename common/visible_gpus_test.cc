#include "common/visible_gpus.h"

#include <gmock/gmock.h>

namespace caravan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(VisibleGpus, AreNumbersAndNamesUpToTheFirstThatIsNone) {
  EXPECT_THAT(read_visible_gpus("2,0"), ElementsAre("2", "0"));
  EXPECT_THAT(read_visible_gpus("GPU-8932f937,MIG-a1"), ElementsAre("GPU-8932f937", "MIG-a1"));
  EXPECT_THAT(read_visible_gpus("1,-1,0"), ElementsAre("1"));
  EXPECT_THAT(read_visible_gpus("1,"), ElementsAre("1"));
  EXPECT_THAT(read_visible_gpus("NoDevFiles"), IsEmpty());
  EXPECT_THAT(read_visible_gpus(""), IsEmpty());
}

TEST(VisibleGpus, AreReadAsCudaReadsThem) {
  EXPECT_THAT(read_visible_gpus("0, 1, 2, -1, 3"), ElementsAre("0", "1", "2"));
  EXPECT_THAT(read_visible_gpus("2, +3, -0, 5"), ElementsAre("2", "3", "0", "5"));
  EXPECT_THAT(read_visible_gpus(" 1\t,\n02 "), ElementsAre("1", "2"));
  EXPECT_THAT(read_visible_gpus("1gpu2,2ampere"), ElementsAre("1", "2"));
  EXPECT_THAT(read_visible_gpus("GPU-8932f937, GPU-a1 "), ElementsAre("GPU-8932f937", "GPU-a1"));
  EXPECT_THAT(read_visible_gpus("0,99999999999,1"), ElementsAre("0"));
  EXPECT_THAT(read_visible_gpus("0,+,1"), ElementsAre("0"));
  EXPECT_THAT(read_visible_gpus(" "), IsEmpty());
}

TEST(VisibleGpus, AreNoneWhereOneIsNamedTwice) {
  EXPECT_THAT(read_visible_gpus("0,1,01"), IsEmpty());
  EXPECT_THAT(read_visible_gpus("GPU-a1,GPU-a1"), IsEmpty());
  EXPECT_THAT(read_visible_gpus("0,1,-1,1"), ElementsAre("0", "1"));
}

TEST(VisibleGpus, AreAllWhereNobodySaysWhich) {
  unsetenv(kVisibleGpus);
  EXPECT_FALSE(visible_gpus());
  setenv(kVisibleGpus, "", /*overwrite=*/1);
  EXPECT_THAT(visible_gpus().value(), IsEmpty());
  setenv(kVisibleGpus, "3", /*overwrite=*/1);
  EXPECT_THAT(visible_gpus().value(), ElementsAre("3"));
  unsetenv(kVisibleGpus);
}

}  // namespace
}  // namespace caravan
