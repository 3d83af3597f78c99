// What all commands have in common, and those that list what there is.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <sstream>

#include "checkpoint/testing/tiny_checkpoint.h"
#include "common/json.h"
#include "common/process.h"
#include "common/testing/await.h"
#include "common/testing/checkout.h"
#include "common/testing/job_text.h"
#include "common/testing/shell.h"
#include "common/unique_fd.h"
#include "data/testing/token_files.h"
#include "planner/device/catalogue.h"
#include "planner/model/parameters.h"
#include "planner/model/presets.h"
#include "tests/support/run_process.h"

namespace caravan::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ResultOf;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kJob = job_text("{devices: 2, device: {kind: CPU}}");

class Commands : public testing::Test {
 protected:
  // arguments: as a shell reads them, in the folder of the test. before: what the shell does first.
  Outcome caravan(const std::string& arguments, const std::string& before = "") const {
    return run_shell(
        fmt::format("cd '{}' && {} '{}/caravan' {}", folder_.path(""), before, program_folder(), arguments));
  }

  // One that trains here, with further lines below spec.
  void write_job(const std::string& more) const {
    folder_.write("tokens.bin", data::llm_c_file(std::vector<uint16_t>(2000, 7)).bytes());
    folder_.write("job.yaml", kJob + more);
  }

  const TemporaryFolder folder_;
};

TEST_F(Commands, ReadAJobFromStandardInput) {
  folder_.write("job.yaml", kJob);
  for (const char* command : {"validate", "plan"}) {
    const Outcome outcome = caravan(fmt::format("{} - <job.yaml", command));
    EXPECT_EQ(outcome.exit_code, 0) << command << ": " << outcome.err;
    EXPECT_THAT(outcome.err, IsEmpty());
  }
  EXPECT_EQ(caravan("validate - <job.yaml").out, "standard input: valid\n");
  EXPECT_EQ(caravan("plan - <job.yaml").out, caravan("plan job.yaml").out);
  EXPECT_EQ(caravan("data inspect - <job.yaml").err,
            "standard input: tokens are read at any place of a file; give the path of one\n");
  const Outcome run = caravan("run - <job.yaml");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("spec.data.path")) << "the file is read, the tokens are not there";
}

TEST_F(Commands, ReadNothingElseInPlaceOfAClosedStandardInput) {
  const Outcome outcome = caravan("data tokenize --tokenizer byte - --to train.bin <&-", "timeout 20");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("standard input: cannot read"));
}

TEST_F(Commands, NameMistakesOfStandardInputByItsLines) {
  folder_.write("job.yaml", kJob + "  paralelism: {tensor: 2}\n");
  const Outcome outcome = caravan("validate - <job.yaml");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "standard input:9: spec.paralelism: unknown field; did you mean parallelism?\n");
  EXPECT_EQ(caravan("plan - </dev/null").err, "standard input: is empty\n");
  folder_.write("bad.yaml", "peak: 3\n");
  folder_.write("job.yaml", kJob);
  EXPECT_THAT(caravan("plan job.yaml --engine-profile - <bad.yaml").err, HasSubstr("standard input:1: peak"));
  EXPECT_THAT(caravan("plan job.yaml --device-catalogue - <bad.yaml").err,
              HasSubstr("standard input:1: peak"));
}

TEST_F(Commands, TakeTheShapeOfTheFolderThatAJobBeginsWith) {
  const auto volume = checkpoint::make_volume(folder_.path("models")).value();
  ASSERT_TRUE(checkpoint::testing::write_tiny(*volume, 1));
  folder_.write("job.yaml", kJob);
  const auto with = [&](const std::string& command, const std::string& model) {
    return caravan(fmt::format("{} job.yaml --set spec.model.preset=null --set spec.model.initFrom.path={}",
                               command, model));
  };
  EXPECT_EQ(with("plan", "models/step-000001").exit_code, 0);
  EXPECT_EQ(with("validate", "models/step-000001").out, "job.yaml: valid\n");
  const Outcome json = with("validate -o json", "models/step-000001");
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"architecture\": {"), HasSubstr("\"hiddenSize\": 8")));
  const Outcome none = with("validate", "models/none");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("job.yaml: spec.model.initFrom.path: models/none"));
}

