// Completion as the shells themselves do it, from the text that `caravan completion` prints.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sstream>

#include "common/testing/checkout.h"
#include "common/testing/shell.h"

namespace caravan::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

bool has_shell(const std::string& shell) {
  return run_shell(fmt::format("command -v {}", shell)).exit_code == 0;
}

class Completion : public testing::Test {
 protected:
  std::string script(const std::string& shell) const {
    const Outcome outcome = run_shell(fmt::format("'{}/caravan' completion {}", program_folder(), shell));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return folder_.write(shell, outcome.out);
  }

  // What a shell says to a program of its own.
  std::vector<std::string> answers_of(const std::string& shell, const std::string& program) const {
    const Outcome outcome = run_shell(
        fmt::format("cd '{}' && {} '{}'", folder_.path(""), shell, folder_.write("asked", program)));
    EXPECT_EQ(outcome.err, "") << shell;
    return outcome.lines();
  }

  // words: of the command line, the last one is completed.
  std::vector<std::string> bash(const std::string& words) const {
    return answers_of("bash --norc",
                      fmt::format("set -u\nsource '{}'\nCOMP_WORDS=({})\n"
                                  "COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n_caravan\n"
                                  "[[ ${{#COMPREPLY[@]}} == 0 ]] || printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
                                  script("bash"), words));
  }

  const TemporaryFolder folder_;
};

TEST_F(Completion, OfBashKnowsCommandsOptionsAndTheirValues) {
  EXPECT_THAT(bash("caravan va"), ElementsAre("validate"));
  EXPECT_THAT(bash("caravan ''"), IsSupersetOf({"init", "run", "plan", "completion"}));
  EXPECT_THAT(bash("caravan data ''"), ElementsAre("tokenize", "inspect"));
  EXPECT_THAT(bash("caravan data tokenize --tok"), ElementsAre("--tokenizer"));
  EXPECT_THAT(bash("caravan plan -o ''"), ElementsAre("text", "json", "svg"));
  EXPECT_THAT(bash("caravan plan --output = j"), ElementsAre("json")) << "bash splits at =";
  EXPECT_THAT(bash("caravan plan --output ="), ElementsAre("text", "json", "svg"));
  EXPECT_THAT(bash("caravan init --preset llama3.1-"),
              ElementsAre("llama3.1-8b", "llama3.1-70b", "llama3.1-405b"));
  EXPECT_THAT(bash("caravan schedule Z"), ElementsAre("ZBH1", "ZBH2", "ZBAuto"));
  EXPECT_THAT(bash("caravan run job.yaml --no"), ElementsAre("--nodes"));
  EXPECT_THAT(bash("caravan run ''"), IsEmpty()) << "bash offers files";
  EXPECT_THAT(bash("caravan run --trace ''"), IsEmpty());
  EXPECT_THAT(bash("caravan plan --all --wh"), ElementsAre("--why")) << "a flag takes no value";
  EXPECT_THAT(bash("caravan init --force --preset llama3.2-"), ElementsAre("llama3.2-1b", "llama3.2-3b"));
}

// Bash cuts words at "=", ":" and "@". sh runs __jobs, which tells how it was asked.
TEST_F(Completion, OfBashAsksForJobsWithOptionsAsTheyAreWritten) {
  folder_.write("__jobs", "printf '%s\\n' \"$*\" >told\nprintf 'tiny\\nother\\n'\n");
  const auto told = [&](const std::string& words) {
    EXPECT_THAT(bash(words), ElementsAre("tiny")) << words;
    return contents(folder_.path("told"));
  };
  EXPECT_EQ(told("sh get --namespace = team t"), "get --namespace=team t\n");
  EXPECT_EQ(told("sh get --server localhost : 8443 t"), "get --server localhost:8443 t\n");
  EXPECT_EQ(told("sh get --server = localhost : 8443 -n team t"), "get --server=localhost:8443 -n team t\n");
  EXPECT_EQ(told("sh get --context arn : aws : eks :: 1 : cluster/x t"),
            "get --context arn:aws:eks::1:cluster/x t\n");
  EXPECT_EQ(told("sh get --context kubernetes-admin @ kubernetes t"),
            "get --context kubernetes-admin@kubernetes t\n");
}

