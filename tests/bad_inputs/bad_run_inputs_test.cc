// Input that cannot be used ends `caravan run` before a process starts, with exit code 2 and the name of what
// is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "common/listen.h"
#include "data/testing/token_files.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

using testing::HasSubstr;

class BadInput : public testing::Test {
 protected:
  std::string corpus() const { return folder_.files().path("corpus/genesis.bin"); }

  void expect_refusal(const std::vector<std::string>& arguments, const std::vector<std::string>& words,
                      int exit_code = 2) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, (ExitStatus{.exit_code = exit_code, .signal = 0})) << finished.err;
    for (const std::string& word : words) EXPECT_THAT(finished.err, HasSubstr(word));
    EXPECT_TRUE(finished.lines.empty()) << "it went on after the refusal";
  }

  const JobFolder folder_;
};

TEST_F(BadInput, AMissingTokenFileIsNamed) {
  std::filesystem::remove(corpus());
  expect_refusal(folder_.arguments({}), {"spec.data.path", corpus()});
}

TEST_F(BadInput, ATruncatedTokenFileIsNamed) {
  std::filesystem::resize_file(corpus(), std::filesystem::file_size(corpus()) - 1);
  expect_refusal(folder_.arguments({}), {"spec.data.path", corpus()});
}

TEST_F(BadInput, AForeignFileIsNamed) {
  folder_.files().write("corpus/genesis.bin", std::string(4096, 'x'));
  expect_refusal(folder_.arguments({}), {"spec.data.path", corpus()});
}

TEST_F(BadInput, AFileWithFewerTokensThanOneSampleIsNamed) {
  folder_.files().write("corpus/genesis.bin", data::llm_c_file(std::vector<uint16_t>(64, 1)).bytes());
  expect_refusal(folder_.arguments({}), {"spec.data.path", corpus(), "65"});
}

TEST_F(BadInput, ATokenOutsideTheVocabularyIsNamed) {
  std::vector<uint16_t> tokens(5000, 1);
  tokens[4321] = 256;
  folder_.files().write("corpus/genesis.bin", data::llm_c_file(tokens).bytes());
  expect_refusal(folder_.arguments({}), {"spec.data.path", corpus(), "4321", "255", "spec.model.vocabSize"});
}

TEST_F(BadInput, AFileThatMayNotBeReadIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  std::filesystem::permissions(corpus(), std::filesystem::perms::none);
  expect_refusal(folder_.arguments({}), {"spec.data.path", corpus(), "ermission"});
}

TEST_F(BadInput, AJobForGpusSaysHowToRunHere) {
  expect_refusal(folder_.arguments({}, {"--set", "spec.resources.device.kind=GPU"}),
                 {"spec.resources.device.kind", "--set spec.resources.device.kind=CPU"});
}

TEST_F(BadInput, AClaimWithoutAVolumeSaysWhatToAdd) {
  expect_refusal({folder_.write({})}, {"spec.data.claimName", "--volume corpus=DIR"});
}

TEST_F(BadInput, AVolumeOfAnUnknownClaimIsNamed) {
  expect_refusal(folder_.arguments({}, {"--volume", "corpse=/tmp"}), {"corpse", "corpus"});
}

TEST_F(BadInput, NodesThatCannotShareTheDevicesAreRefused) {
  expect_refusal(folder_.arguments({.data = 2}, {"--nodes", "3"}), {"--nodes", "spec.resources.devices"});
}

TEST_F(BadInput, TensorParallelismBeyondANodeIsRefused) {
  expect_refusal(folder_.arguments({.tensor = 2}, {"--nodes", "2"}), {"tensor"});
}

TEST_F(BadInput, APortInUseIsNamed) {
  const ListeningSocket taken = listen_on("127.0.0.1", "0").value();
  const std::string port = std::to_string(taken.port);
  expect_refusal(folder_.arguments({}, {"--metrics-port", port}), {"--metrics-port", port});
}

TEST_F(BadInput, AnAddressOfThePageThatIsNoneIsNamed) {
  for (const char* address :
       {"--page=8080", "--page=job.yaml", "--page=127.0.0.1:65536", "--page=192.0.2.1:0"})
    expect_refusal(folder_.arguments({}, {address}), {"--page"});
}

TEST_F(BadInput, EveryMistakeOfTheFileIsToldAtOnce) {
  expect_refusal(folder_.arguments({}, {"--set", "spec.training.steps=0", "--set", "spec.modle.preset=x"}),
                 {"spec.training.steps", "modle"});
}

TEST_F(BadInput, AJobThatDoesNotFitIntoTheMachineEndsWithThree) {
  expect_refusal(folder_.arguments({}, {"--set", "spec.resources.device.memory=1Mi"}), {"MiB"}, 3);
}

struct WrongArgument {
  const char* flag;
  const char* value;
};

TEST_F(BadInput, WrongArgumentsAreNamed) {
  const std::string job = folder_.write({});
  for (const WrongArgument& wrong : {WrongArgument{"--nodes", "0"}, WrongArgument{"--nodes", "two"},
                                     WrongArgument{"--metrics-port", "65536"},
                                     WrongArgument{"--volume", "corpus"}, WrongArgument{"--output", "xml"}}) {
    expect_refusal({job, wrong.flag, wrong.value}, {wrong.flag});
  }
}

}  // namespace
}  // namespace caravan::test
