#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <sstream>

#include "common/process.h"
#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "common/testing/temporary_folder.h"
#include "common/testing/turn.h"
#include "data/testing/token_files.h"
#include "data/token_dataset.h"

namespace caravan {
namespace {

namespace fs = std::filesystem;
using test::contents;
using test::Outcome;
using test::run_shell;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kCaravan = test::program_folder() + "/caravan";
const std::string kTokenizer = test::source_folder() + "/tests/data/tiny_tokenizer.json";

class DataCommand : public testing::Test {
 protected:
  // arguments: as a shell reads them, in the folder of the test. before: what the shell does first.
  Outcome run(const std::string& arguments, const std::string& before = "") const {
    return run_shell(fmt::format("cd '{}' && {} '{}' data {}", folder_.path(""),
                                 before.empty() ? "true &&" : before, kCaravan, arguments));
  }

  std::vector<int64_t> tokens(const std::string& name) const {
    const auto dataset = data::TokenDataset::open(folder_.path(name));
    EXPECT_TRUE(dataset) << dataset.error().message;
    if (!dataset) return {};
    std::vector<int64_t> ids(static_cast<size_t>(dataset->tokens()));
    EXPECT_TRUE(dataset->read(0, ids, std::numeric_limits<int64_t>::max()));
    return ids;
  }

  // Names of everything in the folder of the test.
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path("")))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(DataCommand, BytesBecomeTokens) {
  folder_.write("a.txt", "Hi\xff");
  folder_.write("b.txt", "!");
  const Outcome outcome = run("tokenize --tokenizer byte a.txt b.txt --to train.bin");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            "train.bin: 4 tokens (uint16)\n"
            "2 documents, 4 B, 4 tokens, 1.00 bytes per token, vocabulary 256, no token between documents\n"
            "a job on these tokens has spec.model.vocabSize 256, unless its preset has as many already\n");
  EXPECT_THAT(tokens("train.bin"), ElementsAre('H', 'i', 255, '!'));
}

// The ids are those of the tokenizers library for Python.
TEST_F(DataCommand, ATokenizerJsonGivesItsIds) {
  folder_.write("a.txt", "In the beginning God created the heaven\n\n  and the earth. é水🦙 1234");
  folder_.write("b.txt", "x");
  const Outcome outcome = run(fmt::format("tokenize --tokenizer {} a.txt b.txt --to train.bin", kTokenizer));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("vocabulary 360, token 1 ends a document"));
  EXPECT_EQ(
      tokens("train.bin"),
      (std::vector<int64_t>{42,  79,  260, 297, 72,  269, 79,  299, 222, 40,  330, 284, 272, 283, 288, 260,
                            293, 66,  87,  282, 200, 200, 222, 266, 260, 325, 291, 258, 15,  222, 129, 104,
                            164, 110, 114, 174, 255, 101, 249, 222, 18,  19,  20,  21,  1,   89,  1}));
}

TEST_F(DataCommand, TheSummaryIsAlsoThereAsJson) {
  folder_.write("a.txt", "0123456789");
  const Outcome whole = run(fmt::format("tokenize --tokenizer {} a.txt --to train.bin -o json", kTokenizer));
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr(R"("validationFile":null,"validationTokens":0,"type":"uint16")"));
  EXPECT_THAT(whole.out, HasSubstr(R"("vocabSize":360,"beginOfText":null,"endOfText":1})"));
  const Outcome cut = run(
      "tokenize --tokenizer byte a.txt --to t.bin --validation-to v.bin --validation-fraction 0.2 -o json");
  EXPECT_EQ(cut.out,
            R"({"file":"t.bin","tokens":8,"validationFile":"v.bin","validationTokens":2,"type":"uint16",)"
            R"("documents":1,"bytes":10,"vocabSize":256,"beginOfText":null,"endOfText":null})"
            "\n");
}

TEST_F(DataCommand, TheTokenBetweenDocumentsIsTheUsersChoice) {
  folder_.write("a.txt", "x");
  const std::string command =
      fmt::format("tokenize --force --tokenizer {} a.txt --to train.bin ", kTokenizer);
  EXPECT_EQ(run(command + "--end-of-text none").exit_code, 0);
  EXPECT_EQ(tokens("train.bin").size(), 1U);
  EXPECT_EQ(run(command + "--end-of-text '<|begin_of_text|>'").exit_code, 0);
  EXPECT_EQ(tokens("train.bin").back(), 0);
}

