#include "service/methods/watch_methods.h"

#include <vector>

#include "service/access/review.h"
#include "service/jobs/resource_name.h"
#include "service/methods/job_lookup.h"

namespace caravan::service {
namespace {

constexpr std::chrono::seconds kLongestReview{5};
constexpr std::size_t kAny = 1'000'000;  // each is of streams that are open, whose number is bounded
constexpr TaskPool::Limits kReviews{
    .threads = 8, .waiting = kAny, .waiting_in_all = kAny, .waiting_of_one_peer = kAny};

Fault unheard() {
  return {.code = Code::kUnavailable,
          .reason = faults::kServerAway,
          .message = "the API server does not say whether you may watch any longer"};
}

}  // namespace

WatchMethods::WatchMethods(JobFeed& jobs, Callers& callers, Rights& rights, Clock& clock,
                           std::function<bool()> is_filled, const Paces& paces)
    : jobs_(jobs),
      callers_(callers),
      rights_(rights),
      clock_(clock),
      is_filled_(std::move(is_filled)),
      paces_(paces),
      reviews_(clock, kReviews),
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
  Readers& readers = readers_[{call.caller, *name_space}];
  readers.failing_since.reset();
  readers.list.push_back({watch, std::move(end)});
  return watch;
}

void WatchMethods::look_after_readers(const std::stop_token& stop) {
  for (int round = 1; clock_.sleep_until(clock_.now() + paces_.review, stop); ++round) {
    begin_reviews();
    if (round % paces_.reviews_between_heartbeats == 0) send_heartbeats();
  }
}

void WatchMethods::begin_reviews() {
  const std::scoped_lock lock(mutex_);
  for (auto& [right, readers] : readers_)
    std::erase_if(readers.list, [](const Reader& reader) { return reader.watch.expired(); });
  std::erase_if(readers_, [](const auto& of_right) { return of_right.second.list.empty(); });
  for (auto& [right, readers] : readers_) {
    if (readers.is_asked) continue;
    readers.is_asked =
        reviews_.post({.name = right.first.user},
                      [this, right = right](const std::stop_token& stop) { review(right, stop); });
  }
}

void WatchMethods::review(const Right& right, const std::stop_token& stop) {
  const Clock::TimePoint began = clock_.now();
  const CallContext context{.stop = stop, .deadline = began + kLongestReview};
  const Answer<void> allowed =
      service::review(callers_, rights_, context, right.first, {"watch", right.second});
  std::list<Reader> ended;
  {
    const std::scoped_lock lock(mutex_);
    const auto of_right = readers_.find(right);
    if (of_right == readers_.end()) return;
    Readers& readers = of_right->second;
    readers.is_asked = false;
    if (allowed) {
      readers.failing_since.reset();
      return;
    }
    const Clock::TimePoint since = readers.failing_since.value_or(began);
    readers.failing_since = since;
    if (is_final(allowed.error()) || clock_.now() - since >= paces_.patience) ended.swap(readers.list);
  }
  const Fault why = is_final(allowed.error()) ? allowed.error() : unheard();
  for (const Reader& reader : ended) reader.end(why);
}

void WatchMethods::send_heartbeats() {
  std::vector<std::shared_ptr<JobWatch>> watches;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [right, readers] : readers_) {
      for (const Reader& reader : readers.list) {
        if (auto watch = reader.watch.lock()) watches.push_back(std::move(watch));
      }
    }
  }
  for (const auto& watch : watches) watch->heartbeat(jobs_.version());
}

}  // namespace caravan::service
