#include "service/logs/log_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "common/utf8.h"
#include "kube/api/timestamp.h"
#include "kube/client/backoff.h"
#include "operator/api/job_conditions.h"
#include "operator/view/pod_log.h"

namespace caravan::service {
namespace {

using controller::PodView;

constexpr int kPodsOfPage = 50;
constexpr std::size_t kLongestPage = std::size_t{4} << 20;
constexpr std::size_t kLongestWords = 256;

bool is_refusal(const Fault& fault) {
  return fault.code == Code::kUnauthenticated || fault.code == Code::kPermissionDenied;
}

bool may_pass(const Fault& fault) {
  return fault.code == Code::kUnavailable || fault.code == Code::kDeadlineExceeded ||
         fault.code == Code::kResourceExhausted;
}

tl::unexpected<Fault> nobody_reads() {
  return fault(Code::kCancelled, faults::kCancelled, "nobody reads the log any more");
}

kube::ResourcePath pods_of(const kube::ObjectKey& job) {
  return {.resource = kube::kPods, .name_space = job.name_space};
}

std::string time_before(Clock& clock, int seconds) {
  if (seconds == 0) return "";
  return controller::in_whole_seconds(kube::to_timestamp(clock.wall_now() - std::chrono::seconds(seconds)));
}

}  // namespace

LogFollower::LogFollower(CallerClient client, const JobFeed& jobs, Clock& clock, const Paces& paces,
                         LogWish wish, Put put)
    : client_(std::move(client)),
      jobs_(jobs),
      clock_(clock),
      paces_(paces),
      wish_(std::move(wish)),
      put_(std::move(put)),
      since_(time_before(clock, wish_.since_seconds)),
      at_(wish_.cursor) {}

Answer<void> LogFollower::run(const std::stop_token& stop) {
  for (bool is_seen = false;;) {
    const auto seen = look(stop);
    const bool goes_on = seen || (is_seen && wish_.follow && may_pass(seen.error()));
    if (!goes_on) return tl::unexpected(seen.error());
    is_seen = true;
    const Answer<Next> next = seen ? go_on(*seen, stop) : Next::kLater;
    if (!next) return tl::unexpected(next.error());
    if (*next == Next::kOver) return {};
    if (*next == Next::kLater && !wait(stop)) return nobody_reads();
  }
}

// The job first: of one that has ended, the pods that there are then are all.
Answer<LogFollower::Look> LogFollower::look(const std::stop_token& stop) {
  const EntryPtr entry = jobs_.get(wish_.job);
  const kube::Json object = entry ? entry->object->parse() : kube::Json();
  if (!entry || kube::uid_of(object) != wish_.job_uid)
    return fault(Code::kNotFound, faults::kNotFound, "the job was deleted");
  const bool job_ended = controller::is_finished(controller::read_job_but_spec(object).status);
  return list_pods(stop).map([&](Pods pods) { return Look{job_ended, std::move(pods)}; });
}

Answer<LogFollower::Pods> LogFollower::list_pods(const std::stop_token& stop) {
  Pods pods;
  kube::ListOptions at{.label_selector = controller::pods_selector(wish_.job_uid, wish_.node),
                       .limit = kPodsOfPage,
                       .longest_answer = kLongestPage};
  do {
    const auto page = client_->list_page({.stop = stop}, pods_of(wish_.job), at);
    if (!page) return tl::unexpected(caller_fault_of(page.error()));
    for (const kube::Json& pod : page->items) pods.push_back(controller::read_pod(pod));
    at.continue_token = page->continue_token;
  } while (!at.continue_token.empty());
  std::ranges::stable_sort(pods, {}, &PodView::attempt);
  return pods;
}

Answer<LogFollower::Next> LogFollower::go_on(const Look& seen, const std::stop_token& stop) {
  const PodView* pod = pod_to_read(seen.pods);
  const bool is_under_way = at_ && !at_->is_read;
  if (pod == nullptr && !is_under_way) return without_pod(seen);
  if (pod == nullptr) return stream_ended_ ? end_of_pod() : tl::unexpected(fault_of({.is_lost = true}));
  if (!is_under_way) begin(*pod);
  return read_pod(*pod, seen.job_ended, stop);
}

const PodView* LogFollower::pod_to_read(const Pods& pods) const {
  if (!at_) return pods.empty() ? nullptr : &pods.back();
  const auto found = std::ranges::find_if(pods, [this](const PodView& pod) {
    return at_->is_read ? pod.uid != at_->uid && pod.attempt >= at_->attempt : pod.uid == at_->uid;
  });
  return found == pods.end() ? nullptr : &*found;
}

Answer<LogFollower::Next> LogFollower::without_pod(const Look& seen) const {
  if (wish_.follow && !seen.job_ended) return Next::kLater;
  if (at_) return Next::kOver;
  return fault(Code::kNotFound, faults::kNotFound,
               fmt::format("node {} of the job has no pod now, so there is no log of it", wish_.node));
}

void LogFollower::begin(const PodView& pod) {
  is_first_pod_ = !at_;
  at_ = LogCursor{.pod = pod.name, .uid = pod.uid, .attempt = pod.attempt};
}

Answer<LogFollower::Next> LogFollower::read_pod(const PodView& pod, bool job_ended,
                                                const std::stop_token& stop) {
  const bool follows = wish_.follow && !pod.ended();
  scanner_.emplace(wish_.rank, at_->place);
  const auto stream = client_->open({.stop = stop}, pods_of(wish_.job), pod.name, "log", query(follows));
  const Answer<bool> ended =
      stream ? read(**stream, follows, stop) : tl::unexpected(caller_fault_of(stream.error()));
  at_->place = scanner_->place();
  stream_ended_ = ended && *ended && follows;
  if (ended && !*ended) return Next::kAtOnce;
  if (ended && follows) return Next::kLater;
  if (ended && pod.ended()) return end_of_pod();
  if (ended && scanner_->is_seeking()) return tl::unexpected(fault_of({.is_lost = true}));
  if (ended) return Next::kOver;
  const bool is_final = !wish_.follow || is_refusal(ended.error()) ||
                        ended.error().reason == faults::kLogGone || stop.stop_requested() ||
                        (job_ended && pod.ended());
  if (is_final) return tl::unexpected(ended.error());
  return Next::kLater;
}

Answer<bool> LogFollower::read(kube::HttpStream& stream, bool follows, const std::stop_token& stop) {
  const Clock::TimePoint end = clock_.now() + paces_.longest_stream;
  while (true) {
    const Clock::TimePoint deadline = follows ? end : clock_.now() + paces_.longest_silence;
    const auto chunk = stream.read({.stop = stop, .deadline = deadline});
    if (!chunk && follows && chunk.error().kind == kube::ErrorKind::kTimeout) return false;
    if (!chunk) return tl::unexpected(caller_fault_of(chunk.error()));
    if (chunk->empty()) return true;
    std::string text;
    const auto taken = scanner_->take(*chunk, text);
    if (!text.empty()) {
      if (auto handed = hand_over(std::move(text)); !handed) return tl::unexpected(handed.error());
    }
    if (!taken) return tl::unexpected(fault_of(taken.error()));
  }
}

Answer<LogFollower::Next> LogFollower::end_of_pod() {
  std::string text;
  if (const auto ended = scanner_->end(text); !ended) return tl::unexpected(fault_of(ended.error()));
  at_->is_read = true;
  return hand_over(std::move(text)).map([] { return Next::kAtOnce; });
}

kube::Query LogFollower::query(bool follows) const {
  kube::Query query = controller::log_query();
  if (follows) query.emplace_back("follow", "true");
  const std::string place = scanner_->since();
  const std::string since = place.empty() && is_first_pod_ ? since_ : place;
  if (!since.empty()) query.emplace_back("sinceTime", since);
  if (place.empty() && is_first_pod_ && wish_.tail_lines)
    query.emplace_back("tailLines", std::to_string(*wish_.tail_lines));
  return query;
}

Answer<void> LogFollower::hand_over(std::string text) {
  if (!text.empty()) fruitless_rounds_ = 0;
  at_->place = scanner_->place();
  if (put_(std::move(text), *at_)) return {};
  return nobody_reads();
}

Fault LogFollower::fault_of(const LogFlaw& flaw) const {
  if (!flaw.is_lost) {
    return {.code = Code::kUnavailable,
            .reason = faults::kServerAway,
            .message = fmt::format("the machine of pod {} gives no log of it: {}", at_->pod,
                                   readable_line(flaw.words, kLongestWords))};
  }
  return {.code = Code::kOutOfRange,
          .reason = faults::kLogGone,
          .message =
              fmt::format("what comes next in the log of pod {} is gone: the log was rotated, or the pod was "
                          "deleted; begin again without a cursor",
                          at_->pod)};
}

bool LogFollower::wait(const std::stop_token& stop) {
  const auto pause = kube::exponential(paces_.first_wait, paces_.longest_wait, ++fruitless_rounds_);
  return clock_.sleep_until(clock_.now() + pause, stop);
}

}  // namespace caravan::service
