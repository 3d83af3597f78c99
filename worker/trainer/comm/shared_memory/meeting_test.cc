#include "worker/trainer/comm/shared_memory/meeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/comm/testing/rank_threads.h"

namespace caravan::trainer {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

UniqueFd watch(pid_t process) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

Meeting::Member member(int rank, milliseconds timeout) {
  Meeting::Member member{.group = "tensor-0", .rank = rank, .processes = {}, .timeout = timeout};
  member.processes.resize(2);
  return member;
}

// Two ranks that are processes; the second one does `body`.
class TwoProcesses {
 public:
  explicit TwoProcesses(const std::function<void(Meeting&)>& body) {
    SharedMapping mapping = SharedMapping::make(Meeting::bytes(2));
    const pid_t maker = getpid();
    child_ = fork();
    if (child_ == 0) be_the_other(maker, mapping.fd(), body);
    Meeting::Member own = member(0, milliseconds(60'000));
    own.processes[1] = watch(child_);
    meeting_.emplace(std::move(mapping), std::move(own));
  }
  ~TwoProcesses() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  TwoProcesses(const TwoProcesses&) = delete;
  TwoProcesses& operator=(const TwoProcesses&) = delete;

  Meeting& meeting() { return *meeting_; }
  pid_t child() const { return child_; }

 private:
  // Whatever happens, the tests behind this one are not for this process.
  [[noreturn]] static void be_the_other(pid_t maker, int fd, const std::function<void(Meeting&)>& body) {
    try {
      Meeting peer(SharedMapping::open(maker, fd, Meeting::bytes(2)), member(1, milliseconds(60'000)));
      body(peer);
    } catch (const std::exception&) {
      _exit(1);
    }
    _exit(0);
  }

  pid_t child_ = -1;
  std::optional<Meeting> meeting_;
};

std::string failure_of(Meeting& meeting) {
  try {
    meeting.meet("barrier");
    return "met";
  } catch (const CommunicationError& error) {
    return error.what();
  }
}

TEST(Meeting, OfProcessesShowsEachWhatTheOtherWrote) {
  constexpr int kMeetings = 1000;
  const auto say = [](Meeting& meeting, int number) {
    std::memcpy(meeting.own_slot(), &number, sizeof number);
    meeting.meet("all-gather");
  };
  TwoProcesses two([&](Meeting& peer) {
    for (int number = 0; number < kMeetings; ++number) say(peer, number);
  });
  for (int number = 0; number < kMeetings; ++number) {
    say(two.meeting(), -1);
    int said = -1;
    std::memcpy(&said, two.meeting().shown_by(1), sizeof said);
    ASSERT_EQ(said, number);
  }
}

TEST(Meeting, WithAProcessThatWasKilledFailsSoonAndNamesItsRank) {
  TwoProcesses two([](Meeting&) { pause(); });
  kill(two.child(), SIGKILL);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(failure_of(two.meeting()),
            "barrier in group tensor-0 (rank 0 of 2): rank 1 of the group has ended");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << "long before the time-out";
}

TEST(Meeting, IsStillHeldWhenAPeerEndsBehindIt) {
  TwoProcesses two([](Meeting& peer) { peer.meet("barrier"); });
  EXPECT_EQ(failure_of(two.meeting()), "met");
  EXPECT_THAT(failure_of(two.meeting()), HasSubstr("rank 1 of the group has ended"));
}

TEST(Meeting, ThatNobodyComesToEndsWithTheTimeout) {
  Meeting meeting(SharedMapping::make(Meeting::bytes(2)), member(0, milliseconds(100)));
  EXPECT_THAT(failure_of(meeting), HasSubstr("rank 1 of the group did not come within 0.1 s"));
}

TEST(SharedMemory, IsTakenByRanksOfOneMachineOnly) {
  with_gloo_ranks(2, [](std::unique_ptr<Communicator>& world) {
    const Communicator* const over_gloo = world.get();
    const int rank = world->rank();
    world = share_memory(std::move(world), {.name = "world", .node = rank});
    EXPECT_EQ(world.get(), over_gloo);
    world = share_memory(std::move(world), {.name = "world", .node = 7});
    EXPECT_NE(world.get(), over_gloo);
  });
}

}  // namespace
}  // namespace caravan::trainer
