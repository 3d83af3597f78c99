#include "worker/trainer/comm/shared_memory/meeting.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <ctime>
#include <utility>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLine = 64;  // of a cache, one for each rank's number
constexpr std::size_t kPage = 4096;
constexpr int kLooks = 200;  // a few microseconds, before the kernel is asked
constexpr timespec kLookAgain{.tv_sec = 0, .tv_nsec = 50'000'000};

std::size_t slots_offset(int ranks) {
  return (static_cast<std::size_t>(ranks) * kLine + kPage - 1) / kPage * kPage;
}

std::uint32_t value_of(std::uint32_t& number) {
  return std::atomic_ref(number).load(std::memory_order_acquire);
}

// Until the number differs from `seen`, or it is time to look around.
void sleep_while(const std::uint32_t& number, std::uint32_t seen) {
  syscall(SYS_futex, &number, FUTEX_WAIT, seen, &kLookAgain, nullptr, 0);
}

void wake_all(const std::uint32_t& number) {
  syscall(SYS_futex, &number, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

bool has_ended(const UniqueFd& process) {
  pollfd end{.fd = process.get(), .events = POLLIN, .revents = 0};
  return poll(&end, 1, 0) > 0;
}

}  // namespace

std::size_t Meeting::bytes(int ranks) {
  return slots_offset(ranks) + 2 * static_cast<std::size_t>(ranks) * static_cast<std::size_t>(kSlotBytes);
}

Meeting::Meeting(SharedMapping mapping, Member member)
    : mapping_(std::move(mapping)), member_(std::move(member)) {}

std::byte* Meeting::slot(int rank, std::uint32_t meeting) const {
  const std::size_t number = 2 * static_cast<std::size_t>(rank) + meeting % 2;
  return mapping_.data() + slots_offset(size()) + number * static_cast<std::size_t>(kSlotBytes);
}

std::uint32_t& Meeting::met_by(int rank) const {
  return *reinterpret_cast<std::uint32_t*>(mapping_.data() + static_cast<std::size_t>(rank) * kLine);
}

bool Meeting::has_come(int rank) const {
  return static_cast<std::int32_t>(value_of(met_by(rank)) - met_) >= 0;
}

void Meeting::meet(const char* operation) {
  ++met_;
  std::uint32_t& own = met_by(member_.rank);
  std::atomic_ref(own).store(met_, std::memory_order_release);
  wake_all(own);
  for (int distance = 1; distance < size(); ++distance) await((member_.rank + distance) % size(), operation);
}

void Meeting::await(int rank, const char* operation) const {
  for (int look = 0; look < kLooks; ++look) {
    if (has_come(rank)) return;
    pause_processor();
  }
  const Clock::time_point deadline = Clock::now() + member_.timeout;
  while (!has_come(rank)) {
    const std::uint32_t seen = value_of(met_by(rank));
    if (has_come(rank)) return;
    sleep_while(met_by(rank), seen);
    if (has_come(rank)) return;
    throw_if_lost(operation);
    if (Clock::now() >= deadline)
      give_up(
          operation, rank,
          fmt::format("did not come within {} s", std::chrono::duration<double>(member_.timeout).count()));
  }
}

// One that has come may end: there may be nothing left to do for it.
void Meeting::throw_if_lost(const char* operation) const {
  for (int rank = 0; rank < size(); ++rank) {
    const UniqueFd& process = member_.processes[static_cast<std::size_t>(rank)];
    if (process.get() >= 0 && has_ended(process) && !has_come(rank)) give_up(operation, rank, "has ended");
  }
}

void Meeting::give_up(const char* operation, int rank, const std::string& why) const {
  throw CommunicationError(fmt::format("{} in group {} (rank {} of {}): rank {} of the group {}", operation,
                                       member_.group, member_.rank, size(), rank, why));
}

}  // namespace caravan::trainer
