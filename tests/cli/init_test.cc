// From nothing to a model that has trained: `caravan init`, then what it says.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "data/testing/token_files.h"
#include "tests/support/run_process.h"

namespace caravan::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class Init : public testing::Test {
 protected:
  Outcome caravan(const std::string& arguments) const {
    return run_shell(
        fmt::format("cd '{}' && '{}/caravan' {}", folder_.path(""), program_folder(), arguments));
  }

  void write_tokens(std::size_t count, uint16_t largest) const {
    std::vector<uint16_t> tokens;
    for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<uint16_t>(i % (largest + 1U)));
    folder_.write("train.bin", data::llm_c_file(tokens).bytes());
  }

  const TemporaryFolder folder_;
};

TEST_F(Init, ItsJobIsValidAndFits) {
  for (const char* options : {"", "--preset llama-tiny --devices 2", "--kubernetes corpus",
                              "--preset llama3-8b --device H100-80GB --kubernetes corpus",
                              "--preset llama3.1-8b --device B200 --devices 64 --data 'train/*.bin'"}) {
    const Outcome written = caravan(fmt::format("init {} --to job.yaml --force", options));
    ASSERT_EQ(written.exit_code, 0) << options << ": " << written.err;
    EXPECT_THAT(written.out, IsEmpty());
    for (const char* command : {"validate", "plan"}) {
      const Outcome outcome = caravan(fmt::format("{} job.yaml", command));
      EXPECT_EQ(outcome.exit_code, 0) << command << " of " << options << ": " << outcome.err;
    }
    EXPECT_EQ(caravan("validate job.yaml").err, "") << options;
  }
}

TEST_F(Init, WritesToStandardOutput) {
  const Outcome outcome = caravan("init");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("# A training job."));
  EXPECT_THAT(outcome.err, HasSubstr("train.bin is not there yet: caravan data tokenize"));
  EXPECT_EQ(caravan("init 2>/dev/null | '" + program_folder() + "/caravan' validate -").out,
            "standard input: valid\n");
  const Outcome named = caravan("init --to -");
  EXPECT_EQ(named.out, outcome.out);
  EXPECT_EQ(named.err, outcome.err);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("-")));
}

TEST_F(Init, NeverReplacesAFileUnlessToldTo) {
  folder_.write("job.yaml", "precious");
  const Outcome refused = caravan("init --to job.yaml");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--to: job.yaml: exists already; give --force to replace it"));
  EXPECT_EQ(contents(folder_.path("job.yaml")), "precious");
  EXPECT_EQ(caravan("init --to job.yaml --force").exit_code, 0);
  EXPECT_THAT(contents(folder_.path("job.yaml")), StartsWith("# A training job."));
  EXPECT_THAT(caravan("init --to missing/job.yaml").err,
              HasSubstr("--to: missing/job.yaml: cannot create: No such file or directory"));
}

TEST_F(Init, RefusesWhatItCannotUse) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"init --preset llama3-9b", "did you mean llama3-8b?"},
      {"init --device H101", "--device: expected one of cpu, "},
      {"init --device GPU", "--device: expected a product, such as H100-80GB"},
      {"init --devices 0", "--devices"},
      {"init --to ''", "--to: the name is empty; give the name of a file, or - for standard output"},
      {"init --data $(printf 'tr\\344n.bin')", "--data: byte 2 is not UTF-8"},
      {"init --name $(printf 'a\\377')", "--name: byte 1 is not UTF-8"},
      {"init --kubernetes $(printf '\\300')", "--kubernetes: byte 0 is not UTF-8"},
      {"init --kubernetes ''", "--kubernetes: the name is empty"},
      {"init --kubernetes My_Claim", "spec.data.claimName: expected a name of at most 253 characters"},
      {"init --name Upper", "metadata.name"},
      {"init --vocab-size 99999999", "--vocab-size: Value 99999999 not in range 2 to 2097152"},
      {"init --kubernetes corpus --data /train.bin", "spec.data.path: must stay inside the claim"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = caravan(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << arguments;
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
  }
  folder_.write("train.bin", "no tokens");
  EXPECT_THAT(caravan("init").err, StartsWith("--data: train.bin: "));
  write_tokens(10, 5);
  EXPECT_THAT(caravan("init").err, HasSubstr("--data: train.bin: 10 tokens are too few"));
}

