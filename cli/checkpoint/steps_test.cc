#include "cli/checkpoint/steps.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "checkpoint/testing/tiny_checkpoint.h"
#include "common/testing/checkout.h"
#include "common/testing/temporary_folder.h"

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;
using checkpoint::testing::write_tiny;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A job's folder, and what it says when one of its steps goes after it was opened.
class Steps : public testing::Test {
 protected:
  Steps() {
    const auto volume = checkpoint::make_volume(path()).value();
    for (const int step : {3, 4}) EXPECT_TRUE(write_tiny(*volume, step));
  }

  std::string path(const std::string& name = "") const { return files_.path("job/" + name); }

  CheckpointFolder opened() const { return open_checkpoint_folder(path()).value(); }

  CheckpointFolder opened_before(const std::string& gone) const {
    CheckpointFolder folder = opened();
    fs::remove_all(path(gone));
    return folder;
  }

  struct Said {
    ExitCode code;
    std::string out;
    std::string err;
  };
  template <typename Work>
  static Said said_by(const Work& work) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const ExitCode code = work();
    const std::string out = testing::internal::GetCapturedStdout();
    return {.code = code, .out = out, .err = testing::internal::GetCapturedStderr()};
  }

  const test::TemporaryFolder files_;
};

TEST_F(Steps, AreIntactOrDamaged) {
  const Said intact = said_by([&] { return verify_steps(opened(), "text"); });
  EXPECT_EQ(intact.code, ExitCode::kDone);
  EXPECT_THAT(intact.out, AllOf(HasSubstr("step-000004: intact"), HasSubstr("step-000003: intact")));
  fs::remove(path("step-000003/config.json"));
  const Said damaged = said_by([&] { return verify_steps(opened(), "text"); });
  EXPECT_EQ(damaged.code, ExitCode::kBadInput);
  EXPECT_THAT(damaged.err, HasSubstr("step-000003/config.json: cannot open"));
}

TEST_F(Steps, ThatTheJobRemovesAreNoDamage) {
  const Said text = said_by([&] { return verify_steps(opened_before("step-000003"), "text"); });
  EXPECT_EQ(text.code, ExitCode::kDone);
  EXPECT_THAT(text.out, HasSubstr("step-000004: intact"));
  EXPECT_THAT(text.err, HasSubstr("step-000003: was removed meanwhile\n"));
  const Said none = said_by([&] { return verify_steps(opened_before("step-000004"), "json"); });
  EXPECT_EQ(none.code, ExitCode::kBadInput) << "nothing is left that could be intact";
  EXPECT_THAT(none.out, AllOf(HasSubstr(R"(step-000004","intact":null,"error":")"),
                              HasSubstr("was removed meanwhile")));
}

TEST_F(Steps, ThatTheJobRemovesAreNotListed) {
  const Said said = said_by([&] { return list_steps(opened_before("step-000003"), "text"); });
  EXPECT_EQ(said.code, ExitCode::kDone);
  EXPECT_THAT(said.out, AllOf(HasSubstr("step-000004"), Not(HasSubstr("step-000003"))));
  EXPECT_THAT(said.err, HasSubstr("step-000003: was removed meanwhile\n"));
}

TEST_F(Steps, ThatTheJobRemovesAreNotExported) {
  const Status written =
      export_step(opened_before("step-000004"), {.path = path(), .output = files_.path("out")});
  ASSERT_FALSE(written);
  EXPECT_THAT(
      written.error().message,
      HasSubstr("step-000004: the job has removed it meanwhile, as keepLast says; export a newer one"));
  EXPECT_FALSE(fs::exists(files_.path("out")));
}

TEST_F(Steps, ThatNeverWereAreAMistake) {
  const auto folder = open_folder(path("step-000009"));
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ExitCode::kBadInput);
  EXPECT_THAT(folder.error().message, HasSubstr("step-000009: there is no such checkpoint"));
  EXPECT_EQ(open_folder(path("step-000003/")).value().steps, std::vector<int>{3});
}

class ExportedSteps : public Steps {
 protected:
  std::string config_of_export(const std::string& tokenizer) const {
    const std::string output = files_.path("out");
    fs::remove_all(output);
    const Said said = said_by([&] {
      return export_step(opened(), {.path = path(), .output = output, .tokenizer = tokenizer})
          .map([] { return ExitCode::kDone; })
          .value_or(ExitCode::kJobFailed);
    });
    EXPECT_EQ(said.code, ExitCode::kDone) << said.err;
    warned_ = said.err;
    return test::contents(output + "/config.json");
  }

  mutable std::string warned_;
};

TEST_F(ExportedSteps, EndTextsWithTheTokenOfTheTokenizerThatIsGiven) {
  EXPECT_THAT(config_of_export(""), HasSubstr(R"("eos_token_id": null)"));
  const std::string tokenizer = test::contents(test::source_folder() + "/tests/data/tiny_tokenizer.json");
  files_.write("tokenizer/tokenizer.json", tokenizer);
  EXPECT_THAT(config_of_export(files_.path("tokenizer")), HasSubstr(R"("eos_token_id": 1,)"));
  EXPECT_EQ(warned_, "");
  files_.write("tokenizer/tokenizer.json", "{}");
  EXPECT_THAT(config_of_export(files_.path("tokenizer")), HasSubstr(R"("eos_token_id": null)"));
  EXPECT_THAT(warned_, HasSubstr("warning: config.json gets no eos_token_id: "));
}

TEST_F(ExportedSteps, NameWhatAnExportLeftThatWasKilled) {
  files_.write("out.unfinished-0123456789abcdef/model.safetensors", "half");
  config_of_export("");
  EXPECT_THAT(warned_, HasSubstr("out.unfinished-0123456789abcdef: is of an export that another process "
                                 "writes, or that was cut off; remove it if none does\n"));
  EXPECT_TRUE(fs::exists(files_.path("out.unfinished-0123456789abcdef/model.safetensors")));
}

}  // namespace
}  // namespace caravan::cli
