// `caravan schedule` through the real program.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/testing/checkout.h"
#include "common/testing/shell.h"

namespace caravan {
namespace {

using test::Outcome;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Outcome schedule(const std::string& arguments) {
  return test::run_shell(
      fmt::format("COLUMNS=80 '{}/caravan' schedule {}", test::program_folder(), arguments));
}

TEST(ScheduleCommand, DrawsTheTimelineAndSaysWhatItCosts) {
  const Outcome outcome = schedule("1F1B -p 2 -m 2");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(
      outcome.out,
      StartsWith("1F1B: 2 stages, 2 micro-batches\n"
                 "time 9, bubble 3 (33.3 %), idle between first and last op 3; micro-batches held: 2 1\n"
                 "\n"
                 "stage 0 F0------F1------................B0-------------"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
}

TEST(ScheduleCommand, ArrangesForTheTimesThatItIsGiven) {
  const auto lists = [](const char* times) {
    const std::string out = schedule(std::string("VHalf -p 4 -m 8 -o json --times ") + times).out;
    return out.substr(0, out.find("makespan"));
  };
  EXPECT_NE(lists("1,1,1"), lists("1,2,1"));
  EXPECT_EQ(lists("1,1,1"), lists("3,3,3"));
  const Outcome outcome = schedule("ZBH1 -p 4 -m 12 --times 10,12,8 -o json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(R"("makespan":402,"bubble":42,"spanBubble":42,"peaks":[4,4,4,4]})"));
}

TEST(ScheduleCommand, DrawsEverySchedule) {
  for (const char* name : {"GPipe", "1F1B", "Interleaved", "ZBH1", "ZBH2", "ZBAuto", "VMin", "VHalf", "VZB",
                           "Seq1F1B", "SeqZBH1"}) {
    const Outcome outcome = schedule(fmt::format("{} -p 4 -m 8 -o svg", name));
    EXPECT_EQ(outcome.exit_code, 0) << name << ": " << outcome.err;
    EXPECT_THAT(outcome.err, IsEmpty());
    EXPECT_THAT(outcome.out, StartsWith("<svg")) << name;
    EXPECT_THAT(outcome.out, HasSubstr(fmt::format("<title>{}: 4 stages, 8 micro-batches", name)));
  }
}

TEST(ScheduleCommand, TellsOfABubbleThatMoreMicroBatchesWouldFill) {
  const Outcome outcome = schedule("ZBH2 -p 4 -m 5 -o json");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err,
            "ZBH2 is made for 7 micro-batches or more on 4 stages; with 5 its bubble is longer\n");
}

TEST(ScheduleCommand, RefusesWhatIsNoSchedule) {
  const auto refuses = [](const std::string& arguments, const char* message) {
    const Outcome outcome = schedule(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << arguments;
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
  };
  refuses("Interleaved -p 4 -m 6",
          "Interleaved needs a multiple of its stages as micro-batches: 6 is none of 4");
  refuses("VHalf -p 4 -m 8 -v 3", "VHalf has two chunks on each stage");
  refuses("1F1B -p 4 -m 8 --times 1,0,1", "--times: 0 is no time");
  refuses("1F1B -p 4 -m 8 --times 1,nan,1", "--times: nan is no time");
  refuses("1F1B -p 4 -m 8 --times 1,1e308,1", "--times: 1e+308 is no time");
  refuses("1F1B -p 4 -m 8 --hold 2", "--hold is for ZBAuto");
  refuses("1F1B -p 256 -m 4096", "1048576 stages x micro-batches");
  refuses("1F1B -p 257 -m 4", "--stages");
  refuses("1F2B -p 4 -m 4", "NAME: expected one of GPipe, 1F1B, ");
  refuses("1F1B -p 4", "--micro-batches is required");
  refuses("-p 4 -m 8", "NAME is required");
  refuses("1F1B --from traces", "--from: NAME follows from the traces; leave it out");
  refuses("--from traces -m 8", "--from: --micro-batches follows from the traces; leave it out");
  refuses("--from traces --times 1,1,1", "--from: --times follows from the traces; leave it out");
  refuses("--from /no/traces", "cannot read /no/traces/rank-0.json: No such file or directory");
  refuses("--from ''", "cannot read /rank-0.json");
}

}  // namespace
}  // namespace caravan