TEST_F(Init, ItsJobTrainsOnDataWithAVocabularyOfTheirOwn) {
  write_tokens(5000, 299);
  const Outcome written = caravan("init --preset llama-tiny --devices 2 --to job.yaml");
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(written.err, HasSubstr("vocabSize is 300"));
  const Outcome run = caravan("run job.yaml -o text --set spec.training.steps=3");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Complete: 3 of 3 steps"));
  const Outcome inspected = caravan("checkpoint inspect checkpoints/llama-tiny");
  EXPECT_EQ(inspected.exit_code, 0) << inspected.err;
  EXPECT_THAT(contents(folder_.path("checkpoints/llama-tiny/step-000003/config.json")),
              HasSubstr("\"vocab_size\": 300"));
  const std::string goes_on =
      "plan job.yaml --set spec.checkpoint.path=none "
      "--set spec.model.initFrom.path=checkpoints/llama-tiny/step-000003 ";
  EXPECT_EQ(caravan(goes_on).exit_code, 0) << "the folder has the vocabulary that the job says";
  const Outcome other = caravan(goes_on + "--set spec.model.vocabSize=301");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("vocabSize is 300 in config.json and 301 in the job"));
}

TEST_F(Init, DataBeyondTheVocabularyTellOfVocabSize) {
  write_tokens(5000, 299);
  const Outcome small = caravan("init --preset llama-tiny --vocab-size 256 --to job.yaml");
  EXPECT_EQ(small.exit_code, 2);
  EXPECT_EQ(small.err, "--vocab-size: train.bin has tokens up to 299; give 300 or more\n");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("job.yaml")));
  ASSERT_EQ(caravan("init --preset llama-tiny --vocab-size 300 --to job.yaml").exit_code, 0);
  const Outcome run = caravan("run job.yaml --set spec.model.vocabSize=256");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("token 256 has id 256, but the model's vocabulary has ids 0 to 255"));
  EXPECT_THAT(run.err, HasSubstr("set spec.model.vocabSize"));
}

// ulimit counts what it allows in half kilobytes, of which the job takes more.
TEST_F(Init, LosesNothingWhenItsFileCannotBeWritten) {
  folder_.write("job.yaml", "precious");
  for (const char* target : {"job.yaml", "new.yaml"}) {
    const Outcome outcome =
        run_shell(fmt::format("cd '{}' && trap '' XFSZ && ulimit -f 1 && '{}/caravan' init --to {} --force",
                              folder_.path(""), program_folder(), target));
    EXPECT_EQ(outcome.exit_code, 1) << target;
    EXPECT_EQ(outcome.err, fmt::format("--to: {}: cannot write: File too large; make room for it\n", target));
  }
  EXPECT_EQ(contents(folder_.path("job.yaml")), "precious");
  EXPECT_EQ(run_shell(fmt::format("ls -A '{}'", folder_.path(""))).out, "job.yaml\n");
}

TEST_F(Init, NamesCommandsThatCanBePasted) {
  write_tokens(5000, 200);
  const Outcome spaced = caravan("init --to 'my job.yaml'");
  EXPECT_THAT(spaced.err, HasSubstr("next: caravan plan 'my job.yaml', then caravan run 'my job.yaml'\n"));
  EXPECT_THAT(caravan("init --to=-job.yaml").err, HasSubstr("next: caravan plan ./-job.yaml, then"));
  EXPECT_THAT(
      caravan("init --data 'a b.bin'").err,
      StartsWith("'a b.bin' is not there yet: caravan data tokenize --tokenizer byte TEXT --to 'a b.bin'\n"));
  EXPECT_EQ(caravan("init --data 'corpus/*.bin'").err, "'corpus/*.bin' is not there yet\n");
  EXPECT_EQ(caravan("init --data corpus/").err, "corpus/ is not there yet\n");
}

TEST_F(Init, ForAClusterSaysWhatItsClaimNeeds) {
  EXPECT_EQ(caravan("init --kubernetes corpus --to job.yaml").err,
            "copy train.bin to the claim corpus: see \"The volume\" in docs/user/kubernetes.md\n"
            "job.yaml: written; next: caravan plan job.yaml, then kubectl apply -f job.yaml\n");
  write_tokens(5000, 200);
  EXPECT_THAT(caravan("init --kubernetes corpus").err, HasSubstr("copy train.bin to the claim corpus"))
      << "a file here is not one there";
}

TEST_F(Init, PrintsNoControlCharacters) {
  const std::string escape = "$(printf '\\033[31m')";
  for (const char* arguments : {"init --data \"{}\"", "init --name \"{}\"", "init --kubernetes \"{}\"",
                                "init --to \"{}/x\"", "init --devices \"{}\"", "init --to \"{}.yaml\""}) {
    const std::string command = fmt::format(fmt::runtime(arguments), escape);
    const Outcome outcome = caravan(command);
    EXPECT_NE(outcome.out + outcome.err, "") << command;
    EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("\033"))) << command;
  }
}

}  // namespace
}  // namespace caravan::test
