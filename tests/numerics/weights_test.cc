// Weights in and out: real trainer processes begin with folders that `transformers` wrote and come to its
// loss, in any layout, and what they write is what they were given.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <sstream>

#include "checkpoint/folder/weights_folder.h"
#include "checkpoint/format/names.h"
#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "data/testing/token_files.h"
#include "tests/numerics/compared_training.h"
#include "tests/support/tiny_job.h"

namespace caravan::numerics {
namespace {

namespace fs = std::filesystem;
using planner::Layout;
using testing::HasSubstr;

constexpr int kSkipped = 77;  // transformers is not installed

struct Model {
  const char* name;
  const char* settings;  // beside the sizes
  const char* type;
  int shard_bytes = 1'000'000;
  Layout layout = layout_of(1, 1, 1);
};

void PrintTo(const Model& model, std::ostream* out) {
  *out << model.name;
}

test::Outcome caravan(const std::string& arguments) {
  return test::run_shell(fmt::format("{}/caravan {}", test::program_folder(), arguments));
}

class Weights : public testing::TestWithParam<Model> {
 protected:
  static void SetUpTestSuite() { corpus_ = std::make_unique<test::JobFolder>(); }
  static void TearDownTestSuite() { corpus_.reset(); }

  static test::Outcome python(const std::string& script, const std::string& arguments) {
    return test::run_shell(
        fmt::format("{} {}/tests/numerics/{} {}", CARAVAN_PYTHON, test::source_folder(), script, arguments));
  }

  // As tiny_spec's, but for what settings say.
  test::Outcome make(const Model& model, const std::string& folder) const {
    const std::string settings = fmt::format(
        R"({{"vocab_size": 131, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
             "num_attention_heads": 4, "rms_norm_eps": 1e-5, "max_position_embeddings": 256, {}}})",
        model.settings);
    return python("transformers_models.py",
                  fmt::format("make {} '{}' {} {}", folder, settings, model.type, model.shard_bytes));
  }

  // As many sequences as a batch has, so that their order does not matter.
  std::string tokens() const {
    std::vector<uint16_t> tokens(8 * 32 + 1);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint16_t>(i * i % 131);
    return files_.write("held-out.bin", data::llm_c_file(tokens).bytes());
  }

  // One step that changes nothing, and the loss after it.
  v1alpha1::JobSpec job(const std::string& weights, const v1alpha1::Architecture& shape) const {
    v1alpha1::JobSpec spec = tiny_spec(corpus_->files().path("corpus/genesis.bin"));
    *spec.mutable_model()->mutable_architecture() = shape;
    spec.mutable_model()->mutable_init_from()->set_path(weights);
    spec.mutable_data()->set_validation_path(tokens());
    v1alpha1::Training& training = *spec.mutable_training();
    training.set_steps(1);
    training.mutable_evaluation()->set_every_steps(1);
    training.mutable_evaluation()->set_batches(1);
    training.mutable_optimizer()->set_learning_rate("0");
    training.mutable_optimizer()->set_min_learning_rate("0");
    return spec;
  }

  static v1alpha1::Architecture shape_of(const std::string& folder) {
    const planner::ModelShape model = checkpoint::WeightsFolder::open(folder).value().model();
    v1alpha1::Architecture shape = tiny_spec("").model().architecture();
    shape.set_kv_heads(static_cast<int>(model.kv_heads));
    shape.set_tied_embeddings(model.tied_embeddings);
    shape.set_rope_theta(fmt::format("{}", model.rope_theta));
    if (model.rope_scaling) {
      shape.mutable_rope_scaling()->set_factor(fmt::format("{}", model.rope_scaling->factor));
      shape.mutable_rope_scaling()->set_original_positions(
          static_cast<int>(model.rope_scaling->original_positions));
    }
    return shape;
  }

  const test::TemporaryFolder files_;

 private:
  static inline std::unique_ptr<test::JobFolder> corpus_;
};

double last_validation_loss(const std::vector<RankResult>& ranks) {
  double loss = 0;
  for (const RankResult& rank : ranks)
    for (const auto& step : steps_of(rank))
      if (step.has_validation_loss()) loss = step.validation_loss();
  return loss;
}