TEST_F(Commands, SayWhatWasProbablyMeant) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"trian job.yaml", R"(caravan has no command "trian"; its commands are init, validate)"},
      {"rnu job.yaml", R"(caravan has no command "rnu"; did you mean run?)"},
      {"init --device h100-81gb", "did you mean H100-80GB?"},
      {"validte job.yaml", R"(caravan has no command "validte"; did you mean validate?)"},
      {"data tokenise a.txt", R"(caravan data has no command "tokenise"; did you mean tokenize?)"},
      {"data tokenize --tokeniser byte a.txt",
       R"(caravan data tokenize has no option "--tokeniser"; did you mean --tokenizer?)"},
      {"plan job.yaml --device-per-node 4",
       R"(caravan plan has no option "--device-per-node"; did you mean --devices-per-node?)"},
      {"plan -o jsn job.yaml", R"(--output: expected one of text, json, svg, got "jsn"; did you mean json?)"},
      {"generate folder --prompt x --seed abc", R"(--seed: expected a whole number, got "abc")"},
      {"schedule VHlf -p 4 -m 8", R"(got "VHlf"; did you mean VHalf?)"},
      {"plan job.yaml --set a=1 b=2", "write --set before each PATH=VALUE"},
      {"plan a.yaml b.yaml", R"(caravan plan: "b.yaml" is one argument too many)"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = caravan(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr("--help")) << arguments;
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
  }
}

TEST_F(Commands, AloneExplainThemselves) {
  const Outcome alone = caravan("");
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_EQ(alone.out, caravan("--help").out);
  EXPECT_EQ(caravan("help").out, alone.out);
  EXPECT_THAT(alone.out, HasSubstr("3 the job does not fit"));
  EXPECT_THAT(caravan("plan --help").out, Not(HasSubstr("Exit codes")));
  EXPECT_EQ(caravan("help data inspect").out, caravan("data inspect --help").out);
  EXPECT_THAT(caravan("help plam").err, HasSubstr("no command \"plam\"; did you mean plan?"));
  const Outcome group = caravan("data");
  EXPECT_EQ(group.exit_code, 2);
  EXPECT_THAT(group.err, HasSubstr("caravan data: a command is required: tokenize, inspect"));
  EXPECT_THAT(caravan("service").err, HasSubstr("caravan service: a command is required: root"));
}

TEST_F(Commands, ExplainThemselvesWithinTheWidthOfTheTerminal) {
  for (const char* command : {"", "init", "validate", "plan", "run", "generate", "data", "data tokenize",
                              "data inspect", "checkpoint", "checkpoint list", "checkpoint export", "trace",
                              "schedule", "presets", "devices", "completion"}) {
    for (const int width : {80, 100}) {
      const Outcome help = caravan(fmt::format("{} --help", command), fmt::format("COLUMNS={}", width));
      EXPECT_EQ(help.exit_code, 0) << command;
      EXPECT_THAT(help.lines(),
                  Each(ResultOf([](const std::string& line) { return static_cast<int>(line.size()); },
                                testing::Le(width))))
          << command;
    }
  }
}

