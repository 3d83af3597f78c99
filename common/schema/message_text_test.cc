#include "common/schema/message_text.h"

#include <gtest/gtest.h>

namespace caravan::schema {
namespace {

const std::vector<std::string> kNames = {"steps",     "sequenceLength", "globalBatchSequences",
                                         "precision", "seed",           "optimizer"};

TEST(Nearest, FindsTheNameThatWasMeant) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"step", "steps"},
      {"Steps", "steps"},
      {"sequence_length", "sequenceLength"},
      {"seqLength", "sequenceLength"},
      {"optimiser", "optimizer"},
      {"presicion", "precision"},
      {"sede", "seed"},
      {"opt", "optimizer"},
  };
  for (const auto& [written, meant] : cases) EXPECT_EQ(closest_match(written, kNames), meant) << written;
}

TEST(Nearest, IsWhatWasNotWrittenToItsEndBeforeWhatDiffersInALetter) {
  const std::vector<std::string> products = {"H100-80GB", "H100-NVL", "H200", "A100-80GB"};
  EXPECT_EQ(closest_match("h100", products), "H100-80GB");
  EXPECT_EQ(closest_match("h200", products), "H200");
  EXPECT_EQ(closest_match("set", {"settings", "sets", "Set"}), "Set");
}

TEST(Nearest, OfShortWordsDiffersInOneLetterAtMost) {
  const std::vector<std::string> commands = {"init", "validate", "plan", "run",   "trace",
                                             "data", "list",     "get",  "delete"};
  EXPECT_EQ(closest_match("rnu", commands), "run");
  EXPECT_EQ(closest_match("lst", commands), "list");
  for (const char* word : {"train", "stat", "help", "ls"})
    EXPECT_EQ(closest_match(word, commands), std::nullopt) << word;
}

TEST(Nearest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(closest_match("zzz", kNames), std::nullopt);
  EXPECT_EQ(closest_match("", kNames), std::nullopt);
  EXPECT_EQ(closest_match("lr", kNames), std::nullopt);
  EXPECT_EQ(closest_match(std::string(100'000, 's'), kNames), std::nullopt);
  EXPECT_EQ(closest_match("steps", {}), std::nullopt);
  EXPECT_EQ(closest_match("--svg", {"--set", "--output"}), std::nullopt) << "dashes make no word longer";
}

TEST(InQuotes, IsShortAndSafeToPrint) {
  EXPECT_EQ(in_quotes("abc"), "\"abc\"");
  EXPECT_EQ(in_quotes("\x1B[31m\n"), "\"\\u001b[31m\\n\"");
  EXPECT_EQ(in_quotes(std::string(60, 'x')), '"' + std::string(60, 'x') + '"');
  EXPECT_EQ(in_quotes(std::string(61, 'x')), '"' + std::string(60, 'x') + "...\"");
  const std::string umlaut = "\xC3\xA4";
  EXPECT_EQ(in_quotes(std::string(59, 'x') + umlaut), '"' + std::string(59, 'x') + "...\"")
      << "no character is cut in two";
}

TEST(ChildPath, QuotesWhatIsNoPlainName) {
  EXPECT_EQ(child_path("", "spec"), "spec");
  EXPECT_EQ(child_path("spec", "training"), "spec.training");
  EXPECT_EQ(child_path("spec", "a b"), "spec.\"a b\"");
  EXPECT_EQ(child_path("spec", ""), "spec.\"\"");
}

}  // namespace
}  // namespace caravan::schema