TEST_F(DataCommand, EachDocumentBeginsWithTheTokenThatTheUserNames) {
  folder_.write("a.txt", "x");
  folder_.write("b.txt", "x");
  const std::string command =
      fmt::format("tokenize --force --tokenizer {} a.txt b.txt --to train.bin ", kTokenizer);
  const std::string begin = "--begin-of-text '<|begin_of_text|>' ";
  const Outcome both = run(command + begin);
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("vocabulary 360, token 0 begins and token 1 ends a document"));
  const std::vector<int64_t> ids = tokens("train.bin");
  const int64_t x = ids.at(1);
  EXPECT_THAT(ids, ElementsAre(0, x, 1, 0, x, 1));
  EXPECT_THAT(run(command + begin + "-o json").out, HasSubstr(R"("beginOfText":0,"endOfText":1})"));
  const Outcome alone = run(command + begin + "--end-of-text none");
  EXPECT_THAT(alone.out, HasSubstr("token 0 begins a document"));
  EXPECT_THAT(tokens("train.bin"), ElementsAre(0, x, 0, x));
  EXPECT_EQ(run(command + "--begin-of-text none").exit_code, 0);
  EXPECT_THAT(tokens("train.bin"), ElementsAre(x, 1, x, 1));
}

TEST_F(DataCommand, ATokenWithAnotherNameIsThatOfTheTokenizersConfiguration) {
  const std::string usual = "<|end_of_text|>";
  std::string tokenizer = contents(kTokenizer);
  for (std::size_t at = tokenizer.find(usual); at != std::string::npos; at = tokenizer.find(usual))
    tokenizer.replace(at, usual.size(), "<|stop|>");
  folder_.write("own/tokenizer.json", tokenizer);
  folder_.write("a.txt", "x");
  folder_.write("b.txt", "x");
  const std::string command = "tokenize --force --tokenizer own --to train.bin a.txt ";

  EXPECT_THAT(run(command + "b.txt").err, HasSubstr("warning: nothing will stand between the documents"));
  EXPECT_EQ(tokens("train.bin").size(), 2U);
  EXPECT_EQ(run(command).err, "") << "one document";
  EXPECT_EQ(run(command + "b.txt --end-of-text none").err, "") << "as it was asked for";
  for (const char* token : {R"("<|stop|>")", R"({"content": "<|stop|>", "lstrip": false})"}) {
    folder_.write("own/tokenizer_config.json", fmt::format(R"({{"eos_token": {}}})", token));
    EXPECT_EQ(run(command + "b.txt").err, "") << token;
    EXPECT_EQ(tokens("train.bin").back(), 1) << token;
  }
  folder_.write("own/tokenizer_config.json", R"({"eos_token": null})");
  EXPECT_THAT(run(command + "b.txt").err, HasSubstr("warning: "));
  folder_.write("own/tokenizer_config.json", R"({"eos_token": "<|other|>"})");
  const Outcome refused = run(command + "b.txt");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err,
              HasSubstr("own/tokenizer_config.json: eos_token: the tokenizer has no token <|other|>"));
}

