#include "worker/trainer/loop/rank_config.h"

#include <gtest/gtest.h>

#include <regex>

#include "common/testing/temporary_folder.h"
#include "worker/trainer/loop/failure.h"

namespace caravan::trainer {
namespace {

const std::string kConfig = R"({
  "jobName": "tiny", "attempt": 2, "rank": 1, "worldSize": 4,
  "masterAddress": "127.0.0.1", "masterPort": 29500, "masterListenFd": -1, "networkInterface": "lo",
  "spec": {
    "model": {"architecture": {"hiddenSize": 64, "layers": 4, "heads": 4, "kvHeads": 2, "ffnSize": 128, "vocabSize": 256}},
    "data": {"path": "train.bin"},
    "training": {"steps": 50, "sequenceLength": 32, "globalBatchSequences": 8, "precision": "FP32",
                 "optimizer": {"learningRate": "1e-3", "schedule": "Linear"}},
    "resources": {"devices": 4}
  },
  "plan": {"tensor": 2, "pipeline": 2, "data": 1, "microBatchSize": 2, "sequenceParallel": true,
           "activationCheckpointing": "Always", "layersPerStage": [1, 3], "schedule": "1F1B", "zeroStage": 1},
  "reportFd": -1, "commandFd": -1, "threads": 1
})";

std::string with(const std::string& pattern, const std::string& replacement) {
  const std::string changed = std::regex_replace(kConfig, std::regex(pattern), replacement);
  EXPECT_NE(changed, kConfig) << pattern;
  return changed;
}

TEST(RankConfig, ThePlansMemoryIsThatOfAPlanThatWasMadeAgain) {
  const test::TemporaryFolder folder;
  const auto planned = [&](const std::string& config) {
    return load_planned_memory(folder.write("rank.json", config)).value();
  };
  const planner::MemoryTerms first = planned(kConfig);
  const std::string correction = R"("memoryCorrection": {"term": "gradients", "percent": 150, "attempt": 1})";
  const planner::MemoryTerms again = planned(with(R"(\[1, 3\])", "[1, 3], " + correction));
  EXPECT_EQ(again.gradients, first.gradients * 3 / 2);
  EXPECT_EQ(again.parameters, first.parameters);
}

TEST(RankConfig, NamesTheDevice) {
  const std::string resources = R"("resources": \{"devices": 4\})";
  const auto with_kind = [&](const std::string& kind) {
    return with(resources, R"("resources": {"devices": 4, "device": {"kind": ")" + kind + R"("}})");
  };
  EXPECT_EQ(parse_rank_config(with_kind("GPU"))->device, DeviceKind::Gpu);
  EXPECT_EQ(parse_rank_config(with_kind("CPU"))->device, DeviceKind::Cpu);
  EXPECT_EQ(parse_rank_config(kConfig)->device, DeviceKind::Cpu) << "written by hand";
}

// Its memory came from a label of its node, or from a catalogue of the user's.
TEST(RankConfig, ThePlansMemoryIsKnownOfADeviceThatNoCatalogueHas) {
  const test::TemporaryFolder folder;
  const auto planned = [&](const std::string& config) {
    return load_planned_memory(folder.write("rank.json", config));
  };
  EXPECT_TRUE(planned(kConfig)) << "written by hand, for a processor";
  std::string unknown =
      with(R"("resources": \{"devices": 4\})",
           R"("resources": {"devices": 4, "device": {"kind": "GPU", "product": "NVIDIA-A10G"}})");
  EXPECT_FALSE(planned(unknown));
  unknown.replace(unknown.find(R"("plan": {)"), 9,
                  R"("plan": {"usableBytes": "21474836480", "devicesPerNode": 4, )");
  const auto terms = planned(unknown);
  ASSERT_TRUE(terms);
  EXPECT_GT(terms->parameters, 0);
}

