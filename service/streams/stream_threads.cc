#include "service/streams/stream_threads.h"

#include <fmt/format.h>

#include <algorithm>

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

Answer<void> StreamThreads::start(const std::string& user, std::stop_token stop, Run run) {
  const std::scoped_lock lock(mutex_);
  running_.remove_if([](const Running& one) { return one.is_over.load(); });
  const auto of_him = static_cast<std::size_t>(
      std::ranges::count_if(running_, [&](const Running& one) { return one.user == user; }));
  if (of_him >= limits_.of_one)
    return busy(fmt::format("{} reads {} logs at once, and may not read more", user, of_him));
  if (running_.size() >= limits_.of_all) return busy("too many logs are read at once; ask again in a moment");
  Running& one = running_.emplace_back();
  one.user = user;
  one.thread = std::jthread([&one, stop = std::move(stop), run = std::move(run)](const std::stop_token& own) {
    std::stop_source either;
    const auto ask = [&either] { either.request_stop(); };
    {
      const std::stop_callback by_owner(own, ask);
      const std::stop_callback by_caller(stop, ask);
      run(either.get_token());
    }
    one.is_over = true;
  });
  return {};
}

}  // namespace caravan::service
