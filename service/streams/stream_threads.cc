#include "service/streams/stream_threads.h"

#include <fmt/format.h>

#include <system_error>

namespace caravan::service {
namespace {

tl::unexpected<Fault> busy(std::string message) {
  Fault full{.code = Code::kResourceExhausted, .reason = faults::kBusy, .message = std::move(message)};
  full.retry_after = std::chrono::seconds(10);
  return tl::unexpected(std::move(full));
}

}  // namespace

StreamThreads::~StreamThreads() {
  const std::scoped_lock lock(mutex_);
  for (Running& one : running_) one.thread.request_stop();
  running_.clear();
}

Answer<void> StreamThreads::start(Whose whose, std::stop_token stop, Run run) {
  const std::scoped_lock lock(mutex_);
  running_.remove_if([](const Running& one) { return one.is_over.load(); });
  std::size_t of_caller = 0;
  std::size_t of_namespace = 0;
  for (const Running& one : running_) {
    of_caller += one.whose.user == whose.user ? 1 : 0;
    of_namespace += one.whose.name_space == whose.name_space ? 1 : 0;
  }
  if (of_caller >= limits_.of_caller)
    return busy(fmt::format("{} reads {} {} at once, and may not read more", whose.user, of_caller, what_));
  if (of_namespace >= limits_.of_namespace)
    return busy(fmt::format("{} {} of the namespace {} are read at once, and no more may be", of_namespace,
                            what_, whose.name_space));
  if (running_.size() >= limits_.of_all)
    return busy(fmt::format("too many {} are read at once; ask again in a moment", what_));
  Running& one = running_.emplace_back();
  one.whose = std::move(whose);
  const auto run_to_its_end = [&one, stop = std::move(stop),
                               run = std::move(run)](const std::stop_token& own) {
    std::stop_source either;
    const auto ask = [&either] { either.request_stop(); };
    {
      const std::stop_callback by_owner(own, ask);
      const std::stop_callback by_caller(stop, ask);
      run(either.get_token());
    }
    one.is_over = true;
  };
  try {
    one.thread = std::jthread(run_to_its_end);
  } catch (const std::system_error&) {  // no thread
    running_.pop_back();
    return busy("this replica can start no more streams now; ask again in a moment");
  }
  return {};
}

}  // namespace caravan::service