std::string long_text() {
  const std::array<std::string, 12> words{"the ", "Lord ", "beginning", "\n",      "\n\n", "  ",
                                          "é",    "水",    "🦙 ",     "1234567", ", ",   "x"};
  std::mt19937 random(7);
  std::string text;
  while (text.size() < 700'000) text += words[random() % words.size()];
  return text;
}

TEST_F(DataCommand, ALongTextGivesTheIdsOfTheTokenizersLibrary) {
  CARAVAN_BY_TURNS();
  if (!fs::exists(CARAVAN_PYTHON)) GTEST_SKIP() << "needs " << CARAVAN_PYTHON << " with tokenizers";
  const std::string text = folder_.write("long.txt", long_text());
  const std::string script = test::source_folder() + "/tests/data/reference_ids.py";
  const std::string oracle =
      fmt::format("'{}' '{}' '{}' '{}' >'{}'", CARAVAN_PYTHON, script, kTokenizer, text, folder_.path("ids"));
  ASSERT_EQ(std::system(oracle.c_str()), 0);
  std::istringstream stream(contents(folder_.path("ids")));
  const std::vector<int64_t> expected{std::istream_iterator<int64_t>(stream), {}};
  ASSERT_GT(expected.size(), 100'000U);

  ASSERT_EQ(run(fmt::format("tokenize --tokenizer {} --end-of-text none long.txt --to train.bin", kTokenizer))
                .exit_code,
            0);
  EXPECT_TRUE(tokens("train.bin") == expected);
}

TEST_F(DataCommand, StandardInputIsAText) {
  const Outcome outcome = run("tokenize --tokenizer byte - --to train.bin", "printf abc |");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(tokens("train.bin"), ElementsAre('a', 'b', 'c'));
}

TEST_F(DataCommand, TheLastPartGoesToTheValidationFile) {
  folder_.write("a.txt", "0123456789");
  const Outcome outcome =
      run("tokenize --tokenizer byte a.txt --to train.bin --validation-fraction 0.3 --validation-to val.bin");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("train.bin: 7 tokens"), HasSubstr("val.bin: 3 tokens")));
  EXPECT_THAT(tokens("train.bin"), ElementsAre('0', '1', '2', '3', '4', '5', '6'));
  EXPECT_THAT(tokens("val.bin"), ElementsAre('7', '8', '9'));
}

// Arguments, and what is said of them.
const std::pair<std::string, std::string> kBadCommands[] = {
    {"tokenize --tokenizer byte missing.txt --to o.bin", "missing.txt: cannot read: No such file"},
    {"tokenize --tokenizer byte text.txt missing.txt --to o.bin", "missing.txt: cannot read: No such file"},
    {"tokenize --tokenizer byte folder --to o.bin", "folder: cannot read: Is a directory"},
    {"tokenize --tokenizer byte empty.txt --to o.bin", "the texts hold no tokens"},
    {"tokenize --tokenizer byte text.txt --to precious.bin", "precious.bin: exists already; give --force"},
    {"tokenize --tokenizer byte text.txt --to folder", "folder: is a folder or a device"},
    {"tokenize --tokenizer byte text.txt --force --to /dev/null", "/dev/null: is a folder or a device"},
    {"tokenize --tokenizer byte text.txt --to missing/o.bin", "missing/o.bin: cannot create: No such file"},
    {"tokenize --tokenizer byte text.txt", "--to is required"},
    {"tokenize --tokenizer byte text.txt -o o.bin", "--output: expected one of text, json"},
    {"tokenize text.txt --to o.bin", "--tokenizer is required"},
    {"tokenize --tokenizer byte --to o.bin", "TEXT is required"},
    {"tokenize --tokenizer missing.json text.txt --to o.bin", "cannot read missing.json: No such file"},
    {"tokenize --tokenizer missing.json text.txt --to o.bin",
     "; give a tokenizer.json of Hugging Face, or byte\n"},
    {"tokenize --tokenizer bytes text.txt --to o.bin", "of Hugging Face, or byte; did you mean byte?"},
    {"tokenize --tokenizer org/model text.txt --to o.bin", "no model is downloaded by its name"},
    {"tokenize --tokenizer not.json text.txt --to o.bin", "not.json: not a tokenizer"},
    {"tokenize --tokenizer deep.json text.txt --to o.bin", "deep.json: not a tokenizer: recursion limit"},
    {"tokenize --tokenizer panic.json text.txt --to o.bin", "panic.json: not a tokenizer: internal error"},
    {"tokenize --tokenizer empty.txt text.txt --to o.bin", "empty.txt: not a tokenizer"},
    {"tokenize --tokenizer folder text.txt --to o.bin", "cannot read folder/tokenizer.json: No such file"},
    {"tokenize --tokenizer " + kTokenizer + " latin.txt --to o.bin", "latin.txt: not UTF-8 at byte 3"},
    {"tokenize --tokenizer " + kTokenizer + " --end-of-text '<|stop|>' text.txt --to o.bin",
     "has no token <|stop|>"},
    {"tokenize --tokenizer byte --end-of-text '</s>' text.txt --to o.bin",
     "--end-of-text: the byte tokenizer"},
    {"tokenize --tokenizer " + kTokenizer + " --begin-of-text '<s>' text.txt --to o.bin",
     "--begin-of-text: " + kTokenizer + " has no token <s>"},
    {"tokenize --tokenizer byte --begin-of-text '<s>' text.txt --to o.bin",
     "--begin-of-text: the byte tokenizer"},
    {"tokenize --tokenizer byte text.txt --to o.bin --validation-fraction 0.1", "--validation-to"},
    {"tokenize --tokenizer byte text.txt --to o.bin --validation-to v.bin", "--validation-fraction"},
    {"tokenize --tokenizer byte text.txt --to o.bin --validation-to v.bin --validation-fraction 1.5",
     "the validation fraction is 1.5"},
    {"tokenize --tokenizer byte text.txt --to o.bin --validation-to v.bin --validation-fraction 0",
     "the validation fraction is 0"},
    {"tokenize --tokenizer byte text.txt --to o.bin --validation-to v.bin --validation-fraction nan",
     "the validation fraction is nan"},
    {"tokenize --tokenizer byte text.txt --to o.bin --validation-fraction 0.01 --validation-to v.bin",
     "leave one of the two files empty"},
    {"tokenize --tokenizer byte text.txt --to o.bin --validation-fraction 0.5 --validation-to o.bin",
     "o.bin: is the output for training and for validation"},
    {"tokenize --tokenizer byte text.txt --to o.bin --validation-fraction 0.5 --validation-to ./o.bin",
     "./o.bin: is the output for training and for validation"},
    {"tokenize --tokenizer byte text.txt --to link/o.bin --validation-fraction 0.5 --validation-to "
     "folder/o.bin",
     "folder/o.bin: is the output for training and for validation"},
    {"inspect missing.bin", "missing.bin: cannot open"},
    {"inspect text.txt", "text.txt: not a token file"},
    {"inspect empty.txt", "empty.txt: is empty"},
    {"inspect folder", "folder: no token files"},
    {"inspect", "PATH is required"},
    {"inspect text.txt empty.txt", "one PATH is looked at; name the folder, or put a pattern in quotes"},
    {"inspect -o yaml text.txt", "yaml"},
    {"", "command is required"},
    {"tokenize --tokenizer byte a.txt --to ''", "empty name"},
    {"tokenize --tokenizer byte text.txt --to text.txt --force", "is a text that is read"},
    {"tokenize --tokenizer byte text.txt --to -",
     "a token file is written to a file, not to standard output"},
    {"tokenize --tokenizer byte text.txt --to o.bin --validation-fraction 0.5 --validation-to -",
     "not to standard output"},
};

