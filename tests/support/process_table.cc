#include "tests/support/process_table.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "common/file_contents.h"

namespace caravan::test {
namespace {

namespace fs = std::filesystem;

// None of a process that ends meanwhile: reading what is open already fails then.
std::string command_line_of(const fs::path& entry) {
  std::string text = file_contents(entry / "cmdline").value_or("");
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

bool is_process(const fs::path& entry) {
  const std::string name = entry.filename().string();
  return name.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::vector<RunningProcess> processes_with(const std::string& word) {
  std::vector<RunningProcess> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    if (!is_process(entry.path())) continue;
    std::string command_line = command_line_of(entry.path());
    if (command_line.find(word) == std::string::npos) continue;
    const std::string program = command_line.substr(0, command_line.find(' '));
    found.push_back({.pid = std::stoi(entry.path().filename().string()),
                     .program = fs::path(program).filename().string(),
                     .command_line = std::move(command_line)});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return found;
}

std::vector<RunningProcess> processes_of(const std::string& program, const std::string& word) {
  std::vector<RunningProcess> found = processes_with(word);
  std::erase_if(found, [&](const RunningProcess& process) { return process.program != program; });
  return found;
}

std::vector<RunningProcess> left_behind(const std::string& word) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(30);
  std::vector<RunningProcess> found = processes_with(word);
  while (!found.empty() && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    found = processes_with(word);
  }
  return found;
}

}  // namespace caravan::test
