#include "checkpoint/hugging_face/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "checkpoint/format/file_plan.h"
#include "checkpoint/hugging_face/tensors.h"
#include "planner/model/parameters.h"
#include "planner/model/presets.h"

namespace caravan::checkpoint {
namespace {

using planner::ModelShape;
using ::testing::HasSubstr;

TEST(HuggingFaceConfig, OfEveryPresetComesBackTheSame) {
  for (const std::string& name : planner::preset_names()) {
    const ModelShape model = planner::find_preset(name).value();
    const auto read = parse_config(config_json(model, ElementType::BF16, 2048));
    ASSERT_TRUE(read) << name << ": " << read.error().message;
    EXPECT_EQ(difference(*read, model), "") << name;
    EXPECT_EQ(read->positions, model.positions.value_or(2048)) << name;
  }
}

TEST(HuggingFaceConfig, HasThePositionsThatTheModelWasTrainedOn) {
  ModelShape model = planner::find_preset("llama3.1-8b").value();
  const auto positions = [&](int64_t sequence_length) {
    return parse_config(config_json(model, ElementType::BF16, sequence_length))->positions;
  };
  model.positions = 4096;
  EXPECT_EQ(positions(512), 4096);
  EXPECT_EQ(positions(8192), 8192);
  model.positions.reset();
  EXPECT_EQ(positions(512), 512);
}

// transformers warns of factors that are no floats, and refuses such an epsilon.
TEST(HuggingFaceConfig, HasFloatsWhereTransformersAsksForThem) {
  ModelShape model = planner::find_preset("llama3.1-8b").value();
  model.norm_eps = 1;
  const std::string text = config_json(model, ElementType::BF16, 2048);
  EXPECT_THAT(text, HasSubstr(R"("factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,)"));
  EXPECT_THAT(text, HasSubstr(R"("rms_norm_eps": 1.0,)"));
}

// As meta-llama/Llama-3.2-1B has it, and as version 5 of transformers writes the same.
TEST(HuggingFaceConfig, IsReadInBothWaysOfRotation) {
  const std::string common = R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
    "attention_dropout": 0.0, "bos_token_id": 128000, "eos_token_id": 128001, "head_dim": 64, "hidden_act": "silu",
    "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 131072,
    "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16,
    "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "tie_word_embeddings": true,
    "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 128256, )";
  const std::string scaling = R"("factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192, "rope_type": "llama3")";
  const ModelShape published = planner::find_preset("llama3.2-1b").value();
  for (const std::string& rope : {R"("rope_scaling": {)" + scaling + R"(}, "rope_theta": 500000.0})",
                                  R"("rope_parameters": {"rope_theta": 500000.0, )" + scaling + "}}"}) {
    const auto model = parse_config(common + rope);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(difference(*model, published), "") << rope;
  }
}

TEST(HuggingFaceConfig, NamesTheFieldOfWhatIsWrong) {
  const std::string good = config_json(planner::find_preset("llama3.1-8b").value(), ElementType::BF16, 1);
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {R"("llama")", R"("mistral")", "model_type: must be llama"},
      {R"("silu")", R"("gelu")", "hidden_act: must be silu"},
      {R"("attention_bias": false)", R"("attention_bias": true)", "attention_bias: must be false"},
      {R"("mlp_bias": false)", R"("mlp_bias": 0)", "mlp_bias: must be true or false"},
      {R"("hidden_size": 4096)", R"("hidden_size": 0)", "hidden_size: must be a whole number from 1"},
      {R"("hidden_size": 4096)", R"("hidden_size": 9223372036854775808)", "hidden_size"},
      {R"("hidden_size": 4096)", R"("hidden_size": -4096)", "hidden_size"},
      {R"("vocab_size": 128256)", R"("vocab_size": "many")", "vocab_size"},
      {R"("num_key_value_heads": 8)", R"("num_key_value_heads": 7)", "num_key_value_heads: must divide"},
      {R"("head_dim": 128)", R"("head_dim": 127)", "head_dim: must be even"},
      {R"("rms_norm_eps": 1e-05)", R"("rms_norm_eps": 1e999)", "rms_norm_eps"},
      {R"("rope_type": "llama3")", R"("rope_type": "yarn")", "rope_scaling.rope_type: 'yarn'"},
      {R"("factor": 8)", R"("factor": 0)", "rope_scaling.factor: must be a number above 0"},
      {R"(\{\s*"architectures")", R"(["architectures")", "no JSON object"},
  };
  for (const auto& [pattern, replacement, says] : cases) {
    const std::string changed = std::regex_replace(good, std::regex(pattern), replacement);
    ASSERT_NE(changed, good) << pattern;
    const auto model = parse_config(changed);
    ASSERT_FALSE(model) << says;
    EXPECT_THAT(model.error().message, HasSubstr(says));
  }
  EXPECT_FALSE(parse_config(std::string(2 << 20, ' ')));
}

// transformers takes 1 and 2 where the fields are absent.
TEST(HuggingFaceConfig, TokensThatBeginAndEndATextAreHandedOn) {
  ModelShape model = planner::find_preset("llama3.1-8b").value();
  const auto written = [&] { return config_json(model, ElementType::BF16, 1); };
  EXPECT_THAT(written(), AllOf(HasSubstr(R"("bos_token_id": null)"), HasSubstr(R"("eos_token_id": null)")));
  const std::vector<int64_t> cases[] = {{128001}, {128001, 128008, 128009}, {}};
  for (const std::vector<int64_t>& tokens : cases) {
    model.bos_token = 0;
    model.eos_tokens = tokens;
    const auto read = parse_config(written());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->bos_token, 0);
    EXPECT_EQ(read->eos_tokens, tokens);
    EXPECT_EQ(parse_eos_tokens(written()).value(), tokens);
  }
  EXPECT_THAT(written(), HasSubstr(R"("bos_token_id": 0)"));
  for (const char* wrong : {"-1", "1.5", "\"</s>\"", "[1, []]", "{}", "1e300"}) {
    const auto tokens = parse_eos_tokens(fmt::format(R"({{"eos_token_id": {}}})", wrong));
    ASSERT_FALSE(tokens) << wrong;
    EXPECT_EQ(tokens.error().message, "eos_token_id: must be a token's number, or a list of some");
  }
  EXPECT_EQ(parse_eos_tokens("{}").value(), std::vector<int64_t>{});
}

TEST(HuggingFaceConfig, LosesNoDigit) {
  ModelShape model = planner::find_preset("llama3.1-8b").value();
  for (const double eps : {1e-6, 1e-5, 0.1666666666666667, 3.3333333333333335e-07}) {
    model.norm_eps = eps;
    model.rope_theta = eps * 1e12;
    model.rope_scaling->factor = 1 / eps;
    const auto read = parse_config(config_json(model, ElementType::F32, 1));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(difference(*read, model), "");
  }
}

TEST(HuggingFaceTensors, HaveAsManyParametersAsTheModel) {
  for (const std::string& name : planner::preset_names()) {
    const ModelShape model = planner::find_preset(name).value();
    int64_t elements = 0;
    for (const NamedShape& tensor : tensors_of(model))
      elements += tensor.shape[0] * (tensor.shape.size() > 1 ? tensor.shape[1] : 1);
    EXPECT_EQ(elements, planner::parameter_count(model)) << name;
  }
}

}  // namespace
}  // namespace caravan::checkpoint
