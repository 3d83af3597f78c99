// What a run executed, drawn: `caravan run --trace`, then `caravan schedule --from`. Where the time of a step
// went: `caravan trace`.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "common/json.h"
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
  EXPECT_THAT(incomplete.err, HasSubstr("cannot read " + traces + "/rank-1.json"));
}

TEST(Trace, ChangesNoBitOfWhatIsComputed) {
  const JobFolder folder;
  const TinyJob job{.tensor = 2, .steps = 3};
  const Finished plain = run(folder.arguments(job));
  const Finished traced = run(folder.arguments(job, {"--trace", folder.files().path("traces")}));
  ASSERT_EQ(plain.status.exit_code, 0) << plain.err;
  ASSERT_EQ(traced.status.exit_code, 0) << traced.err;
  EXPECT_THAT(losses_by_step(plain), testing::SizeIs(3));
  EXPECT_EQ(losses_by_step(traced), losses_by_step(plain));
}

// The events of a rank: their categories, and what those that are in nothing else took together.
struct RankEvents {
  std::set<std::string> categories;
  double step = 0;
  double of_the_step = 0;  // ops, waits and phases, which stand beside each other in the step
  double end = 0;          // of the last of these
};

std::map<int, RankEvents> events_by_rank(const JsonObject& trace) {
  std::map<int, RankEvents> ranks;
  for (const auto& value : trace.fields().at("traceEvents").list_value().values()) {
    const JsonObject& event = value.struct_value();
    if (test::text(event, "ph") != "X") continue;
    RankEvents& rank = ranks[static_cast<int>(number(event, "tid"))];
    EXPECT_EQ(number(event, "pid"), number(event, "tid") >= 2 ? 1 : 0) << "the stage is the process";
    const std::string category = test::text(event, "cat");
    rank.categories.insert(category);
    if (category == "step") {
      rank.step = number(event, "dur");
      continue;
    }
    if (number(event, "ts") < rank.end) continue;
    rank.end = number(event, "ts") + number(event, "dur");
    rank.of_the_step += number(event, "dur");
  }
  return ranks;
}

TEST(Trace, OfAJobIsOneFileOfAllRanksAndATable) {
  const JobFolder folder;
  std::vector<std::string> more = {"checkpoint:", "  path: " + folder.files().path("checkpoints")};
  const std::string job = folder.write({.tensor = 2, .pipeline = 2, .steps = 6, .more = more});
  const std::string file = folder.files().path("trace.json");
  const std::string command = fmt::format("COLUMNS=100 '{}/caravan' trace '{}' {} --steps 2 --to '{}'",
                                          program_folder(), job, fmt::join(folder.volume(), " "), file);
  const Outcome text = run_shell(command);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, testing::ContainsRegex("^[a-z-]+: step 2 took [0-9.]+ ms, mean of 4 ranks\n"));
  for (const char* part : {"\nmatrix products ", "\nattention ", "\nrms_norm ", "\ntensor all_reduce ",
                           "\nwaiting for other stages ", "\ndata ", "\noptimizer update ", "\nrest "})
    EXPECT_THAT(text.out, HasSubstr(part));
  EXPECT_THAT(text.out, HasSubstr("all events: " + file));
  EXPECT_FALSE(fs::exists(folder.files().path("checkpoints")));

  const auto trace = from_json<JsonObject>(test::contents(file));
  ASSERT_TRUE(trace) << trace.error().message;
  const std::map<int, RankEvents> ranks = events_by_rank(*trace);
  ASSERT_EQ(ranks.size(), 4U);
  for (const auto& [rank, events] : ranks) {
    EXPECT_THAT(events.categories, testing::IsSupersetOf({"step", "phase", "forward", "backward", "wait",
                                                          "product", "attention", "kernel", "communication"}))
        << "rank " << rank;
    EXPECT_GT(events.of_the_step, 0) << "rank " << rank;
    EXPECT_LE(events.of_the_step, events.step) << "rank " << rank;
  }

  const Outcome json = run_shell(command + " -o json");
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const auto profile = from_json<JsonObject>(json.out);
  ASSERT_TRUE(profile) << json.out;
  double all = 0;
  for (const auto& part : profile->fields().at("parts").list_value().values())
    all += number(part.struct_value(), "seconds");
  EXPECT_NEAR(all, number(*profile, "seconds"), 1e-9);
}

TEST(Trace, IntoAFileThatCannotBeWrittenIsRefusedBeforeAnythingStarts) {
  const JobFolder folder;
  const Outcome outcome = run_shell(fmt::format("'{}/caravan' trace '{}' --to '{}'", program_folder(),
                                                folder.write({}), folder.files().path("")));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--to: cannot write '"));
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST(Trace, ReplacesNothingButAnotherTrace) {
  const JobFolder folder;
  const std::string job = folder.write({});
  const std::string before = contents(job);
  const Outcome outcome =
      run_shell(fmt::format("'{}/caravan' trace '{}' --to '{}'", program_folder(), job, job));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("exists already and is no trace"));
  EXPECT_EQ(contents(job), before);
  const Outcome to_standard_output =
      run_shell(fmt::format("'{}/caravan' trace '{}' --to -", program_folder(), job));
  EXPECT_EQ(to_standard_output.exit_code, 2);
  EXPECT_THAT(to_standard_output.err,
              HasSubstr("--to: a trace is written to a file, not to standard output"));
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