TEST_F(Commands, ThatRunAJobPlanItAsPlanDoes) {
  write_job("  checkpoint: {path: checkpoints}\n");
  const std::string explained = caravan("plan job.yaml", "COLUMNS=80").out;
  const std::string plan = explained.substr(0, explained.find("\nCheckpoints: "));
  ASSERT_THAT(plan, AllOf(StartsWith("Plan: "), HasSubstr("  S snapshot ")))
      << "the copy counts on a processor";
  const Outcome trace = caravan("trace job.yaml --steps 1 --to trace.json", "COLUMNS=80");
  EXPECT_EQ(trace.exit_code, 0);
  EXPECT_THAT(trace.err, HasSubstr(plan));
  EXPECT_THAT(trace.err, Not(HasSubstr("spec.checkpoint")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("checkpoints")));
  const Outcome run = caravan("run job.yaml -o text --set spec.training.steps=1", "COLUMNS=80");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(plan + "\nCheckpoints: "));
}

TEST_F(Commands, NameFoldersAsAShellReadsThem) {
  write_job("");
  const Outcome run = caravan("run job.yaml --set spec.training.steps=1 --tensorboard 'my curves'");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, AllOf(HasSubstr("curves: tensorboard --logdir '/"), HasSubstr("/my curves'\n")));
}

TEST_F(Commands, ThatTrainStopWhereTheReaderOfAPipeGoesAndSaySo) {
  write_job("");
  run_shell(
      fmt::format("cd '{}' && {{ '{}/caravan' run job.yaml -o text --set spec.training.steps=1000000 "
                  "2>err; echo $? >code; }} | head -n 1",
                  folder_.path(""), program_folder()));
  EXPECT_EQ(contents(folder_.path("code")), "130\n");
  EXPECT_THAT(contents(folder_.path("err")), StartsWith("stopping: standard output takes no more lines"));
}

// Standard error is a pipe without room, which is emptied when the last checkpoint is there.
TEST_F(Commands, ThatTrainStopAlsoWhereNobodyReadsWhy) {
  write_job("  checkpoint: {path: checkpoints, everySteps: 1000000}\n");
  const Outcome stopped =
      run_shell(fmt::format("cd '{}' && mkfifo full && exec 3<>full; "
                            "dd if=/dev/zero of=full bs=4096 count=10000 oflag=nonblock; "
                            "( {{ '{}/caravan' run job.yaml -o text --set spec.training.steps=1000000 2>&3; "
                            "echo $? >code; }} | head -n 1 ) & run=$!; "
                            "timeout 60 sh -c 'until ls checkpoints/step-*; do sleep 0.1; done'; stopped=$?; "
                            "cat <&3 >/dev/null & cat=$!; wait $run; kill $cat; exit $stopped",
                            folder_.path(""), program_folder()));
  EXPECT_EQ(stopped.exit_code, 0) << "it trains on";
  EXPECT_EQ(contents(folder_.path("code")), "130\n");
}

TEST_F(Commands, SayWhyAPlanCannotBeWritten) {
  write_job("");
  std::filesystem::create_directories(folder_.path("work/plan.json"));
  const Outcome run = caravan("run job.yaml --work-directory work");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("/work/plan.json: Is a directory"));
}

TEST_F(Commands, ThatTraceSayWhatWritesACheckpointThatIsAskedFor) {
  write_job("  checkpoint: {path: " + folder_.path("checkpoints") + "}\n");
  const UniqueFd err(open(folder_.write("err", "").c_str(), O_WRONLY | O_CLOEXEC));
  const std::string data = "spec.data.path=" + folder_.path("tokens.bin");
  Result<Process> trace =
      Process::spawn({.program = program_folder() + "/caravan",
                      .arguments = {"trace", folder_.path("job.yaml"), "--steps", "1000000", "--set", data,
                                    "--to", folder_.path("trace.json")},
                      .stderr_fd = err.get()});
  ASSERT_TRUE(trace) << trace.error().message;
  const auto told = [&] { return contents(folder_.path("err")); };
  const auto says = [&](const char* words) { return told().find(words) != std::string::npos; };
  await([&] { return says("\nstep 1/"); });
  kill(trace->pid(), SIGUSR1);
  await([&] { return says("\nno checkpoint is written"); });
  kill(trace->pid(), SIGTERM);
  EXPECT_EQ(trace->wait().exit_code, 130) << told();
  EXPECT_THAT(told(), HasSubstr(": caravan run of a job with spec.checkpoint has a place for one\n"));
}

