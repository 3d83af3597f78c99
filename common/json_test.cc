#include "common/json.h"

#include <gmock/gmock.h>

#include <limits>

#include "caravan/v1alpha1/job.pb.h"
#include "caravan/v1alpha1/plan.pb.h"
#include "caravan/v1alpha1/rank.pb.h"
#include "common/json_of_any_version.h"

namespace caravan {
namespace {

using ::testing::HasSubstr;

TEST(Json, NumbersArePlainAndShort) {
  v1alpha1::StepReport step;
  step.set_step(7);
  step.set_loss(0.1);
  step.set_seconds(1e-7);
  step.set_tokens(9'007'199'254'740'993);
  const std::string text = to_json(step);
  EXPECT_THAT(text, HasSubstr(R"("step":7,"loss":0.1,)"));
  EXPECT_THAT(text, HasSubstr(R"("seconds":1e-07)"));
  EXPECT_THAT(text, HasSubstr(R"("tokens":9007199254740993)")) << "beyond 2^53";
}

TEST(Json, WhatIsNotANumberIsNull) {
  v1alpha1::StepReport step;
  step.set_loss(std::numeric_limits<double>::quiet_NaN());
  step.set_gradient_norm(-std::numeric_limits<double>::infinity());
  EXPECT_THAT(to_json(step), HasSubstr(R"("loss":null,"gradientNorm":null)"));
  const auto back = from_json<v1alpha1::StepReport>(to_json(step));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_FALSE(back->has_loss());
}

TEST(Json, WhatIsAbsentIsLeftOut) {
  EXPECT_EQ(to_json(v1alpha1::JobSpec()), "{}");
  v1alpha1::Device device;
  device.set_kind(v1alpha1::Device::CPU);
  EXPECT_EQ(to_json(device), R"({"kind":"CPU"})");
  v1alpha1::Training training;
  training.set_seed(0);
  EXPECT_EQ(to_json(training), R"({"seed":0})") << "a zero that was given stays";
  v1alpha1::Candidate candidate;
  EXPECT_THAT(to_json(candidate), HasSubstr(R"("fits":false)"))
      << "a number without presence is always there";
}

TEST(Json, AValueThatTheSchemaDoesNotKnowIsItsNumber) {
  v1alpha1::Optimizer optimizer;
  optimizer.set_kind(static_cast<v1alpha1::Optimizer::Kind>(77));
  EXPECT_EQ(to_json(optimizer), R"({"kind":77})");
  const auto back = from_json<v1alpha1::Optimizer>(to_json(optimizer));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->kind(), 77);
  EXPECT_EQ(enum_name(*v1alpha1::Optimizer::Kind_descriptor(), 77), std::nullopt);
  EXPECT_EQ(enum_name(*v1alpha1::Optimizer::Kind_descriptor(), v1alpha1::Optimizer::AdamW), "AdamW");
}

TEST(Json, MapEntriesStandInTheOrderOfTheirKeys) {
  v1alpha1::ObjectMeta meta;
  for (const char* key : {"c", "a", "d", "b"}) meta.mutable_labels()->insert({key, std::string("x")});
  EXPECT_EQ(to_json(meta), R"({"labels":{"a":"x","b":"x","c":"x","d":"x"}})");
}

TEST(Json, StringsAreEscapedAndAlwaysUtf8) {
  EXPECT_EQ(json_string("a\"b\\c\n\x01\xC3\xA9"), R"("a\"b\\c\n\u0001)"
                                                  "\xC3\xA9\"");
  EXPECT_EQ(json_string("\x7F \xC2\x9B \xC2\xA0"), "\"\\u007f \\u009b \xC2\xA0\"");
  EXPECT_EQ(json_string("cut \xE2\x82"), "\"cut \xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(Json, IndentedTextHasOneFieldPerLine) {
  v1alpha1::Parallelism parallelism;
  parallelism.set_tensor(2);
  parallelism.add_layers_per_stage(3);
  parallelism.add_layers_per_stage(4);
  EXPECT_EQ(to_json(parallelism, JsonLayout::kIndented),
            "{\n  \"tensor\": 2,\n  \"layersPerStage\": [\n    3,\n    4\n  ]\n}");
  EXPECT_EQ(to_json(v1alpha1::Parallelism(), JsonLayout::kIndented), "{}");
}

TEST(Json, AMessageReadsBackTheSame) {
  v1alpha1::RankConfig config;
  config.set_rank(3);
  config.set_report_fd(-1);
  config.mutable_plan()->set_peak_bytes(std::numeric_limits<std::int64_t>::max());
  config.mutable_plan()->set_mfu(1.0 / 3);
  config.mutable_plan()->add_layers_per_stage(2);
  config.mutable_spec()->mutable_training()->mutable_optimizer()->set_learning_rate("3e-4");
  config.mutable_spec()->mutable_failure_policy()->add_rules_list()->set_action(v1alpha1::FailureRule::Fail);
  for (const JsonLayout layout : {JsonLayout::kOneLine, JsonLayout::kIndented}) {
    const auto back = from_json<v1alpha1::RankConfig>(to_json(config, layout));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->SerializeAsString(), config.SerializeAsString());
  }
}

TEST(Json, BadTextIsAnErrorThatNamesTheMessage) {
  for (const char* text :
       {"", "{", "[]", R"({"rnak":1})", R"({"rank":"x"})", R"({"rank":1.5})", "{\"jobName\":\"\xFF\"}"}) {
    const auto config = from_json<v1alpha1::RankConfig>(text);
    ASSERT_FALSE(config) << text;
    EXPECT_THAT(config.error().message, HasSubstr("RankConfig"));
    EXPECT_EQ(config.error().code, ExitCode::kBadInput);
  }
}

TEST(JsonOfAnyVersion, LeavesOutWhatItDoesNotKnowAndNamesIt) {
  const auto known = from_json_of_any_version<v1alpha1::StepReport>(R"({"step": 7})");
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(known->message.step(), 7);
  EXPECT_EQ(known->left_out, "");
  const auto later = from_json_of_any_version<v1alpha1::StepReport>(R"({"warmth": {"of": 1}, "step": 7})");
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->message.step(), 7);
  EXPECT_THAT(later->left_out, HasSubstr("warmth"));
  const auto value =
      from_json_of_any_version<v1alpha1::Device>(R"({"kind": "OF_A_LATER_VERSION", "product": "H900"})");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(value->message.product(), "H900");
  EXPECT_EQ(value->message.kind(), v1alpha1::Device::KindUnspecified);
  EXPECT_THAT(value->left_out, HasSubstr("kind"));
}

TEST(JsonOfAnyVersion, WhatIsMalformedIsAnErrorAllTheSame) {
  for (const char* text : {"", "{", R"({"step": })", R"({"step": "seven"})", "[]"})
    EXPECT_FALSE(from_json_of_any_version<v1alpha1::StepReport>(text)) << text;
}

}  // namespace
}  // namespace caravan
