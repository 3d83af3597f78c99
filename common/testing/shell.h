// For tests: what a shell's command wrote, and how it ended.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "common/testing/temporary_folder.h"

namespace caravan::test {

struct Outcome {
  int exit_code = -1;  // 128 + the signal's number when one ended the command
  std::string out;
  std::string err;

  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    std::istringstream stream(out);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
};

// Its input is empty. A stream that the command sends elsewhere is empty here.
inline Outcome run_shell(const std::string& command) {
  const TemporaryFolder streams;
  const std::string captured =
      fmt::format("{{ {}; }} >'{}' 2>'{}' </dev/null", command, streams.path("out"), streams.path("err"));
  const int status = std::system(captured.c_str());
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .out = contents(streams.path("out")),
          .err = contents(streams.path("err"))};
}

}  // namespace caravan::test
