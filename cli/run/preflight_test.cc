#include "cli/run/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/listen.h"
#include "common/testing/temporary_folder.h"
#include "data/testing/token_files.h"

namespace caravan::cli {
namespace {

using data::llm_c_file;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

v1alpha1::JobSpec spec_for(const std::string& path) {
  v1alpha1::JobSpec spec;
  spec.mutable_data()->set_path(path);
  spec.mutable_training()->set_sequence_length(4);
  return spec;
}

std::vector<uint16_t> tokens_up_to(uint16_t count) {
  std::vector<uint16_t> tokens(count);
  for (uint16_t i = 0; i < count; ++i) tokens[i] = i;
  return tokens;
}

TEST(Preflight, TokenFilesThatHoldASampleAreAccepted) {
  const TemporaryFolder folder;
  v1alpha1::JobSpec spec = spec_for(folder.write("a.bin", llm_c_file(tokens_up_to(5)).bytes()));
  EXPECT_TRUE(check_token_files(spec, 5));
  spec.mutable_data()->set_validation_path(folder.write("b.bin", llm_c_file(tokens_up_to(5)).bytes()));
  EXPECT_TRUE(check_token_files(spec, 5));
}

TEST(Preflight, AValidationFileThatTheTrainingFolderHasTooIsRefused) {
  const TemporaryFolder folder;
  folder.write("train.bin", llm_c_file(tokens_up_to(5)).bytes());
  const std::string both = folder.write("val.bin", llm_c_file(tokens_up_to(5)).bytes());
  v1alpha1::JobSpec spec = spec_for(folder.path().string());
  spec.mutable_data()->set_validation_path(both);
  const Status refused = check_token_files(spec, 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ExitCode::kBadInput);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("spec.data.validationPath: " + both + ": is a file of the training data too"),
                    HasSubstr("spec.data.path")));
}

TEST(Preflight, AMistakeNamesTheFieldAndTheFile) {
  const TemporaryFolder folder;
  const std::string good = folder.write("good.bin", llm_c_file(tokens_up_to(5)).bytes());
  const std::string bytes = llm_c_file(tokens_up_to(500)).bytes();
  const std::vector<std::string> wrong = {
      folder.path("missing.bin"),
      folder.write("truncated.bin", bytes.substr(0, bytes.size() - 1)),
      folder.write("foreign.bin", "PK\x03\x04" + std::string(2000, 'x')),
      folder.write("short.bin", llm_c_file(tokens_up_to(4)).bytes()),
  };
  for (const std::string& path : wrong) {
    const Status training = check_token_files(spec_for(path), 500);
    ASSERT_FALSE(training) << path;
    EXPECT_EQ(training.error().code, ExitCode::kBadInput);
    EXPECT_THAT(training.error().message, AllOf(HasSubstr("spec.data.path"), HasSubstr(path)));

    v1alpha1::JobSpec spec = spec_for(good);
    spec.mutable_data()->set_validation_path(path);
    const Status validation = check_token_files(spec, 500);
    ASSERT_FALSE(validation) << path;
    EXPECT_THAT(validation.error().message, AllOf(HasSubstr("spec.data.validationPath"), HasSubstr(path)));
  }
}

TEST(Preflight, ATokenOutsideTheVocabularyIsFoundBeforeTheStart) {
  const TemporaryFolder folder;
  std::vector<uint16_t> tokens(100'000, 3);
  tokens[90'000] = 256;
  const std::string path = folder.write("a.bin", llm_c_file(tokens).bytes());
  EXPECT_TRUE(check_token_files(spec_for(path), 257));
  const Status refused = check_token_files(spec_for(path), 256);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("spec.data.path"), HasSubstr(path), HasSubstr("90000"), HasSubstr("256")));
}

TEST(Preflight, APortThatIsTakenIsNamed) {
  const ListeningSocket taken = listen_on("127.0.0.1", "0").value();
  const Status refused = check_metrics_ports(taken.port, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ExitCode::kBadInput);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("--metrics-port"), HasSubstr("port " + std::to_string(taken.port))));
  EXPECT_FALSE(check_metrics_ports(taken.port - 1, 2)) << "the port of node 1 is taken";
}

TEST(Preflight, PortsOfAllNodesMustExist) {
  EXPECT_FALSE(check_metrics_ports(65535, 2));
}

}  // namespace
}  // namespace caravan::cli
