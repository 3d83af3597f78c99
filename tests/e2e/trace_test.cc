// What a run executed, drawn: `caravan run --trace`, then `caravan schedule --from`.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

Outcome drawn_from(const std::string& folder, const std::string& more = "") {
  return run_shell(
      fmt::format("COLUMNS=80 '{}/caravan' schedule --from '{}' {}", program_folder(), folder, more));
}

TEST(Trace, OfARunIsDrawnBesideTheSimulatedSchedule) {
  const JobFolder folder;
  const std::string traces = folder.files().path("new/traces");
  const Finished finished =
      run(folder.arguments({.pipeline = 2, .schedule = "VHalf", .steps = 2}, {"--trace", traces}));
  ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
  EXPECT_TRUE(fs::exists(traces + "/rank-0.json"));
  EXPECT_TRUE(fs::exists(traces + "/rank-1.json"));

  const Outcome text = drawn_from(traces);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.err, IsEmpty());
  EXPECT_THAT(text.out,
              testing::ContainsRegex("^VHalf: 2 stages, 8 micro-batches, 2 chunks on each stage; step 2\n"
                                     "\n"
                                     "executed: [0-9.]+ ms, bubble [0-9.]+ ms \\([0-9.]+ %\\)\n"
                                     "stage 0 [0-9abFBW.-]+\n"
                                     "stage 1 [0-9abFBW.-]+\n"
                                     "\n"
                                     "simulated with the mean times of the ops: [0-9.]+ ms"));
  std::istringstream lines(text.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("stage ")) {
      EXPECT_EQ(line.size(), 80U) << line;
    }
  }
  EXPECT_THAT(drawn_from(traces, "-o svg").out,
              HasSubstr("<title>VHalf: 2 stages, 8 micro-batches, 2 chunks on each stage; step 2"));
  EXPECT_THAT(drawn_from(traces, "-o json").out, HasSubstr(R"({"schedule":"VHalf","step":2,"executed":)"));

  fs::remove(traces + "/rank-1.json");
  const Outcome incomplete = drawn_from(traces);
  EXPECT_EQ(incomplete.exit_code, 2);
  EXPECT_THAT(incomplete.err, HasSubstr(traces + "/rank-1.json: cannot open"));
}

TEST(Trace, IntoAFolderThatTakesNoFilesIsRefusedBeforeAnythingStarts) {
  const JobFolder folder;
  const std::string file = folder.files().write("file", "");
  const Finished finished = run(folder.arguments({.pipeline = 2}, {"--trace", file}));
  EXPECT_EQ(finished.status.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("--trace: cannot write into '" + file + "': "));
  EXPECT_TRUE(finished.lines.empty());
}

}  // namespace
}  // namespace caravan::test
