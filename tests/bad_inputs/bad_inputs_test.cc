// Every file under cases/ opens with a comment: the first line that `caravan validate` must say about it.
// Inputs that no text file can hold, or that are too large to keep, are made here.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "caravan/v1alpha1/options.pb.h"
#include "common/testing/checkout.h"
#include "common/testing/job_text.h"
#include "common/testing/shell.h"

namespace caravan {
namespace {

namespace fs = std::filesystem;
using test::contents;
using test::Outcome;
using test::run_shell;
using test::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kBadInput = 2;
const fs::path kCases = fs::path(test::source_folder()) / "tests/bad_inputs/cases";

// arguments: as a shell reads them.
Outcome run_caravan(const std::string& arguments, const fs::path& working_folder) {
  return run_shell(
      fmt::format("cd '{}' && '{}/caravan' {}", working_folder.string(), test::program_folder(), arguments));
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void expect_refused(const Outcome& outcome, const std::string& message) {
  EXPECT_EQ(outcome.exit_code, kBadInput) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(first_line(outcome.err), HasSubstr(message));
}

std::vector<std::string> case_files() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kCases)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The first of the lines that begin with the file's name.
std::string first_line_about(const std::string& name, const std::string& text) {
  const std::size_t begin = ("\n" + text).find("\n" + name + ":");
  return begin == std::string::npos ? "" : first_line(text.substr(begin));
}

TEST(BadInputs, EveryFileIsRefusedWithTheExpectedSentence) {
  const std::vector<std::string> names = case_files();
  const Outcome outcome = run_caravan(fmt::format("validate {}", fmt::join(names, " ")), kCases);
  EXPECT_EQ(outcome.exit_code, kBadInput) << outcome.err;
  EXPECT_EQ(outcome.out, "") << "which is valid";
  for (const std::string& name : names) {
    const std::string text = contents(kCases / name);
    ASSERT_THAT(text, StartsWith("# ")) << "the first line of " << name << " is the expected sentence";
    EXPECT_EQ(first_line_about(name, outcome.err), text.substr(2, text.find('\n') - 2));
  }
}

// The sentences of the CEL rules of a message and of those in it.
std::set<std::string> sentences_of(const google::protobuf::Descriptor& message) {
  std::set<std::string> sentences;
  const google::protobuf::MessageOptions& options = message.options();
  for (int i = 0; i < options.ExtensionSize(v1alpha1::cel); ++i)
    sentences.insert(options.GetExtension(v1alpha1::cel, i).message());
  for (int i = 0; i < message.field_count(); ++i) {
    if (const auto* inner = message.field(i)->message_type()) sentences.merge(sentences_of(*inner));
  }
  return sentences;
}

TEST(BadInputs, EveryRuleOfTheSchemaHasAFileThatBreaksIt) {
  std::string expected;
  for (const std::string& name : case_files()) expected += first_line(contents(kCases / name)) + "\n";
  for (const std::string& sentence : sentences_of(*v1alpha1::LlamaTrainingJob::descriptor()))
    EXPECT_THAT(expected, HasSubstr(sentence));
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// One key for each level, indented by one more space.
std::string deep_block(int levels) {
  std::string out;
  for (int i = 0; i < levels; ++i) out += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  return out;
}

// Nine aliases for each level: 9^30 values when written out.
std::string alias_bomb() {
  std::string out = "a0: &a0 [lol, lol]\n";
  for (int i = 1; i <= 30; ++i) {
    out += fmt::format("a{0}: &a{0} [{1}]\n", i, repeated(fmt::format("*a{}, ", i - 1), 9));
  }
  return out;
}

struct MadeInput {
  std::string name;
  std::string bytes;
  std::string message;

  // For the test's name in reports.
  friend void PrintTo(const MadeInput& input, std::ostream* out) { *out << input.name; }
};

std::vector<MadeInput> made_inputs() {
  using namespace std::string_literals;
  constexpr int kDeep = 10'000;
  constexpr int kMebibyte = 1 << 20;
  const std::string too_deep = "job.yaml:1: nested deeper than 64 levels";
  return {
      {"TenThousandLists", repeated("[", kDeep) + repeated("]", kDeep), too_deep},
      {"TenThousandListsNeverClosed", repeated("[", kDeep),
       "job.yaml:1: a list or a map where a key must be text"},
      {"TenThousandMaps", repeated("{a: ", kDeep) + "1" + repeated("}", kDeep), too_deep},
      {"TenThousandJsonObjects", repeated("{\"a\":", kDeep) + "1" + repeated("}", kDeep), too_deep},
      {"TenThousandDashes", repeated("- ", kDeep) + "x", too_deep},
      {"ManyLevelsOfIndentation", deep_block(1400), "job.yaml:65: nested deeper than 64 levels"},
      {"TenThousandComplexKeys", repeated("? ", kDeep) + "x",
       "job.yaml:1: a list or a map where a key must be text"},
      {"AMebibyteOfBraces", repeated("{", kMebibyte), "job.yaml:1: a list or a map where a key must be text"},
      {"AMebibyteOfQuotes", repeated("\"", kMebibyte), "job.yaml:1: "},
      {"AMebibyteOfNewLines", "a: [" + repeated("\n", kMebibyte - 4), "a bracket is not closed"},
      {"AHundredThousandFields", repeated("zz: 1\n", 100'000), "job.yaml:1: zz: unknown field"},
      {"AliasBomb", alias_bomb(), "job.yaml:1: anchors (&) and aliases (*) are not allowed"},
      {"TwoMebibytes", "kind: " + repeated("x", 2 * kMebibyte), "job.yaml: larger than 1.0 MiB"},
      {"Latin1", "kind: x\nmetadata: {name: caf\xE9}\n", "job.yaml:2: not valid UTF-8"},
      {"OverlongUtf8", "kind: \xC0\xAF\n", "job.yaml:1: not valid UTF-8"},
      {"Surrogates", "kind: \xED\xA0\x80\n", "job.yaml:1: not valid UTF-8"},
      {"Utf16", "\xFF\xFE"s + "k\0i\0n\0d\0"s, "job.yaml:1: not valid UTF-8"},
      {"NulByte", "kind: x\n\n\0"s, "job.yaml:3: a NUL byte"},
      {"ElfProgram", "\x7F"s + "ELF\x02\x01\x01\0\0\0"s, "job.yaml:1: "},
      {"Empty", "", "job.yaml: is empty"},
      {"OnlyWhiteSpace", " \n\n  \n", "job.yaml: is empty"},
      {"OnlyADocumentMark", "---\n", "job.yaml: is empty"},
      {"JsonCutOff", "{\"apiVersion\": \"training.caravan.dev/v1alpha1\",",
       "perhaps a bracket is not closed"},
  };
}

class BadBytes : public testing::TestWithParam<MadeInput> {};

TEST_P(BadBytes, AreRefusedWithoutHarm) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "job.yaml", std::ios::binary) << GetParam().bytes;
  expect_refused(run_caravan("validate job.yaml", folder.path()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(All, BadBytes, testing::ValuesIn(made_inputs()), testing::PrintToStringParamName());

TEST(BadInputs, AFileThatIsNotThereIsNamed) {
  expect_refused(run_caravan("validate nowhere.yaml", "/"), "cannot read nowhere.yaml: No such file");
}

TEST(BadInputs, AFolderIsNotAFile) {
  expect_refused(run_caravan("validate tmp", "/"), "tmp: is a directory; name a file in it");
}

TEST(BadInputs, AFileWhoseReadingFailsIsNamed) {
  expect_refused(run_caravan("validate /proc/self/mem", "/"),
                 "cannot read /proc/self/mem: Input/output error");
}

TEST(BadInputs, AFileWithoutPermissionIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "job.yaml") << "kind: x\n";
  fs::permissions(folder.path() / "job.yaml", fs::perms::none);
  expect_refused(run_caravan("validate job.yaml", folder.path()), "cannot read job.yaml: Permission denied");
}

TEST(BadInputs, OneFileKeepsNoOtherFromBeingLookedAt) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "good.yaml") << test::job_text();
  const Outcome outcome = run_caravan("validate nowhere.yaml good.yaml neither.yaml", folder.path());
  EXPECT_EQ(outcome.exit_code, kBadInput);
  EXPECT_EQ(outcome.out, "good.yaml: valid\n");
  EXPECT_THAT(outcome.err, HasSubstr("cannot read nowhere.yaml: No such file"));
  EXPECT_THAT(outcome.err, HasSubstr("\ncannot read neither.yaml: No such file"));
}

TEST(BadInputs, AnOverrideIsHeldToTheSameRules) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"spec.training.steps", "--set: \"spec.training.steps\" is not PATH=VALUE"},
      {"=3", "is not PATH=VALUE"},
      {"spec..training=3", "is not PATH=VALUE"},
      {"spec.training.steps=", "--set: spec.training.steps: is empty"},
      {"spec.training.steps=ten", "--set: spec.training.steps: expected a whole number"},
      {"spec.training.stepz=10", "--set: spec.training.stepz: unknown field; did you mean steps?"},
      {"spec.training.steps.more=10",
       "--set: spec.training.steps.more: leads through steps, which has no fields"},
      {"spec.parallelism.layersPerStage=[2,",
       "--set: spec.parallelism.layersPerStage:1: a list or a map where a key must be text; perhaps a "
       "bracket is"},
      {"spec.model={preset: llama-mini}", "--set: spec.model: takes a single value or a list"},
      {"spec.resources.devicesPerNode=3", "--set: spec.resources.devicesPerNode: devices must be a multiple"},
  };
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "job.yaml") << test::job_text();
  for (const auto& [assignment, message] : cases) {
    SCOPED_TRACE(assignment);
    expect_refused(run_caravan(fmt::format("validate job.yaml --set '{}'", assignment), folder.path()),
                   message);
  }
}

TEST(BadInputs, ArgumentsThatMakeNoSenseEndWithTheSameCode) {
  for (const char* arguments :
       {"data", "train", "validate", "validate a.yaml --sset x=1", "validate a.yaml -o xml"}) {
    const Outcome outcome = run_caravan(arguments, "/");
    EXPECT_EQ(outcome.exit_code, kBadInput) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr("--help")) << arguments;
  }
}

TEST(BadInputs, AnUnknownCommandIsNamed) {
  for (const char* arguments : {"train job.yaml", "data train job.yaml", "--train"}) {
    EXPECT_THAT(run_caravan(arguments, "/").err, HasSubstr("train")) << arguments;
  }
}

TEST(GoodInput, IsValid) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "job.yaml") << test::job_text();
  const Outcome outcome = run_caravan("validate job.yaml", folder.path());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "job.yaml: valid\n");
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace caravan
