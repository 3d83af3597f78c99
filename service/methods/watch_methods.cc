#include "service/methods/watch_methods.h"

#include <algorithm>
#include <iterator>

#include "service/access/review.h"
#include "service/jobs/resource_name.h"
#include "service/methods/job_lookup.h"

namespace caravan::service {
namespace {

constexpr std::chrono::seconds kLongestReview{5};

}  // namespace

WatchMethods::WatchMethods(JobFeed& jobs, Callers& callers, Rights& rights, Clock& clock,
                           std::function<bool()> is_filled, const Paces& paces)
    : jobs_(jobs),
      callers_(callers),
      rights_(rights),
      clock_(clock),
      is_filled_(std::move(is_filled)),
      paces_(paces),
      rounds_([this](const std::stop_token& stop) { look_after_readers(stop); }) {}

Answer<std::shared_ptr<JobWatch>> WatchMethods::watch_jobs(const Call& call,
                                                           const v1alpha1::WatchJobsRequest& request,
                                                           std::function<void()> news, End end) {
  const auto name_space = namespace_or_all_of(request.parent());
  if (!name_space) return tl::unexpected(name_space.error());
  auto filter = JobFilter::parse(request.filter());
  if (!filter) return tl::unexpected(filter.error());
  for (const char* verb : {"list", "watch"}) {
    const auto allowed = rights_.check(call.context, call.caller, {verb, *name_space});
    if (!allowed) return tl::unexpected(allowed.error());
  }
  if (const auto ours = jobs_.has_jobs_of(*name_space); !ours) return tl::unexpected(ours.error());
  if (!is_filled_()) return tl::unexpected(not_filled());
  const auto watch =
      std::make_shared<JobWatch>(jobs_, *name_space, std::move(*filter), !request.resume_token().empty());
  watch->on_news(std::move(news));
  auto opening = jobs_.open(watch, *name_space, request.resume_token());
  if (!opening) return tl::unexpected(opening.error());
  watch->begin(*opening);
  const std::scoped_lock lock(mutex_);
  readers_.push_back({call, *name_space, watch, std::move(end)});
  return watch;
}

void WatchMethods::look_after_readers(const std::stop_token& stop) {
  for (int round = 1; clock_.sleep_until(clock_.now() + paces_.review, stop); ++round) {
    std::list<Reader> readers;
    {
      const std::scoped_lock lock(mutex_);
      std::erase_if(readers_, [](const Reader& reader) { return reader.watch.expired(); });
      readers = readers_;
    }
    bool server_answers = true;
    for (const Reader& reader : readers) {
      const auto watch = reader.watch.lock();
      if (!watch) continue;
      // While the API server is away, streams go on with what there is, as its own watches would.
      const auto allowed = server_answers ? review(reader, stop) : Answer<void>();
      if (server_answers && !allowed && !is_final(allowed.error())) {
        server_answers = false;
        ask_last(reader);
      }
      if (!allowed && is_final(allowed.error())) {
        reader.end(allowed.error());
      } else if (round % paces_.reviews_between_heartbeats == 0) {
        watch->heartbeat(jobs_.version());
      }
    }
  }
}

// Whoever cannot be asked about does not keep the next round from the others.
void WatchMethods::ask_last(const Reader& reader) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      readers_, [&](const Reader& one) { return one.watch.lock() == reader.watch.lock(); });
  if (found != readers_.end()) readers_.splice(readers_.end(), readers_, readers_.begin(), std::next(found));
}

Answer<void> WatchMethods::review(const Reader& reader, const std::stop_token& stop) {
  const CallContext context{.stop = stop, .deadline = clock_.now() + kLongestReview};
  return service::review(callers_, rights_, context, reader.call.caller, {"watch", reader.name_space});
}

}  // namespace caravan::service
