#include "tests/support/run_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <iterator>

#include "common/json.h"
#include "common/testing/checkout.h"

namespace caravan::test {
RunProcess::RunProcess(const std::vector<std::string>& arguments, const std::string& programs)
    : work_directory_(folder_.path("work")) {
  std::vector<std::string> all = {"run"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), {"--work-directory", work_directory_});
  const bool chooses_form =
      std::any_of(all.begin(), all.end(), [](const auto& a) { return a == "-o" || a == "--output"; });
  if (!chooses_form) all.insert(all.end(), {"-o", "json"});

  Result<Pipe> out = make_pipe();
  const UniqueFd err(open(folder_.write("stderr", "").c_str(), O_WRONLY | O_CLOEXEC));
  if (!out || !err) throw std::runtime_error("cannot make the streams of caravan run");
  Result<Process> process =
      Process::spawn({.program = (programs.empty() ? program_folder() : programs) + "/caravan",
                      .arguments = all,
                      .environment = {{"TMPDIR", folder_.path().string()}},
                      .stdout_fd = out->write_end.get(),
                      .stderr_fd = err.get()});
  if (!process) throw std::runtime_error(process.error().message);
  process_.emplace(std::move(*process));
  out_ = std::move(out->read_end);
}

std::optional<std::string> RunProcess::read_line() {
  while (true) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    std::array<char, 4096> buffer;
    const ssize_t count = read(out_.get(), buffer.data(), buffer.size());
    if (count <= 0) return std::nullopt;
    unread_.append(buffer.data(), static_cast<std::size_t>(count));
    all_out_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

std::optional<JsonObject> RunProcess::wait_for(const std::string& type) {
  while (const std::optional<std::string> line = read_line()) {
    Result<JsonObject> object = from_json<JsonObject>(*line);
    if (!object) continue;
    lines_.push_back(*object);
    if (text(*object, "type") == type) return *object;
  }
  return std::nullopt;
}

bool RunProcess::wait_for_step(int attempt, int step) {
  while (const std::optional<JsonObject> line = wait_for("step")) {
    const bool later_attempt = number(*line, "attempt") > attempt;
    if (later_attempt || (number(*line, "attempt") == attempt && number(*line, "step") >= step)) return true;
  }
  return false;
}

void RunProcess::signal(int number) const {
  kill(process_->pid(), number);
}

Finished RunProcess::finish() {
  while (wait_for("")) {
  }
  const ExitStatus status = process_->wait();
  return {.status = status, .lines = lines_, .out = all_out_, .err = contents(folder_.path("stderr"))};
}

void make_programs_with_trainer(const std::string& folder, const std::string& trainer) {
  std::filesystem::create_directories(folder);
  for (const char* name : {"/caravan", "/caravan-agent"})
    std::filesystem::copy_file(program_folder() + name, folder + name);
  std::filesystem::copy_file(trainer, folder + "/caravan-trainer");
}

Finished run(const std::vector<std::string>& arguments) {
  return RunProcess(arguments).finish();
}

double number(const JsonObject& object, const std::string& key) {
  const auto field = object.fields().find(key);
  return field == object.fields().end() ? 0 : field->second.number_value();
}

std::string text(const JsonObject& object, const std::string& key) {
  const auto field = object.fields().find(key);
  return field == object.fields().end() ? "" : field->second.string_value();
}

std::vector<JsonObject> all_of(const Finished& finished, const std::string& type) {
  std::vector<JsonObject> found;
  for (const JsonObject& line : finished.lines) {
    if (text(line, "type") == type) found.push_back(line);
  }
  return found;
}

JsonObject last_of(const Finished& finished, const std::string& type) {
  const std::vector<JsonObject> found = all_of(finished, type);
  return found.empty() ? JsonObject() : found.back();
}

std::map<int, double> losses_by_step(const Finished& finished) {
  std::map<int, double> losses;
  for (const JsonObject& step : all_of(finished, "step"))
    losses[static_cast<int>(number(step, "step"))] = number(step, "loss");
  return losses;
}

}  // namespace caravan::test