TEST(RankConfig, BecomesPlainOptions) {
  const auto options = parse_rank_config(kConfig);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->rendezvous.attempt, 2);
  EXPECT_EQ(options->rendezvous.network_interface, "lo");
  EXPECT_EQ(options->model.kv_heads, 2);
  EXPECT_EQ(options->layout.layers_per_stage, (std::vector<int>{1, 3}));
  EXPECT_TRUE(options->layout.activation_checkpointing);
  EXPECT_EQ(options->precision, Precision::FP32);
  EXPECT_EQ(options->micro_batches(), 4);
  EXPECT_EQ(options->optimizer.learning_rate.shape, DecayShape::Linear);
}

TEST(RankConfig, AbsentFieldsHaveTheSchemasDefaults) {
  const auto options = parse_rank_config(with(R"(,\s*"optimizer": \{[^}]*\})", ""));
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->optimizer.learning_rate.peak, 3e-4);
  EXPECT_EQ(options->optimizer.learning_rate.warmup_steps, 5);
  EXPECT_FALSE(options->optimizer.learning_rate.warmup_is_given);
  EXPECT_EQ(options->optimizer.adamw.beta2, 0.95);
  EXPECT_EQ(options->optimizer.clip_norm, 1);
  EXPECT_EQ(options->optimizer.max_nonfinite_steps, 10);
  EXPECT_EQ(options->data.seed, 1u);
}

TEST(RankConfig, TakesWhatRunsAgainAndDoublePrecision) {
  const auto options = parse_rank_config(
      with(R"(\[1, 3\])", R"([1, 3], "recomputedLayers": [1, 2], "recomputedPart": "MLP")"));
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->layout.recomputed_part, planner::RecomputedPart::Mlp);
  EXPECT_EQ(options->layout.recomputed_layers, (std::vector<int>{1, 2}));
  const auto exact =
      parse_rank_config(with(R"("worldSize": 4)", R"("worldSize": 4, "doublePrecision": true)"));
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_EQ(exact->precision, Precision::FP64);
}

TEST(RankConfig, CheckpointsAreWrittenOnlyWhereTheJobAsksForThem) {
  EXPECT_EQ(parse_rank_config(kConfig)->checkpoint.path, "");
  const auto options = parse_rank_config(
      with(R"("resources")", R"("checkpoint": {"path": "/states", "keepLast": 7}, "resources")"));
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->checkpoint.path, "/states");
  EXPECT_FALSE(options->checkpoint.every_steps);
  EXPECT_FALSE(options->checkpoint.every_seconds);
  EXPECT_TRUE(options->checkpoint.resumes);
  EXPECT_EQ(options->checkpoint.keep_last, 7);
}

TEST(RankConfig, DescriptorsThatAreAbsentAreNone) {
  const auto options = parse_rank_config(with(R"("reportFd": -1, "commandFd": -1, )", ""));
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->report_fd, -1);
  EXPECT_EQ(options->command_fd, -1);
}

struct BadConfig {
  const char* pattern;
  const char* replacement;
  const char* message;
};

void PrintTo(const BadConfig& config, std::ostream* out) {
  *out << config.message;
}

class BadRankConfig : public testing::TestWithParam<BadConfig> {};

