#include "tests/support/tiny_job.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "data/testing/token_files.h"

namespace caravan::test {
namespace {

constexpr const char* kJob = R"(apiVersion: training.caravan.dev/v1alpha1
kind: LlamaTrainingJob
metadata: {{name: tiny}}
spec:
  model: {model}
  data: {{claimName: corpus, path: genesis.bin}}
  training:
    steps: {steps}
    sequenceLength: 64
    globalBatchSequences: 8
    precision: FP32
    optimizer: {{learningRate: "1e-2", minLearningRate: "1e-3", warmupSteps: 2}}
  resources: {{devices: {devices}, device: {{kind: CPU}}}}
  parallelism:
    mode: Manual
    tensor: {tensor}
    pipeline: {pipeline}
    data: {data}
    schedule: {schedule}
    activationCheckpointing: {checkpointing}
  failurePolicy: {{maxRestarts: {restarts}}}
)";

// The first book, as the Debian package bible-kjv prints it.
std::string genesis() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen("bible -f gen1:1-gen50:26", "r"), pclose);
  if (!pipe) throw std::runtime_error("cannot run bible");
  std::string text;
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    text.append(buffer.data(), count);
  }
  if (text.size() < 100'000)
    throw std::runtime_error("bible did not print its text; install the package bible-kjv");
  return text;
}

}  // namespace

JobFolder::JobFolder() {
  const std::string text = genesis();
  const std::vector<uint16_t> tokens(text.begin(), text.end());  // ASCII
  for (const char* file : {"corpus/genesis.bin", "corpus/held-out.bin"})
    files_.write(file, data::llm_c_file(tokens).bytes());
}

std::string JobFolder::write(const TinyJob& job) const {
  std::string text = fmt::format(
      kJob, fmt::arg("model", job.model), fmt::arg("steps", job.steps),
      fmt::arg("devices", job.tensor * job.pipeline * job.data), fmt::arg("tensor", job.tensor),
      fmt::arg("pipeline", job.pipeline), fmt::arg("data", job.data), fmt::arg("schedule", job.schedule),
      fmt::arg("checkpointing", job.checkpointing), fmt::arg("restarts", job.max_restarts));
  for (const std::string& line : job.more) text += fmt::format("  {}\n", line);
  return files_.write("job.yaml", text);
}

std::vector<std::string> JobFolder::volume() const {
  return {"--volume", "corpus=" + files_.path("corpus")};
}

std::vector<std::string> JobFolder::arguments(const TinyJob& job,
                                              const std::vector<std::string>& more) const {
  std::vector<std::string> arguments = {write(job)};
  for (const std::string& argument : volume()) arguments.push_back(argument);
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace caravan::test
