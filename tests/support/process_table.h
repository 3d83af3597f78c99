// The processes of one run, found in /proc by a word that only they have in their command lines.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace caravan::test {

struct RunningProcess {
  pid_t pid = 0;
  std::string program;  // file name of the executable
  std::string command_line;
};

// Zombies have no command line and are not listed.
std::vector<RunningProcess> processes_with(const std::string& word);

// The same, only of one program, such as "caravan-trainer"; ordered by process id.
std::vector<RunningProcess> processes_of(const std::string& program, const std::string& word);

// Waits until no such process is left. What is left after the time that a test may take is listed, else
// empty.
std::vector<RunningProcess> left_behind(const std::string& word);

}  // namespace caravan::test
