#include "worker/trainer/data/batch_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

namespace caravan::trainer {
namespace {

constexpr int64_t kLength = 4;

// An llm.c file whose token at position p is p.
class BatchReaderTest : public testing::Test {
 protected:
  std::string write_tokens(uint16_t count) {
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "batch_reader_tokens.bin";
    std::vector<int32_t> header(256);
    header[0] = 20240520;
    header[1] = 1;
    header[2] = count;
    std::vector<uint16_t> tokens(count);
    for (uint16_t p = 0; p < count; ++p) tokens[p] = p;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(header.data()), 1024);
    file.write(reinterpret_cast<const char*>(tokens.data()), 2 * count);
    return path;
  }

  BatchOptions options(int data_rank, int data_size) {
    return {.sequence_length = kLength,
            .global_batch_sequences = 8,
            .micro_batch_size = 2,
            .vocabulary = 1000,
            .data_rank = data_rank,
            .data_size = data_size};
  }
};

std::vector<int64_t> first_tokens(const StepTokens& tokens) {
  std::vector<int64_t> first;
  for (int64_t n = 0; n < tokens.inputs_NS.size(0); ++n)
    first.push_back(tokens.inputs_NS[n][0].item<int64_t>());
  return first;
}

TEST_F(BatchReaderTest, TargetsAreInputsShiftedByOne) {
  const auto reader = BatchReader::open(write_tokens(200), options(0, 1));
  ASSERT_TRUE(reader) << reader.error().message;
  const TokenBatch batch = reader->read(0)->micro_batch(1);
  EXPECT_EQ(batch.inputs_BS.sizes(), (at::IntArrayRef{2, kLength}));
  for (int64_t s = 0; s < kLength; ++s)
    EXPECT_EQ(batch.targets_BS[1][s].item<int64_t>(), batch.inputs_BS[1][s].item<int64_t>() + 1);
  EXPECT_DOUBLE_EQ(batch.loss_scale, 1.0 / 32);
}

TEST_F(BatchReaderTest, SharesOfDataRanksMakeUpTheBatchOfOneRank) {
  const std::string path = write_tokens(200);
  for (const int64_t sample : {0, 24}) {
    const auto whole = first_tokens(*BatchReader::open(path, options(0, 1))->read(sample));
    auto parts = first_tokens(*BatchReader::open(path, options(0, 2))->read(sample));
    for (const int64_t token : first_tokens(*BatchReader::open(path, options(1, 2))->read(sample)))
      parts.push_back(token);
    EXPECT_EQ(parts, whole) << "sample " << sample;
  }
}

TEST_F(BatchReaderTest, AnEpochShowsEverySampleOnce) {
  const auto reader = BatchReader::open(write_tokens(16 * kLength + 1), options(0, 1));
  EXPECT_EQ(reader->samples(), 16);
  std::map<int64_t, int> seen;
  for (const int64_t sample : {0, 8}) {
    for (const int64_t token : first_tokens(*reader->read(sample))) ++seen[token];
  }
  EXPECT_EQ(seen.size(), 16u);
  for (const auto& [token, count] : seen) {
    EXPECT_EQ(token % kLength, 0);
    EXPECT_EQ(count, 1) << token;
  }
}

TEST_F(BatchReaderTest, TooFewTokensForOneSampleIsBadInputThatNamesTheFile) {
  const std::string path = write_tokens(kLength);
  const auto reader = BatchReader::open(path, options(0, 1));
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ExitCode::kBadInput);
  EXPECT_NE(reader.error().message.find(path), std::string::npos);
}

TEST_F(BatchReaderTest, ATokenOutsideTheVocabularyIsBadInput) {
  BatchOptions small = options(0, 1);
  small.vocabulary = 7;
  const auto batch = BatchReader::open(write_tokens(200), small)->read(0);
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, ExitCode::kBadInput);
}

TEST_F(BatchReaderTest, AStageInTheMiddleOpensNoFile) {
  BatchOptions middle = options(0, 1);
  middle.reads_inputs = middle.reads_targets = false;
  const auto reader = BatchReader::open("/nonexistent", middle);
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->read(0)->micro_batch(0).inputs_BS.defined());
}

}  // namespace
}  // namespace caravan::trainer