TEST_F(Commands, ThatDrawATextSayWhatDrawsItAgain) {
  write_job("  checkpoint: {path: checkpoints}\n");
  ASSERT_EQ(caravan("run job.yaml --set spec.training.steps=1").exit_code, 0);
  const std::string generate = "generate checkpoints --prompt And --max-tokens 20 ";
  const Outcome drawn = caravan(generate + "--temperature 1");
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_THAT(drawn.err, ::testing::MatchesRegex("the text is drawn with --seed [0-9]+\n"));
  const std::string seed =
      drawn.err.substr(drawn.err.find("--seed"), drawn.err.find('\n') - drawn.err.find("--seed"));
  const Outcome again = caravan(generate + "--temperature 1 " + seed);
  EXPECT_EQ(again.out, drawn.out);
  EXPECT_THAT(again.err, IsEmpty());
  EXPECT_NE(caravan(generate + "--temperature 1").out, drawn.out);
  EXPECT_THAT(caravan(generate).err, IsEmpty()) << "nothing is drawn";
  const Outcome none = caravan("generate checkpoints --prompt " + std::string(200, 'a'));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.err, "the prompt: has 200 tokens, and the model was made for 128; give a shorter one\n");
}

TEST_F(Commands, ListThePresetsWithTheirFigures) {
  const Outcome text = caravan("presets", "COLUMNS=80");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("llama3-8b"), HasSubstr("8.03B"), HasSubstr("128,256")));
  const std::vector<std::string> lines = caravan("presets -o json").lines();
  const auto names = planner::preset_names();
  ASSERT_THAT(lines, SizeIs(names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto preset = from_json<JsonObject>(lines[i]);
    ASSERT_TRUE(preset) << lines[i];
    const planner::ModelShape shape = *planner::find_preset(names[i]);
    EXPECT_EQ(test::text(*preset, "name"), names[i]);
    EXPECT_EQ(number(*preset, "parameters"), static_cast<double>(parameter_count(shape)));
    EXPECT_EQ(number(*preset, "vocabSize"), static_cast<double>(shape.vocab));
  }
}

TEST_F(Commands, ListTheDevicesWithTheirFigures) {
  const Outcome text = caravan("devices", "COLUMNS=80");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("H100-80GB"), HasSubstr("79.1 GiB"), HasSubstr("989")));
  EXPECT_THAT(text.lines(),
              Each(ResultOf([](const std::string& line) { return line.size(); }, testing::Le(80U))));
  const std::vector<std::string> lines = caravan("devices -o json").lines();
  ASSERT_THAT(lines, SizeIs(planner::device_names().size()));
  for (const std::string& line : lines) {
    const auto device = from_json<JsonObject>(line);
    ASSERT_TRUE(device) << line;
    const auto known = planner::find_device(test::text(*device, "name"));
    ASSERT_TRUE(known) << line;
    EXPECT_EQ(number(*device, "memoryBytes"), static_cast<double>(known->memory_bytes));
    EXPECT_EQ(number(*device, "peakFlops"), known->peak_flops);
    EXPECT_EQ(test::text(*device, "validated"), known->name == "H200" ? "yes" : "no");
  }
}

TEST_F(Commands, ListDevicesOfTheUsersOwnFirst) {
  folder_.write("mine.yaml", "devices:\n  - {name: H100-80GB, memory: 64Gi}\n");
  const Outcome outcome = caravan("devices --device-catalogue mine.yaml");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.lines().at(1), AllOf(HasSubstr("H100-80GB"), HasSubstr("64.0 GiB")));
  EXPECT_THAT(outcome.lines(), SizeIs(caravan("devices").lines().size())) << "in place of ours";
}

}  // namespace
}  // namespace caravan::test
