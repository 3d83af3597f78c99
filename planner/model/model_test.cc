#include <gtest/gtest.h>

#include "planner/model/parameters.h"
#include "planner/model/presets.h"
#include "planner/plan.h"

namespace caravan::planner {
namespace {

ModelShape preset(const std::string& name) {
  return find_preset(name).value();
}

struct PublishedCount {
  std::string preset;
  int64_t parameters;
};

void PrintTo(const PublishedCount& model, std::ostream* out) {
  *out << model.preset;
}

class Presets : public testing::TestWithParam<PublishedCount> {};

TEST_P(Presets, HaveExactlyAsManyParametersAsThePublishedModels) {
  EXPECT_EQ(parameter_count(preset(GetParam().preset)), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(HuggingFace, Presets,
                         testing::Values(PublishedCount{"llama2-7b", 6'738'415'616},
                                         PublishedCount{"llama2-13b", 13'015'864'320},
                                         PublishedCount{"llama2-70b", 68'976'648'192},
                                         PublishedCount{"llama3-8b", 8'030'261'248},
                                         PublishedCount{"llama3-70b", 70'553'706'496},
                                         PublishedCount{"llama3.1-8b", 8'030'261'248},
                                         PublishedCount{"llama3.1-70b", 70'553'706'496},
                                         PublishedCount{"llama3.1-405b", 405'853'388'800},
                                         PublishedCount{"llama3.2-1b", 1'235'814'400},
                                         PublishedCount{"llama3.2-3b", 3'212'749'824}),
                         [](const auto& info) {
                           std::string name = info.param.preset;
                           for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

TEST(ModelPresets, SmallShapesFitACpuAndSplitOverFourRanks) {
  for (const std::string name : {"llama-tiny", "llama-mini", "llama-small"}) {
    const ModelShape shape = preset(name);
    EXPECT_LT(parameter_count(shape), 25'000'000) << name;
    EXPECT_EQ(shape.layers % 4, 0) << name;
    EXPECT_EQ(shape.kv_heads % 2, 0) << name;
  }
}

TEST(ModelPresets, EveryListedNameIsFoundAndStandsInOrderOfSize) {
  int64_t smaller = 0;
  for (const std::string& name : preset_names()) {
    const ModelShape shape = preset(name);
    EXPECT_EQ(shape.name, name);
    EXPECT_GE(parameter_count(shape), smaller) << name;
    smaller = parameter_count(shape);
  }
}

v1alpha1::Model architecture(int hidden, int heads, int kv_heads) {
  v1alpha1::Model model;
  auto* given = model.mutable_architecture();
  given->set_hidden_size(hidden);
  given->set_layers(2);
  given->set_heads(heads);
  if (kv_heads > 0) given->set_kv_heads(kv_heads);
  given->set_ffn_size(100);
  given->set_vocab_size(300);
  return model;
}

TEST(ResolveModelShape, FillsInWhatAnArchitectureLeavesOut) {
  const auto shape = resolve_model_shape(architecture(64, 4, 0));
  ASSERT_TRUE(shape) << shape.error().message;
  EXPECT_EQ(shape->kv_heads, 4);
  EXPECT_EQ(shape->head_dim, 16);
  EXPECT_EQ(shape->rope_theta, 500000);
  EXPECT_EQ(shape->norm_eps, 1e-5);
}

TEST(ResolveModelShape, ReadsDecimalsAndScaling) {
  v1alpha1::Model model = architecture(64, 4, 2);
  model.mutable_architecture()->set_rope_theta("1e4");
  model.mutable_architecture()->set_norm_eps("1e-6");
  model.mutable_architecture()->mutable_rope_scaling()->set_factor("32");
  const auto shape = resolve_model_shape(model);
  ASSERT_TRUE(shape) << shape.error().message;
  EXPECT_EQ(shape->rope_theta, 1e4);
  EXPECT_EQ(shape->norm_eps, 1e-6);
  EXPECT_EQ(shape->rope_scaling, RopeScaling{.factor = 32});
}

// The schema takes it, and std::from_chars alone does not.
TEST(ResolveModelShape, ADecimalMayHaveASign) {
  v1alpha1::Model model = architecture(64, 4, 2);
  model.mutable_architecture()->set_rope_theta("+10000");
  model.mutable_architecture()->set_norm_eps("+1e-6");
  model.mutable_architecture()->mutable_rope_scaling()->set_factor("+32");
  const auto shape = resolve_model_shape(model);
  ASSERT_TRUE(shape) << shape.error().message;
  EXPECT_EQ(shape->rope_theta, 10000);
  EXPECT_EQ(shape->norm_eps, 1e-6);
  EXPECT_EQ(shape->rope_scaling, RopeScaling{.factor = 32});
}

TEST(ResolveModelShape, APresetTakesTheVocabularyOfAnotherTokenizerAndNothingElse) {
  v1alpha1::Model model;
  model.set_preset("llama3.1-8b");
  ModelShape expected = resolve_model_shape(model).value();
  model.set_vocab_size(32'000);
  expected.vocab = 32'000;
  EXPECT_EQ(resolve_model_shape(model).value(), expected);
}

struct BadModel {
  std::string name;
  v1alpha1::Model model;
  std::string says;
};

TEST(ResolveModelShape, NamesTheFieldOfWhatIsWrong) {
  v1alpha1::Model unknown;
  unknown.set_preset("llama9-1b");
  v1alpha1::Model empty_vocabulary;
  empty_vocabulary.set_preset("llama-tiny");
  empty_vocabulary.set_vocab_size(0);
  v1alpha1::Model theta = architecture(64, 4, 2);
  theta.mutable_architecture()->set_rope_theta("ten thousand");
  v1alpha1::Model scaled = architecture(64, 4, 2);
  scaled.mutable_architecture()->mutable_rope_scaling()->set_factor("0x20");
  const BadModel cases[] = {
      {"indivisible key heads", architecture(64, 4, 3),
       "spec.model.architecture.kvHeads: heads must be divisible by kvHeads"},
      {"indivisible hidden size", architecture(65, 4, 2),
       "spec.model.architecture.heads: hiddenSize must be divisible"},
      {"odd head dimension", architecture(12, 4, 2), "spec.model.architecture.headDim: headDim must be even"},
      {"no heads", architecture(64, 0, 2), "spec.model.architecture.heads: must be at least 1"},
      {"unknown preset", unknown,
       "spec.model.preset: no preset is named \"llama9-1b\"; the presets are llama-tiny"},
      {"no decimal", theta, "spec.model.architecture.ropeTheta: \"ten thousand\" is not a decimal number"},
      {"no decimal of the scaling", scaled,
       "spec.model.architecture.ropeScaling.factor: \"0x20\" is not a decimal number"},
      {"no vocabulary", empty_vocabulary, "spec.model.vocabSize: must be at least 1; it is 0"},
      {"nothing", {}, "spec.model: exactly one of preset"},
  };
  for (const BadModel& bad : cases) {
    const auto shape = resolve_model_shape(bad.model);
    ASSERT_FALSE(shape) << bad.name;
    EXPECT_EQ(shape.error().code, ExitCode::kBadInput) << bad.name;
    EXPECT_NE(shape.error().message.find(bad.says), std::string::npos)
        << bad.name << ": " << shape.error().message;
  }
}

}  // namespace
}  // namespace caravan::planner