TEST_P(BadRankConfig, IsBadInputThatNamesTheField) {
  const auto options = parse_rank_config(with(GetParam().pattern, GetParam().replacement));
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code, ExitCode::kBadInput);
  EXPECT_NE(options.error().message.find(GetParam().message), std::string::npos) << options.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadRankConfig,
    testing::Values(
        BadConfig{R"("jobName")", R"("jobNam")", "jobNam"},
        BadConfig{R"("rank": 1)", R"("rank": 4)", "rank must be from 0"},
        BadConfig{R"("worldSize": 4)", R"("worldSize": 3)", "worldSize is 3"},
        BadConfig{R"("masterPort": 29500)", R"("masterPort": 0)", "masterPort"},
        BadConfig{R"(\[1, 3\])", "[1, 2]", "plan.layersPerStage"},
        BadConfig{R"(\[1, 3\])", "[0, 4]", "plan.layersPerStage"},
        BadConfig{R"(\[1, 3\])", R"([1, 3], "recomputedLayers": [1, 4])", "plan.recomputedLayers"},
        BadConfig{R"(\[1, 3\])", R"([1, 3], "recomputedPart": "Attention")",
                  "plan.recomputedPart: 'Attention'"},
        BadConfig{R"(1F1B)", "Zigzag", "plan.schedule: 'Zigzag'"},
        BadConfig{R"(1F1B)", "ZBAuto", "plan.schedule: 'ZBAuto' is not available"},
        BadConfig{R"(1F1B)", "Seq1F1B", "plan.segmentTokens: two entries or more"},
        BadConfig{R"(\[1, 3\])", R"([1, 3], "segmentTokens": [16, 16])", "plan.segmentTokens: two entries"},
        BadConfig{R"(1F1B)", R"(Seq1F1B", "segmentTokens": [16, 16], "reason": ")", "plan.microBatchSize"},
        BadConfig{R"("microBatchSize": 2(,[^}]*)1F1B)",
                  R"("microBatchSize": 1$1Seq1F1B", "segmentTokens": [16, 14], "reason": ")",
                  "the segments have 30 tokens"},
        BadConfig{R"("microBatchSize": 2(,[^}]*)1F1B)",
                  R"("microBatchSize": 1$1Seq1F1B", "segmentTokens": [32, 0], "reason": ")",
                  "plan.segmentTokens: every entry must be above 0"},
        BadConfig{R"~("tensor": 2(,[^}]*)"microBatchSize": 2(,[^}]*)1F1B)~",
                  R"~("tensor": 0$1"microBatchSize": 1$2Seq1F1B", "segmentTokens": [16, 16], "reason": ")~",
                  "plan: tensor, pipeline"},
        BadConfig{R"(1F1B)", "VHalf", "plan.schedule: VHalf has two chunks on each stage"},
        BadConfig{R"(1F1B)", R"(Interleaved", "virtualStages": 2, "reason": ")", "plan.layersPerStage"},
        BadConfig{R"(\[1, 3\])", R"([1, 3], "groupTimes": [1, 2])", "plan.groupTimes: three numbers"},
        BadConfig{R"(\[1, 3\])", R"([1, 3], "groupTimes": [1, 2, 3, 4, 5, 0])",
                  "plan.groupTimes: every number"},
        BadConfig{R"("resources")", R"("checkpoint": {}, "resources")", "spec.checkpoint.path must be set"},
        BadConfig{R"("spec")", R"("jobUid": "../x", "spec")", "jobUid: '../x' has other characters"},
        BadConfig{R"("kvHeads": 2)", R"("kvHeads": 1)", "kvHeads"},
        BadConfig{R"("ffnSize": 128)", R"("ffnSize": 129)", "ffnSize"},
        BadConfig{R"("globalBatchSequences": 8)", R"("globalBatchSequences": 7)", "globalBatchSequences"},
        BadConfig{R"("sequenceLength": 32)", R"("sequenceLength": 31)", "sequenceLength"},
        BadConfig{R"("learningRate": "1e-3")", R"("learningRate": "fast")", "learningRate"},
        BadConfig{R"("zeroStage": 1)", R"("zeroStage": 2)", "zeroStage"},
        BadConfig{R"("steps": 50, )", R"("steps": 50, "evaluation": {"everySteps": 5}, )",
                  "validationPath"}));

TEST(RankConfig, AFileThatIsNotThereIsNamedAndIsNoBadInput) {
  const auto options = load_rank_config("/nonexistent/rank.json");
  ASSERT_FALSE(options);
  EXPECT_EQ(input_failure(options.error()).value().reason, FailureReason::DataUnavailable);
  EXPECT_NE(options.error().message.find("/nonexistent/rank.json"), std::string::npos);
}

}  // namespace
}  // namespace caravan::trainer
