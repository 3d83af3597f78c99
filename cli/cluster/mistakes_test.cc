#include "cli/cluster/mistakes.h"

#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

TEST(Mistakes, OfOneJobKeepNobodyFromTheOthers) {
  std::vector<std::string> seen;
  ::testing::internal::CaptureStderr();
  const ExitCode code = with_each({"a", "b", "c", "d"}, [&](const std::string& name) -> ClusterResult<void> {
    seen.push_back(name);
    if (name == "b") return tl::unexpected(ClusterError{{"no job b", ExitCode::kBadInput}});
    if (name == "c") return tl::unexpected(ClusterError{{"c is late", ExitCode::kClusterUnreachable}});
    return {};
  });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "no job b\nc is late\n");
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(code, ExitCode::kBadInput) << "the first one's";
  EXPECT_EQ(with_each({"a"}, [](const std::string&) { return ClusterResult<void>{}; }), ExitCode::kDone);
}

TEST(Mistakes, EndWithAClusterThatNobodyReaches) {
  std::vector<std::string> seen;
  ::testing::internal::CaptureStderr();
  const ExitCode code = with_each({"a", "b", "c", "d"}, [&](const std::string& name) -> ClusterResult<void> {
    seen.push_back(name);
    if (name == "a") return {};
    return tl::unexpected(ClusterError{
        {"not reached", ExitCode::kClusterUnreachable}, Trouble::kOutage, /*is_of_any_call=*/true});
  });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "not reached\nnot done: c, d\n");
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(code, ExitCode::kClusterUnreachable);
}

}  // namespace
}  // namespace caravan::cli