TEST_P(Weights, OfTransformersGiveTheLossThatTheyGiveThere) {
  const std::string folder = files_.path("hugging-face");
  const test::Outcome made = make(GetParam(), folder);
  if (made.exit_code == kSkipped) GTEST_SKIP() << "transformers is not installed";
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const test::Outcome loaded = python("transformers_load.py", tokens() + " 32 " + folder);
  ASSERT_EQ(loaded.exit_code, 0) << loaded.err;
  const auto ranks = train(job(folder, shape_of(folder)), GetParam().layout);
  EXPECT_NEAR(last_validation_loss(ranks), std::stod(loaded.out), 2e-5);
  EXPECT_THAT(ranks[0].log, HasSubstr("begins with the weights of " + folder));
}

// In the type of the folder: nothing is rounded.
TEST_P(Weights, AreWrittenAsTheyWereRead) {
  if (std::string_view(GetParam().type) == "float16") return;  // no weights are trained in it
  const std::string folder = files_.path("hugging-face");
  const test::Outcome made = make(GetParam(), folder);
  if (made.exit_code == kSkipped) GTEST_SKIP() << "transformers is not installed";
  ASSERT_EQ(made.exit_code, 0) << made.err;
  v1alpha1::JobSpec spec = job(folder, shape_of(folder));
  const bool narrow = std::string_view(GetParam().type) == "bfloat16";
  spec.mutable_training()->set_precision(narrow ? v1alpha1::Precision::BF16 : v1alpha1::Precision::FP32);
  spec.mutable_checkpoint()->set_path(files_.path("all"));
  train(spec, GetParam().layout);
  const std::string step = files_.path("all/" + checkpoint::step_folder(1));
  const std::string exported = files_.path("exported");
  const test::Outcome written = caravan(fmt::format("checkpoint export {} {}", files_.path("all"), exported));
  ASSERT_EQ(written.exit_code, 0) << written.err;
  for (const std::string& mine : {step, exported}) {
    const test::Outcome same = python("transformers_models.py", fmt::format("same {} {}", folder, mine));
    EXPECT_EQ(same.exit_code, 0) << same.err;
  }
  EXPECT_EQ(caravan(fmt::format("checkpoint diff {} {}", folder, exported)).exit_code, 0);
  EXPECT_EQ(checkpoint::WeightsFolder::open(step).value().model().positions, 256)
      << "as many as the model was published with";
}

// The likeliest token, again and again, with keys and values kept.
TEST_P(Weights, ContinueATextAsTransformersDo) {
  const std::string folder = files_.path("hugging-face");
  Model model = GetParam();
  model.type = "float32";
  const test::Outcome made = make(model, folder);
  if (made.exit_code == kSkipped) GTEST_SKIP() << "transformers is not installed";
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const test::Outcome theirs = python("transformers_models.py", "generate " + folder + " 60 7 1 30 99 5");
  ASSERT_EQ(theirs.exit_code, 0) << theirs.err;
  const auto continued = [&](const std::string& arguments) {
    return test::run_shell(fmt::format("echo 7 1 30 99 5 | {}/caravan-generate {} --max-tokens 60 {}",
                                       test::program_folder(), folder, arguments));
  };
  const test::Outcome ours = continued("");
  ASSERT_EQ(ours.exit_code, 0) << ours.err;
  std::string line = ours.out;
  std::ranges::replace(line, '\n', ' ');
  EXPECT_EQ(line.substr(0, line.size() - 1) + "\n", theirs.out);

  const std::size_t cut = ours.out.find('\n', 20) + 1;
  const std::string last = ours.out.substr(cut, ours.out.find('\n', cut) - cut);
  const std::size_t first = ("\n" + ours.out).find("\n" + last + "\n");
  EXPECT_EQ(continued("--end-of-text " + last).out, ours.out.substr(0, first)) << "ends before " << last;
}