TEST_F(DataCommand, BadInputEndsWithCode2AndLeavesNothing) {
  CARAVAN_BY_TURNS();
  folder_.write("text.txt", "words");
  folder_.write("latin.txt", "caf\xe9");
  folder_.write("empty.txt", "");
  folder_.write("precious.bin", "precious");
  folder_.write("not.json", "{\"model\": 7}");
  folder_.write("deep.json", "{\"normalizer\": " + std::string(100'000, '['));
  // The library panics over a prefix that is longer than the tokens.
  folder_.write("panic.json", R"({"model": {"type": "BPE", "continuing_subword_prefix": "###",
                                             "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})");
  fs::create_directory(folder_.path("folder"));
  fs::create_directory_symlink("folder", folder_.path("link"));
  const std::vector<std::string> before = entries();
  for (const auto& [arguments, message] : kBadCommands) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(entries(), before) << arguments;
  }
  EXPECT_EQ(contents(folder_.path("precious.bin")), "precious");
}

TEST_F(DataCommand, ForceReplacesAFile) {
  folder_.write("text.txt", "words");
  folder_.write("o.bin", "old");
  EXPECT_EQ(run("tokenize --tokenizer byte text.txt --to o.bin --force").exit_code, 0);
  EXPECT_EQ(tokens("o.bin").size(), 5U);
}

TEST_F(DataCommand, AFullDiskLeavesNothing) {
  const Outcome outcome = run("tokenize --tokenizer byte /dev/zero --to o.bin", "ulimit -f 4096 &&");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("o.bin: cannot write: File too large"), HasSubstr("make room")));
  EXPECT_THAT(entries(), IsEmpty());
}

