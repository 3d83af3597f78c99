// Whatever is asked for: the file loads, also with every comment taken away, and a layout of it fits.
#include "cli/init/new_job.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <regex>

#include "cli/load_job.h"
#include "cli/run/device_facts.h"
#include "common/testing/sample.h"
#include "common/testing/turn.h"
#include "planner/engine_profile.h"
#include "planner/model/presets.h"
#include "planner/plan.h"

namespace caravan::cli {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Machine kMachine{.cores = 4, .memory_bytes = int64_t{16} << 30};

LoadedJob load(const std::string& text) {
  auto loaded = parse_job(text, "job.yaml", {});
  EXPECT_TRUE(loaded) << loaded.error().message << "\n" << text;
  return loaded.value_or(LoadedJob{});
}

// Fields only; what is left as a comment has a space behind its '#'.
std::string without_marks(const std::string& text) {
  return std::regex_replace(text, std::regex("(^|\n)( *)#(?=[a-z]|  )"), "$1$2");
}

// GPUs are looked at once for each preset, since their number is searched for.
std::vector<JobWish> all_wishes() {
  const TokenFacts tokens{.tokens = 4'000'000, .largest_id = 40'000};
  std::vector<JobWish> wishes;
  for (const std::string& preset : planner::preset_names()) {
    for (const char* claim : {"", "corpus"}) {
      wishes.push_back({.preset = preset, .data = "train.bin", .claim = claim});
      wishes.push_back({.preset = preset, .data = "train.bin", .tokens = tokens, .claim = claim});
    }
    wishes.push_back({.preset = preset, .data = "train", .product = "H100-80GB", .claim = "corpus"});
  }
  return wishes;
}

void expect_loads_with_every_suggestion(const NewJob& made) {
  const LoadedJob loaded = load(without_marks(job_text(made)));
  EXPECT_THAT(loaded.notes, IsEmpty());
  const v1alpha1::JobSpec& spec = loaded.job.spec();
  EXPECT_GT(spec.training().evaluation().every_steps(), 0) << "a suggestion";
  EXPECT_EQ(spec.parallelism().tensor(), 1);
  EXPECT_GT(spec.model().vocab_size(), 0);
}

TEST(NewJob, OfEveryKindLoadsWithoutARemarkAndFits) {
  for (const JobWish& wish : test::sampled(all_wishes(), 12)) {
    SCOPED_TRACE(fmt::format("{} on '{}', claim '{}', {}", wish.preset, wish.product, wish.claim,
                             wish.tokens ? "with tokens" : "without"));
    const auto made = make_new_job(wish, kMachine);
    if (!made) {
      EXPECT_THAT(made.error().message, AnyOf(HasSubstr("fit"), HasSubstr("too few")));
      const bool is_large = planner::find_preset(wish.preset)->positions.has_value();
      EXPECT_TRUE(is_large && (wish.product.empty() || wish.tokens)) << made.error().message;
      continue;
    }
    expect_loads_with_every_suggestion(*made);
    const LoadedJob loaded = load(job_text(*made));
    EXPECT_THAT(loaded.notes, IsEmpty());
    EXPECT_THAT(loaded.cluster_only, IsEmpty());
    const v1alpha1::JobSpec& spec = loaded.job.spec();
    const auto plan =
        planner::plan_job(spec, device_facts(spec.resources(), kMachine), planner::default_engine_profile());
    EXPECT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(spec.model().vocab_size() > 0,
              wish.tokens && planner::find_preset(wish.preset)->vocab <= 40'000);
  }
}

TEST(NewJob, TakesAsFewGpusAsTheModelFitsInto) {
  CARAVAN_BY_TURNS();
  const auto few = make_new_job({.preset = "llama3.2-1b", .data = "d", .product = "H100-80GB"}, kMachine);
  ASSERT_TRUE(few) << few.error().message;
  const auto many = make_new_job({.preset = "llama3-70b", .data = "d", .product = "H100-80GB"}, kMachine);
  ASSERT_TRUE(many) << many.error().message;
  EXPECT_EQ(few->job.spec().resources().devices(), 1);
  EXPECT_GT(many->job.spec().resources().devices(), 8);
  const auto half = make_new_job({.preset = "llama3-70b",
                                  .data = "d",
                                  .devices = many->job.spec().resources().devices() / 2,
                                  .product = "H100-80GB"},
                                 kMachine);
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code, ExitCode::kDoesNotFit);
}

// Or no node would ever have a place for its pods.
TEST(NewJob, AsksForGpusByTheResourceOfTheirVendor) {
  const auto resource_of = [](const char* product) {
    const auto made = make_new_job(
        {.preset = "llama3.2-1b", .data = "d", .devices = 8, .product = product, .claim = "corpus"},
        kMachine);
    return made ? load(job_text(*made)).job.spec().resources().device().resource_name()
                : made.error().message;
  };
  EXPECT_EQ(resource_of("MI300X"), "amd.com/gpu");
  EXPECT_EQ(resource_of("AMD_Instinct_MI300X_OAM"), "amd.com/gpu");
  EXPECT_EQ(resource_of("H100-80GB"), "nvidia.com/gpu");
}

TEST(NewJob, WhereAModelDoesNotFitOnACpuNamesGpus) {
  CARAVAN_BY_TURNS();
  const auto made = make_new_job({.preset = "llama3-70b", .data = "d"}, kMachine);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ExitCode::kDoesNotFit);
  EXPECT_THAT(made.error().message, HasSubstr("--device H100-80GB"));
}

TEST(NewJob, AnswersTheDataWithTheVocabularyThatTheyNeed) {
  const TokenFacts tokens{.tokens = 1'000'000, .largest_id = 300};
  const auto larger = make_new_job({.preset = "llama-mini", .data = "d", .tokens = tokens}, kMachine);
  ASSERT_TRUE(larger);
  EXPECT_EQ(larger->job.spec().model().vocab_size(), 301);
  EXPECT_THAT(larger->notes.front(), HasSubstr("--vocab-size"));
  const auto given =
      make_new_job({.preset = "llama-mini", .data = "d", .tokens = tokens, .vocab_size = 512}, kMachine);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->job.spec().model().vocab_size(), 512);
  const auto exact =
      make_new_job({.preset = "llama-mini", .data = "d", .tokens = tokens, .vocab_size = 301}, kMachine);
  EXPECT_TRUE(exact) << exact.error().message;
  const auto small =
      make_new_job({.preset = "llama-mini", .data = "d", .tokens = tokens, .vocab_size = 300}, kMachine);
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, ExitCode::kBadInput);
  EXPECT_EQ(small.error().message, "--vocab-size: d has tokens up to 300; give 301 or more");
}

TEST(NewJob, ExplainsItsFieldsInTheSchemasWords) {
  const auto made = make_new_job({.preset = "llama-mini", .data = "d"}, kMachine);
  ASSERT_TRUE(made);
  const std::string text = job_text(*made);
  EXPECT_THAT(text, HasSubstr("    # Tokens per sequence.\n    sequenceLength: 128\n"));
  EXPECT_THAT(text, Not(HasSubstr("claimName")));
  EXPECT_THAT(text, HasSubstr("take the # away from every line, the first one too"));
}

}  // namespace
}  // namespace caravan::cli
