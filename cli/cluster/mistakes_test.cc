#include "cli/cluster/mistakes.h"

#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

TEST(Mistakes, OfOneJobKeepNobodyFromTheOthers) {
  std::vector<std::string> seen;
  ::testing::internal::CaptureStderr();
  const ExitCode code = with_each({"a", "b", "c", "d"}, [&](const std::string& name) -> Status {
    seen.push_back(name);
    if (name == "b") return bad_input("no job b");
    if (name == "c") return failure("c is refused");
    return {};
  });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "no job b\nc is refused\n");
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(code, ExitCode::kBadInput) << "the first one's";
  EXPECT_EQ(with_each({"a"}, [](const std::string&) { return Status{}; }), ExitCode::kDone);
}

TEST(Mistakes, EndWithAClusterThatNobodyReaches) {
  std::vector<std::string> seen;
  ::testing::internal::CaptureStderr();
  const ExitCode code = with_each({"a", "b", "c"}, [&](const std::string& name) -> Status {
    seen.push_back(name);
    if (name == "a") return {};
    return tl::unexpected(Error{"not reached", ExitCode::kClusterUnreachable});
  });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "not reached\n");
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(code, ExitCode::kClusterUnreachable);
}

}  // namespace
}  // namespace caravan::cli
