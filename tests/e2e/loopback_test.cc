// On one machine nothing of a run can be reached from another: collectives, the store where ranks meet,
// coordinator, reports and metrics listen on the loopback or on Unix sockets that only their user may enter.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "common/listen.h"
#include "tests/support/process_table.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::EndsWith;

// As the kernel writes them: the last word of each of these is the least significant byte of 127.0.0.1, ::1
// and
// ::ffff:127.0.0.1 in this machine's order.
constexpr const char* kLoopbacks[] = {"0100007F", "00000000000000000000000001000000",
                                      "0000000000000000FFFF00000100007F"};

// Local addresses of listening TCP sockets by inode, as /proc shows them: "0100007F:1F90".
std::map<std::string, std::string> listening_sockets(pid_t pid) {
  std::map<std::string, std::string> found;
  for (const char* table : {"tcp", "tcp6"}) {
    std::ifstream file(fmt::format("/proc/{}/net/{}", pid, table));
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::string number, local, remote, state, skipped, inode;
      fields >> number >> local >> remote >> state;
      for (int i = 0; i < 5; ++i) fields >> skipped;
      fields >> inode;
      if (state == "0A") found[inode] = local;
    }
  }
  return found;
}

std::set<std::string> socket_inodes(pid_t pid) {
  std::set<std::string> inodes;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), gone)) {
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

struct Listener {
  std::string program;
  std::string address;
};

std::vector<Listener> listeners_of(const std::string& word) {
  std::vector<Listener> listeners;
  for (const RunningProcess& process : processes_with(word)) {
    const auto sockets = listening_sockets(process.pid);
    for (const std::string& inode : socket_inodes(process.pid)) {
      if (const auto socket = sockets.find(inode); socket != sockets.end())
        listeners.push_back({process.program, socket->second.substr(0, socket->second.find(':'))});
    }
  }
  return listeners;
}

int free_port() {
  return listen_on("127.0.0.1", "0").value().port;
}

TEST(OneMachine, ListensOnTheLoopbackAlone) {
  const JobFolder folder;
  RunProcess run(folder.arguments({.tensor = 2, .data = 2, .steps = 100000},
                                  {"--nodes", "2", "--metrics-port", std::to_string(free_port())}));
  ASSERT_TRUE(run.wait_for_step(1, 1));
  std::map<std::string, int> count;
  for (const Listener& listener : listeners_of(run.work_directory())) {
    ++count[listener.program];
    EXPECT_THAT(kLoopbacks, ::testing::Contains(listener.address)) << listener.program;
  }
  EXPECT_GE(count["caravan-agent"], 2) << "metrics of each node";
  EXPECT_GE(count["caravan-trainer"], 4) << "Gloo of each rank";
  run.signal(SIGINT);
  run.signal(SIGINT);
  EXPECT_EQ(run.finish().status.exit_code, 130);
}

TEST(OneMachine, SocketsLieInAFolderOfTheUserAlone) {
  const JobFolder folder;
  RunProcess run(folder.arguments({.data = 2, .steps = 100000}));
  ASSERT_TRUE(run.wait_for_step(1, 1));
  int sockets = 0;
  std::error_code gone;
  for (const auto& entry : fs::recursive_directory_iterator(run.temporary_folder(), gone)) {
    if (!entry.is_socket(gone)) continue;
    ++sockets;
    const auto rights = fs::status(entry.path().parent_path()).permissions();
    EXPECT_EQ(rights & (fs::perms::group_all | fs::perms::others_all), fs::perms::none) << entry.path();
  }
  EXPECT_EQ(sockets, 2) << "coordinator and reports";
  run.signal(SIGINT);
  run.signal(SIGINT);
  EXPECT_EQ(run.finish().status.exit_code, 130);
}

}  // namespace
}  // namespace caravan::test
