#include "worker/trainer/loop/rank_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/testing/temporary_folder.h"
#include "data/testing/token_files.h"
#include "worker/trainer/comm/testing/fake_communicator.h"

namespace caravan::trainer {
namespace {

using testing::HasSubstr;

class OpenedData : public testing::Test {
 protected:
  using Lengths = std::vector<std::pair<std::string, uint16_t>>;

  // A folder of files with so many tokens each.
  std::string folder(const std::string& name, const Lengths& files) const {
    for (const auto& [file, length] : files) {
      std::vector<uint16_t> tokens(length);
      std::iota(tokens.begin(), tokens.end(), uint16_t{0});
      files_.write(name + "/" + file, data::llm_c_file(tokens).bytes());
    }
    return files_.path(name);
  }

  static BatchReader reader(const std::string& path, bool reads = true) {
    return BatchReader::open(path, {.sequence_length = 4,
                                    .global_batch_sequences = 2,
                                    .vocabulary = 1000,
                                    .reads_inputs = reads,
                                    .reads_targets = reads})
        .value();
  }

 private:
  const test::TemporaryFolder files_;
};

TEST_F(OpenedData, IsToldApartByNumbersNamesAndLengths) {
  const OpenedFiles own = opened_files(reader(folder("own", {{"a.bin", 20}, {"b.bin", 30}})));
  EXPECT_EQ(own.files, 2);
  EXPECT_EQ(own.tokens, 50);
  EXPECT_EQ(opened_files(reader(folder("copy", {{"a.bin", 20}, {"b.bin", 30}}))), own) << "on another node";
  EXPECT_NE(opened_files(reader(folder("fewer", {{"a.bin", 20}}))), own);
  EXPECT_NE(opened_files(reader(folder("named", {{"a.bin", 20}, {"c.bin", 30}}))), own);
  EXPECT_NE(opened_files(reader(folder("turned", {{"a.bin", 30}, {"b.bin", 20}}))), own);
  EXPECT_EQ(opened_files(reader("/nonexistent", /*reads=*/false)), OpenedFiles()) << "it reads nothing";
}

constexpr OpenedFiles kAll{.files = 2, .tokens = 50, .sum = 7};
constexpr OpenedFiles kFewer{.files = 1, .tokens = 20, .sum = 8};
constexpr OpenedFiles kRenamed{.files = 2, .tokens = 50, .sum = 9};
constexpr OpenedFiles kNone{};

TEST_F(OpenedData, IsHeldAgainstThatOfMostRanksThatRead) {
  EXPECT_EQ(
      difference({kFewer, kAll, kNone, kAll})->what,
      "rank 0 opened other files than rank 1: rank 1 has 2 files with 50 tokens, rank 0 has 1 file with "
      "20 tokens");
  EXPECT_FALSE(difference({kAll, kNone, kAll}));
  EXPECT_FALSE(difference({kNone, kNone}));
  EXPECT_EQ(difference({kNone, kAll, kFewer, kNone, kRenamed})->what,
            "ranks 2, 4 opened other files than rank 1: rank 1 has 2 files with 50 tokens, rank 2 has 1 file "
            "with 20 tokens");
  EXPECT_THAT(difference({kAll, kRenamed})->what, HasSubstr("rank 1 has as many, of other names"));
}

TEST_F(OpenedData, OfThousandsOfRanksIsToldInAShortSentence) {
  std::vector<OpenedFiles> opened(20'001, kAll);
  std::fill_n(opened.begin() + 1, 10'000, kFewer);
  EXPECT_THAT(difference(opened)->what, HasSubstr("ranks 1, 2, 3, 4, 5, 6, 7, 8 and 9992 more opened"));
}

// By rank.
std::vector<Outcome> compare_together(std::span<const RankData> data, const DataOptions& paths) {
  const auto world = make_fake_group(static_cast<int>(data.size()));
  std::vector<Outcome> outcomes(data.size());
  std::vector<std::jthread> ranks;
  for (std::size_t r = 0; r < data.size(); ++r)
    ranks.emplace_back([&, r] { outcomes[r] = compare_data(*world[r], data[r], paths); });
  ranks.clear();
  return outcomes;
}

// The message of whoever opened others names its machine.
TEST_F(OpenedData, ThatDiffersEndsAllRanksForTheSakeOfThoseThatDiffer) {
  const std::string whole = folder("whole", {{"a.bin", 20}, {"b.bin", 30}});
  const std::string part = folder("part", {{"a.bin", 20}});
  const auto compare = [&](const std::string& training, const std::string& validation) {
    const std::array<RankData, 3> data = {
        RankData{.training = reader(whole), .validation = reader(whole)},
        RankData{.training = reader(whole, /*reads=*/false), .validation = reader(whole, /*reads=*/false)},
        RankData{.training = reader(training), .validation = reader(validation)}};
    return compare_together(data, {.path = "train", .validation_path = "held-out"});
  };
  for (const Outcome& outcome : compare(whole, whole)) EXPECT_TRUE(outcome);
  const auto expect_refused = [](const std::vector<Outcome>& outcomes, const std::string& words) {
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
      ASSERT_FALSE(outcomes[rank]);
      EXPECT_EQ(outcomes[rank].error().reason,
                rank == 2 ? FailureReason::DataUnavailable : FailureReason::Communication)
          << "the next attempt may see them all";
      EXPECT_THAT(outcomes[rank].error().message, HasSubstr(words));
    }
  };
  expect_refused(compare(part, whole), "train: rank 2 opened other files than rank 0");
  expect_refused(compare(whole, part), "held-out: rank 2 opened other files than rank 0");
}

}  // namespace
}  // namespace caravan::trainer