INSTANTIATE_TEST_SUITE_P(
    Models, Weights,
    testing::Values(
        Model{.name = "Llama2InHalves",
              .settings = R"("num_key_value_heads": 4, "rope_theta": 10000.0, "tie_word_embeddings": false)",
              .type = "float16",
              .shard_bytes = 50'000},
        Model{.name = "Llama3InBFloat16",
              .settings = R"("num_key_value_heads": 2, "rope_theta": 500000.0, "tie_word_embeddings": false)",
              .type = "bfloat16",
              .layout = layout_of(1, 2, 2)},
        Model{.name = "Llama32TiedInManyFiles",
              .settings = R"("num_key_value_heads": 2, "rope_theta": 500000.0, "tie_word_embeddings": true,
                             "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                             "high_freq_factor": 4.0, "original_max_position_embeddings": 16})",
              .type = "bfloat16",
              .shard_bytes = 50'000,
              .layout = layout_of(2, 2, 1)},
        Model{.name = "InFloat32",
              .settings = R"("num_key_value_heads": 4, "rope_theta": 10000.0, "tie_word_embeddings": false)",
              .type = "float32",
              .layout = layout_of(2, 1, 1)}),
    [](const auto& info) { return info.param.name; });

// A checkpoint stands in for a folder of Hugging Face, so that nothing but the trainer is needed.
class InitialWeights : public Weights {
 protected:
  std::string trained() const {
    v1alpha1::JobSpec spec = job("", tiny_spec("").model().architecture());
    spec.mutable_model()->clear_init_from();
    spec.mutable_training()->mutable_optimizer()->set_learning_rate("1e-2");
    spec.mutable_checkpoint()->set_path(files_.path("first"));
    first_loss_ = last_validation_loss(train(spec, layout_of(1, 1, 1)));
    return files_.path("first/" + checkpoint::step_folder(1));
  }

  mutable double first_loss_ = 0;
};

TEST_F(InitialWeights, MayBeACheckpointAndAResumeComesFirst) {
  const std::string weights = trained();
  v1alpha1::JobSpec spec = job(weights, tiny_spec("").model().architecture());
  spec.mutable_checkpoint()->set_path(files_.path("second"));
  const auto begun = train(spec, layout_of(1, 1, 1));
  EXPECT_EQ(last_validation_loss(begun), first_loss_);
  EXPECT_EQ(steps_of(begun[0]).size(), 1u);

  fs::remove_all(files_.path("first"));
  spec.mutable_training()->set_steps(2);
  const auto resumed = train(spec, layout_of(1, 1, 2), {.attempt = 2});
  ASSERT_EQ(steps_of(resumed[0]).size(), 1u) << "the folder is not needed any more";
  EXPECT_EQ(steps_of(resumed[0])[0].step(), 2);
}

TEST_F(InitialWeights, BringTheirTokenizerIntoCheckpointsAndExports) {
  const std::string model = files_.path("model");
  files_.write("tokenizer/tokenizer.json",
               test::contents(test::source_folder() + "/tests/data/tiny_tokenizer.json"));
  files_.write("tokenizer/tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})");
  const auto exported = [&](const std::string& arguments) {
    const test::Outcome outcome = caravan("checkpoint export " + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  };
  exported(fmt::format("{} {} --tokenizer {}", trained(), model, files_.path("tokenizer")));
  v1alpha1::JobSpec spec = job(model, tiny_spec("").model().architecture());
  spec.mutable_checkpoint()->set_path(files_.path("second"));
  train(spec, layout_of(1, 1, 2));
  fs::remove_all(model);
  spec.mutable_training()->set_steps(2);
  train(spec, layout_of(1, 1, 1), {.attempt = 2});
  exported(fmt::format("{} {}", files_.path("second"), files_.path("third")));

  const std::string first = files_.path("second/" + checkpoint::step_folder(1));
  const std::string resumed = files_.path("second/" + checkpoint::step_folder(2));
  for (const std::string& folder : {first, resumed, files_.path("third")}) {
    for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
      const std::string file = fmt::format("{}/{}", folder, name);
      EXPECT_EQ(test::contents(file), test::contents(files_.path("tokenizer/" + std::string(name)))) << file;
    }
    const test::Outcome loaded = python("transformers_models.py", "tokenizer " + folder + " 'a b'");
    if (loaded.exit_code == kSkipped) continue;  // transformers is not installed
    EXPECT_EQ(loaded.exit_code, 0) << loaded.err;
    EXPECT_EQ(loaded.out, "a b\n") << folder;
  }
  EXPECT_EQ(caravan("checkpoint verify " + files_.path("second")).exit_code, 0);
}

TEST_F(InitialWeights, ATokenizerThatLiesElsewhereIsNotTakenAndCostsNoJob) {
  const std::string weights = trained();
  files_.write("secret", "{}");
  fs::create_symlink(files_.path("secret"), weights + "/tokenizer.json");
  v1alpha1::JobSpec spec = job(weights, tiny_spec("").model().architecture());
  spec.mutable_checkpoint()->set_path(files_.path("second"));
  const auto ranks = train(spec, layout_of(1, 1, 1));
  EXPECT_THAT(ranks[0].log, HasSubstr("checkpoints will have no tokenizer: " + weights +
                                      "/tokenizer.json: is a link to " + files_.path("secret")));
  EXPECT_FALSE(fs::exists(files_.path("second/step-000001/tokenizer.json")));
}

TEST_F(InitialWeights, OfAnotherModelOrDamagedEndTheJobWithTheReason) {
  const std::string weights = trained();
  v1alpha1::JobSpec spec = job(weights, tiny_spec("").model().architecture());
  spec.mutable_model()->mutable_architecture()->set_layers(2);
  spec.mutable_model()->mutable_architecture()->set_ffn_size(192);
  Layout layout = layout_of(1, 1, 1);
  layout.layers_per_stage = {2};
  const auto other = TrainerWorld(spec, layout).wait();
  EXPECT_EQ(other[0].reports.back().failure().reason(), "InvalidInput");
  EXPECT_THAT(other[0].reports.back().failure().message(),
              HasSubstr("layers is 4 in config.json and 2 in the job"));

  fs::resize_file(weights + "/model.safetensors", 100'000);
  const auto cut =
      TrainerWorld(job(weights, tiny_spec("").model().architecture()), layout_of(1, 2, 1)).wait();
  EXPECT_EQ(cut[0].reports.back().failure().reason(), "InvalidInput");
  EXPECT_THAT(cut[0].reports.back().failure().message(),
              HasSubstr("model.safetensors: has 100000 bytes, it had "));
}

// fp32 is what the optimizer has, and bf16 of that what the model was trained in.
TEST_F(InitialWeights, AreExportedFromTheMasterCopies) {
  v1alpha1::JobSpec spec = job("", tiny_spec("").model().architecture());
  spec.mutable_model()->clear_init_from();
  spec.mutable_training()->mutable_optimizer()->set_learning_rate("1e-2");
  spec.mutable_training()->set_precision(v1alpha1::Precision::BF16);
  spec.mutable_checkpoint()->set_path(files_.path("narrow"));
  train(spec, layout_of(1, 1, 2));
  const auto exported = [&](const std::string& name, const std::string& arguments) {
    const std::string out = files_.path(name);
    const test::Outcome outcome =
        caravan(fmt::format("checkpoint export {} {} {}", files_.path("narrow"), out, arguments));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return out;
  };
  const std::string wide = exported("wide", "--dtype fp32");
  const std::string step = files_.path("narrow/" + checkpoint::step_folder(1));
  fs::create_directories(files_.path("master"));
  fs::copy_file(step + "/master.safetensors", files_.path("master/model.safetensors"));
  fs::copy_file(step + "/config.json", files_.path("master/config.json"));
  EXPECT_EQ(caravan("checkpoint diff " + wide + " " + files_.path("master")).exit_code, 0);
  const test::Outcome rounded = caravan("checkpoint diff " + wide + " " + step);
  EXPECT_EQ(rounded.exit_code, 1);
  EXPECT_THAT(rounded.out, HasSubstr("model.embed_tokens.weight: "));
  EXPECT_THAT(rounded.out, HasSubstr(" of 8384 elements, by "));
  EXPECT_EQ(caravan("checkpoint diff " + exported("same", "") + " " + step).exit_code, 0);
}

TEST_F(InitialWeights, WhatCannotBeExportedOrComparedIsSaid) {
  const std::string step = trained();
  const auto expect_refused = [&](const std::string& arguments, const std::string& says) {
    const test::Outcome outcome = caravan("checkpoint " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(says)) << arguments;
  };
  const std::string out = files_.path("out");
  expect_refused(fmt::format("export {} {}", step, files_.path("first/step-000009")),
                 "only checkpoints have such a name");
  expect_refused(fmt::format("export {} {}", step, step), "is there already; give another name");
  expect_refused(fmt::format("export {} {} --tokenizer {}", step, out, step), "has neither tokenizer.json");
  expect_refused(fmt::format("export {} {}", files_.path("nothing"), out), "nothing: cannot open");
  expect_refused(fmt::format("diff {} {}", step, files_.path("nothing")), "nothing: cannot open");
  files_.write("tokenizer/tokenizer.json", "{}");
  const test::Outcome whole =
      caravan(fmt::format("checkpoint export {} {} --tokenizer {}", step, out, files_.path("tokenizer")));
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(test::contents(out + "/tokenizer.json"), "{}");
}

TEST_F(InitialWeights, ContinueATextOnTheCommandLine) {
  trained();
  const std::string job = "generate " + files_.path("first") + " --prompt 'And God said' --tokenizer byte";
  const test::Outcome greedy = caravan(job + " --max-tokens 20");
  ASSERT_EQ(greedy.exit_code, 0) << greedy.err;
  EXPECT_EQ(greedy.err, "");
  EXPECT_THAT(greedy.out, testing::StartsWith("And God said"));
  EXPECT_THAT(greedy.out, testing::EndsWith("\n"));
  EXPECT_GE(greedy.out.size(), std::string("And God said").size() + 20);
  const test::Outcome capped = caravan(job);
  EXPECT_EQ(capped.out, greedy.out);
  EXPECT_EQ(capped.err,
            "the text ends after 20 more tokens at most: the model was made for 32, with the prompt\n");

  const auto drawn = [&](const std::string& seed) {
    return caravan(job + " --temperature 1 --seed " + seed).out;
  };
  const std::string first = drawn("1");
  EXPECT_EQ(first, drawn("1"));
  EXPECT_NE(first, drawn("2"));
}

// A folder whose files may be changed: a checkpoint's have sums.
std::string text_of(const std::string& path, const std::string& before, const std::string& after) {
  std::string text = test::contents(path);
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return text.replace(at, before.size(), after);
}

TEST_F(InitialWeights, ATextEndsWhenNobodyReadsIt) {
  trained();
  const std::string folder = files_.path("exported");
  ASSERT_EQ(caravan(fmt::format("checkpoint export {} {}", files_.path("first"), folder)).exit_code, 0);
  files_.write("exported/config.json", text_of(folder + "/config.json", R"("max_position_embeddings": 32)",
                                               R"("max_position_embeddings": 2000000)"));
  const std::string endless =
      fmt::format("timeout 100 {}/caravan generate {} --prompt And --tokenizer byte --max-tokens 1000000",
                  test::program_folder(), folder);
  const test::Outcome cut = test::run_shell(fmt::format("bash -o pipefail -c '{} | head -c 5'", endless));
  EXPECT_THAT(cut.out, testing::StartsWith("And"));
  EXPECT_EQ(cut.exit_code, 128 + SIGPIPE) << cut.err;
  const test::Outcome full = test::run_shell(endless + " > /dev/full");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, HasSubstr("cannot write the text: No space left on device"));
}

TEST_F(InitialWeights, WhatNoTextFollowsFromIsSaid) {
  const std::string step = trained();
  const std::string folder = files_.path("exported");
  ASSERT_EQ(caravan(fmt::format("checkpoint export {} {}", step, folder)).exit_code, 0);
  const auto refused = [&](const std::string& where, int tokens, const std::string& arguments,
                           int exit_code) {
    std::string prompt;
    for (int i = 0; i < tokens; ++i) prompt += "65 ";
    const test::Outcome outcome =
        test::run_shell(fmt::format("echo {} | {}/caravan-generate {} --max-tokens 8 {}", prompt,
                                    test::program_folder(), where, arguments));
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_EQ(refused(step, 32, "", 2),
            "the prompt: has 32 tokens, and the model was made for 32; give a shorter one\n");
  EXPECT_THAT(refused(step, 1, "--memory-bytes 65536", 3),
              HasSubstr("B of memory for 9 tokens, and there are 64.0 KiB;"));
  files_.write("exported/config.json", text_of(folder + "/config.json", R"("num_hidden_layers": 4)",
                                               R"("num_hidden_layers": 2147483647)"));
  EXPECT_THAT(refused(folder, 1, "", 2), HasSubstr("has no tensor 'model.layers.4.input_layernorm.weight'"));

  fs::copy_file(step + "/config.json", folder + "/config.json", fs::copy_options::overwrite_existing);
  std::string weights = test::contents(folder + "/model.safetensors");
  weights.replace(weights.size() - 4096, 4096, std::string(4096, '\xFF'));
  files_.write("exported/model.safetensors", weights);
  EXPECT_EQ(refused(folder, 1, "", 2), "the model gives no numbers: its weights hold NaN or infinity\n");
  const test::Outcome none = caravan("generate " + folder + " --prompt And --tokenizer byte");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.out, "") << "a prompt that nothing follows is no text";
}

// What transformers would otherwise take for 1 and 2.
TEST_F(InitialWeights, HandOnTheTokensThatEndATextAndDifferWhereTheirShapesDo) {
  const std::string step = trained();
  EXPECT_THAT(test::contents(step + "/config.json"), HasSubstr(R"("eos_token_id": null)"));
  const std::string folder = files_.path("exported");
  ASSERT_EQ(caravan(fmt::format("checkpoint export {} {}", step, folder)).exit_code, 0);
  files_.write("exported/config.json",
               text_of(folder + "/config.json", R"("eos_token_id": null)", R"("eos_token_id": [7, 9])"));
  v1alpha1::JobSpec spec = job(folder, tiny_spec("").model().architecture());
  spec.mutable_checkpoint()->set_path(files_.path("second"));
  train(spec, layout_of(1, 1, 1));
  spec.mutable_training()->set_steps(2);
  train(spec, layout_of(1, 1, 1), {.attempt = 2});
  const std::string last = files_.path("second/" + checkpoint::step_folder(2));
  EXPECT_THAT(test::contents(last + "/config.json"), HasSubstr(R"("eos_token_id": [7, 9])"));

  EXPECT_EQ(caravan("checkpoint diff " + step + " " + folder).exit_code, 0);
  files_.write("exported/config.json",
               text_of(folder + "/config.json", R"("rms_norm_eps": 1e-05)", R"("rms_norm_eps": 1e-06)"));
  const test::Outcome other = caravan("checkpoint diff " + step + " " + folder);
  EXPECT_EQ(other.exit_code, 1);
  const std::string says = fmt::format("normEps is 1e-05 in {} and 1e-06 in {}", step, folder);
  EXPECT_EQ(other.out, fmt::format("config.json: {}\n", says));
  EXPECT_EQ(caravan("checkpoint diff -o json " + step + " " + folder).out,
            fmt::format(R"({{"tensor":"config.json","difference":"{}"}})", says) + "\n");
}

TEST_F(InitialWeights, WhatCannotBeContinuedIsSaid) {
  const std::string folder = trained();
  const auto expect_refused = [&](const std::string& arguments, const std::string& says) {
    const test::Outcome outcome = caravan("generate " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(says)) << arguments;
  };
  expect_refused(folder + " --prompt And", "--tokenizer: " + folder + " has no tokenizer.json");
  expect_refused(folder + " --prompt '' --tokenizer byte", "--prompt: must not be empty");
  expect_refused(folder + " --prompt '\xC3\xA9' --tokenizer byte",
                 "token 195 is not in the model's vocabulary of 131");
  expect_refused(files_.path("nothing") + " --prompt And", "nothing: cannot open");
  fs::resize_file(folder + "/model.safetensors", 5000);
  expect_refused(folder + " --prompt And --tokenizer byte", "model.safetensors: has 5000 bytes, it had ");
}

}  // namespace
}  // namespace caravan::numerics