TEST_F(Completion, OfBashIsOfferedForTheProgram) {
  const Outcome outcome =
      run_shell(fmt::format("bash --norc -c 'source \"{}\" && complete -p caravan'", script("bash")));
  EXPECT_EQ(outcome.out, "complete -o default -F _caravan caravan\n") << outcome.err;
}

TEST_F(Completion, OfZshKnowsCommandsOptionsAndTheirValues) {
  if (!has_shell("zsh")) GTEST_SKIP() << "zsh is not installed (apt-get install zsh)";
  // What the completion system is asked to offer, in place of its terminal.
  const auto zsh = [&](const std::string& words) {
    return answers_of("zsh -f", fmt::format("compdef() {{ }}\n_files() {{ print FILES }}\n"
                                            "compadd() {{ shift; print -l -- $@ }}\n"
                                            "_describe() {{ print -l -- ${{(P)@[-1]}} }}\n"
                                            "source '{}'\nwords=({})\nCURRENT=$#words\n_caravan\n",
                                            script("zsh"), words));
  };
  EXPECT_THAT(zsh("caravan ''"), Contains("validate:Checks job files and reports every mistake at once"));
  EXPECT_THAT(zsh("caravan data ''"), testing::SizeIs(2));
  EXPECT_THAT(zsh("caravan plan -"),
              Contains("--why:Explain one layout instead, such as tensor=4,pipeline=2"));
  EXPECT_THAT(zsh("caravan plan -o ''"), ElementsAre("text", "json", "svg"));
  EXPECT_THAT(zsh("caravan run ''"), ElementsAre("FILES"));
  EXPECT_THAT(zsh("caravan run --trace ''"), ElementsAre("FILES"));
  EXPECT_THAT(zsh("caravan run --nodes ''"), IsEmpty());
  EXPECT_THAT(zsh("caravan plan --all ''"), ElementsAre("FILES")) << "a flag takes no value";
  EXPECT_THAT(zsh("caravan plan --all --wh"), Contains(testing::StartsWith("--why:")));
  EXPECT_THAT(zsh("caravan de"), Contains("devices:Lists the GPUs that spec.resources.device.product names"));
}

TEST_F(Completion, OfFishKnowsCommandsOptionsAndTheirValues) {
  if (!has_shell("fish")) GTEST_SKIP() << "fish is not installed (apt-get install fish)";
  folder_.write("job.yaml", "");
  const auto fish = [&](const std::string& line) {
    return answers_of(fmt::format("HOME='{}' fish --no-config", folder_.path("")),
                      fmt::format("source '{}'\ncomplete -C '{}'\n", script("fish"), line));
  };
  EXPECT_THAT(fish("caravan va"),
              ElementsAre("validate\tChecks job files and reports every mistake at once"));
  EXPECT_THAT(fish("caravan dev"),
              ElementsAre("devices\tLists the GPUs that spec.resources.device.product names"));
  EXPECT_THAT(fish("caravan data "), testing::SizeIs(2));
  EXPECT_THAT(fish("caravan plan --wh"),
              ElementsAre("--why\tExplain one layout instead, such as tensor=4,pipeline=2"));
  EXPECT_THAT(fish("caravan init --preset llama3.1-4"), Contains(testing::StartsWith("llama3.1-405b")));
  EXPECT_THAT(fish("caravan run jo"), ElementsAre("job.yaml"));
  EXPECT_THAT(fish("caravan plan --all jo"), ElementsAre("job.yaml")) << "a flag takes no value";
  EXPECT_THAT(fish("caravan plan --all --wh"), testing::SizeIs(1));
  EXPECT_THAT(fish("caravan va jo"), Not(Contains("job.yaml"))) << "no command was named";
}

}  // namespace
}  // namespace caravan::test