// Waits for the hidden file: from then on signals are handled.
void wait_for_new_file(const UniqueFd& watch) {
  std::array<char, 4096> event{};
  ASSERT_GT(::read(watch.get(), event.data(), event.size()), 0);
}

TEST_F(DataCommand, AnInterruptionLeavesNothing) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const UniqueFd watch(::inotify_init1(IN_CLOEXEC));
    ASSERT_GE(::inotify_add_watch(watch.get(), folder_.path("").c_str(), IN_CREATE), 0);
    auto process = Process::spawn({.program = kCaravan,
                                   .arguments = {"data", "tokenize", "--tokenizer", "byte", "/dev/zero",
                                                 "--to", folder_.path("o.bin")}});
    ASSERT_TRUE(process) << process.error().message;
    wait_for_new_file(watch);
    process->signal_group(signal);
    EXPECT_EQ(process->wait(), (ExitStatus{.exit_code = 130, .signal = 0})) << signal;
    EXPECT_THAT(entries(), IsEmpty());
  }
}

TEST_F(DataCommand, AnInterruptionEndsTheWaitForStandardInput) {
  const UniqueFd watch(::inotify_init1(IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), folder_.path("").c_str(), IN_CREATE), 0);
  const auto silent = make_pipe();
  ASSERT_TRUE(silent);
  auto process = Process::spawn(
      {.program = "/bin/sh",
       .arguments = {"-c", fmt::format("exec '{}' data tokenize --tokenizer byte - --to '{}' <&{}", kCaravan,
                                       folder_.path("o.bin"), silent->read_end.get())},
       .inherited_fds = {silent->read_end.get()}});
  ASSERT_TRUE(process) << process.error().message;
  wait_for_new_file(watch);
  process->signal_group(SIGINT);
  EXPECT_EQ(process->wait(), (ExitStatus{.exit_code = 130, .signal = 0}));
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_F(DataCommand, ANamedPipeIsAText) {
  const Outcome outcome =
      run("tokenize --tokenizer byte pipe --to train.bin", "mkfifo pipe && (printf abc >pipe &) &&");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(tokens("train.bin"), ElementsAre('a', 'b', 'c'));
}

TEST_F(DataCommand, InspectTellsWhatStandsInTheFiles) {
  folder_.write("corpus/a.bin", data::llm_c_file(std::vector<uint16_t>{3, 1, 4}).bytes());
  folder_.write("corpus/b.bin", data::bytes_of(std::vector<int32_t>{1, 5}));
  folder_.write("corpus/b.idx", data::megatron_index(4, 4, {1, 1}).bytes());
  const Outcome text = run("inspect corpus");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out,
            "corpus/a.bin: llm.c, uint16, 3 tokens\n"
            "corpus/b.bin: Megatron, int32, 2 tokens, 2 documents\n"
            "files            2\n"
            "tokens           5\n"
            "documents        not recorded\n"
            "largest token    5: the model needs vocabSize 6 or more\n"
            "first tokens     3 1 4 1 5\n");
  const Outcome json = run("inspect corpus/b.bin -o json");
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(
      json.out,
      R"({"files":[{"path":"corpus/b.bin","format":"Megatron","type":"int32","tokens":2,"documents":2}],)"
      R"("tokens":2,"documents":2,"largestToken":5,"vocabSize":6,"firstTokens":[1,5]})"
      "\n");
}

TEST_F(DataCommand, AFolderMayHaveMoreFilesThanALoginMayOpenAtFirst) {
  const std::string file = data::llm_c_file(std::vector<uint16_t>{7}).bytes();
  for (int i = 0; i < 100; ++i) folder_.write(fmt::format("corpus/{}.bin", i), file);
  const Outcome outcome = run("inspect corpus", "ulimit -Sn 64 &&");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("files            100\n"));
}

TEST_F(DataCommand, InspectNamesANegativeToken) {
  folder_.write("b.bin", data::bytes_of(std::vector<int32_t>{1, -5}));
  folder_.write("b.idx", data::megatron_index(4, 4, {2}).bytes());
  const Outcome outcome = run("inspect b.bin");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "b.bin: token 1 has id -5, which is no token; copy or tokenize the file again\n");
}

}  // namespace
}  // namespace caravan
