#include "service/logs/log_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "kube/api/timestamp.h"
#include "kube/client/backoff.h"
#include "operator/api/pod_names.h"
#include "operator/view/last_lines.h"
#include "operator/view/pod_log.h"
#include "service/access/review.h"
#include "service/methods/job_lookup.h"

namespace caravan::service {
namespace {

constexpr int kPodsOfPage = 50;
constexpr int kPatience = 6;  // rounds; half a minute, with a pod whose machine may be gone

bool may_pass(const Fault& fault) {
  return fault.code == Code::kUnavailable || fault.code == Code::kDeadlineExceeded ||
         fault.code == Code::kResourceExhausted;
}

kube::ResourcePath pods_of(const kube::ObjectKey& job) {
  return {.resource = kube::kPods, .name_space = job.name_space};
}

std::string begin_of_last(int seconds, const Clock& clock) {
  return seconds == 0 ? "" : controller::log_time_before(clock.wall_now(), std::chrono::seconds(seconds));
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
      since_(begin_of_last(wish_.since_seconds, clock)),
      at_(wish_.cursor),
      scanner_(std::in_place, wish_.rank, at_ ? at_->place : std::nullopt),
      is_first_pod_(!wish_.cursor),
      seeks_last_lines_(wish_.rank && wish_.tail_lines && !wish_.cursor) {}

Answer<void> LogFollower::run(const std::stop_token& stop) {
  for (bool is_seen = false;;) {
    const auto seen = look(stop);
    const bool goes_on = seen || (is_seen && wish_.follow && may_pass(seen.error()));
    if (!goes_on) return tl::unexpected(seen.error());
    is_seen = true;
    const Answer<Next> next = seen ? go_on(*seen, stop) : Next::kLater;
    if (!next) return tl::unexpected(next.error());
    if (*next == Next::kOver) return {};
    if (*next == Next::kLater && !wait(stop)) return nobody_reads("the log");
  }
}

// The job first: of one that has ended, the pods that there are then are all.
Answer<LogFollower::Look> LogFollower::look(const std::stop_token& stop) {
  const auto job_ended = job_has_ended(jobs_, wish_.job, wish_.job_uid);
  if (!job_ended) return tl::unexpected(job_ended.error());
  return list_pods(stop).map([&](Pods pods) { return Look{*job_ended, std::move(pods)}; });
}

Answer<LogFollower::Pods> LogFollower::list_pods(const std::stop_token& stop) {
  Pods pods;
  kube::ListOptions at{.label_selector = controller::pods_selector(wish_.job_uid, wish_.node),
                       .limit = kPodsOfPage,
                       .longest_answer = kLongestListPage};
  do {
    const auto page = client_->list_page({.stop = stop}, pods_of(wish_.job), at);
    if (!page) return tl::unexpected(caller_fault_of(page.error()));
    for (const kube::Json& object : page->items) {
      const controller::PodView pod = controller::read_pod(object);
      // Labels alone are anybody's, and two pods with those of one attempt would be read in turn for ever.
      if (pod.name != controller::pod_name(wish_.job.name, wish_.node, pod.attempt)) continue;
      pods.push_back({.name = pod.name,
                      .uid = pod.uid,
                      .attempt = pod.attempt,
                      .has_ended = pod.ended(),
                      .is_pending = pod.phase == controller::PodPhase::kPending});
    }
    at.continue_token = page->continue_token;
  } while (!at.continue_token.empty());
  std::ranges::stable_sort(pods, {}, &Pod::attempt);
  return pods;
}

Answer<LogFollower::Next> LogFollower::go_on(const Look& seen, const std::stop_token& stop) {
  const Pod* pod = pod_to_read(seen.pods);
  const bool is_under_way = at_ && !at_->is_read;
  if (pod == nullptr) return is_under_way ? without_its_pod() : without_pod(seen);
  if (!is_under_way) begin(*pod);
  is_pending_ = pod->is_pending;
  return read_pod(*pod, seen, stop);
}

const LogFollower::Pod* LogFollower::pod_to_read(const Pods& pods) const {
  if (!at_) return pods.empty() ? nullptr : &pods.back();
  const auto found = std::ranges::find_if(pods, [this](const Pod& pod) {
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

// Of a pod that is gone nothing can be read any more, which matters unless nothing was left to be read.
Answer<LogFollower::Next> LogFollower::without_its_pod() {
  if (stream_ended_ || is_pending_) return end_of_pod();
  return tl::unexpected(fault_of({.is_lost = true}));
}

void LogFollower::begin(const Pod& pod) {
  is_first_pod_ = !at_;
  seeks_last_lines_ &= is_first_pod_;
  at_ = LogCursor{.pod = pod.name, .uid = pod.uid, .attempt = pod.attempt};
  scanner_.emplace(wish_.rank, std::nullopt);
}

Answer<LogFollower::Next> LogFollower::read_pod(const Pod& pod, const Look& seen,
                                                const std::stop_token& stop) {
  const bool follows = wish_.follow && !pod.has_ended;
  stream_ended_ = false;
  const Answer<bool> ended = read_log(pod, follows, stop);
  stream_ended_ = ended && *ended && follows;
  if (ended && !*ended) return Next::kAtOnce;
  if (ended && follows) return Next::kLater;
  if (ended && pod.has_ended) return end_of_pod();
  if (ended && scanner_->is_seeking()) return tl::unexpected(fault_of({.is_lost = true}));
  if (ended) return Next::kOver;
  const bool gives_up = !wish_.follow || is_final(ended.error()) ||
                        ended.error().reason == faults::kLogGone || stop.stop_requested() ||
                        (seen.job_ended && pod.has_ended);
  if (gives_up) return tl::unexpected(ended.error());
  const bool is_left_behind = pod.uid != seen.pods.back().uid && fruitless_rounds_ >= kPatience;
  if (!is_left_behind) return Next::kLater;
  return fault(
      Code::kOutOfRange, faults::kLogGone,
      fmt::format(
          "the log of pod {} cannot be read to its end, and {} has come after it; begin again without a "
          "cursor ({})",
          pod.name, seen.pods.back().name, ended.error().message));
}

Answer<bool> LogFollower::read_log(const Pod& pod, bool follows, const std::stop_token& stop) {
  if (seeks_last_lines_) {
    const auto begin = place_of_last_lines(pod, stop);
    if (!begin) return tl::unexpected(begin.error());
    at_->place = *begin;
    seeks_last_lines_ = false;
  }
  scanner_.emplace(wish_.rank, at_->place);
  Answer<bool> ended = read_stream(pod, query(follows, at_->place), stop,
                                   [this](std::string_view chunk) { return scan(chunk); });
  at_->place = scanner_->place();
  return ended;
}

Answer<std::optional<controller::LogPlace>> LogFollower::place_of_last_lines(const Pod& pod,
                                                                             const std::stop_token& stop) {
  controller::LastLines last(*wish_.rank, *wish_.tail_lines);
  const auto ended = read_stream(pod, query(false, {}), stop, [&](std::string_view chunk) {
    return last.take(chunk).map_error([this](const controller::LogFlaw& flaw) { return fault_of(flaw); });
  });
  if (!ended) return tl::unexpected(ended.error());
  if (const auto whole = last.end(); *ended && !whole) return tl::unexpected(fault_of(whole.error()));
  return last.place();
}

Answer<bool> LogFollower::read_stream(const Pod& pod, const kube::Query& query, const std::stop_token& stop,
                                      const Take& take) {
  const auto stream = client_->open({.stop = stop}, pods_of(wish_.job), pod.name, "log", query);
  if (!stream) return tl::unexpected(caller_fault_of(stream.error()));
  const bool follows = std::ranges::find(query, "follow", &kube::Query::value_type::first) != query.end();
  const Clock::TimePoint end = clock_.now() + paces_.longest_stream;
  while (true) {
    const Clock::TimePoint deadline = follows ? end : clock_.now() + paces_.longest_silence;
    const auto chunk = (*stream)->read({.stop = stop, .deadline = deadline});
    if (!chunk && follows && chunk.error().kind == kube::ErrorKind::kTimeout) return false;
    if (!chunk) return tl::unexpected(caller_fault_of(chunk.error()));
    if (chunk->empty()) return true;
    if (const auto taken = take(*chunk); !taken) return tl::unexpected(taken.error());
  }
}

Answer<void> LogFollower::scan(std::string_view chunk) {
  std::string text;
  const auto taken = scanner_->take(chunk, text);
  if (!text.empty()) {
    if (auto handed = hand_over(std::move(text)); !handed) return handed;
  }
  return taken.map_error([this](const controller::LogFlaw& flaw) { return fault_of(flaw); });
}

Answer<LogFollower::Next> LogFollower::end_of_pod() {
  std::string text;
  if (const auto ended = scanner_->end(text); !ended) return tl::unexpected(fault_of(ended.error()));
  at_->is_read = true;
  return hand_over(std::move(text)).map([] { return Next::kAtOnce; });
}

kube::Query LogFollower::query(bool follows, const std::optional<controller::LogPlace>& place) const {
  kube::Query query = controller::log_query();
  if (follows) query.emplace_back("follow", "true");
  const bool is_begin = is_first_pod_ && !place;
  const std::string since = place ? controller::since_of(*place) : is_begin ? since_ : "";
  if (!since.empty()) query.emplace_back("sinceTime", since);
  if (is_begin && wish_.tail_lines && !wish_.rank)
    query.emplace_back("tailLines", std::to_string(*wish_.tail_lines));
  return query;
}

Answer<void> LogFollower::hand_over(std::string text) {
  if (!text.empty()) fruitless_rounds_ = 0;
  at_->place = scanner_->place();
  if (put_(std::move(text), *at_)) return {};
  return nobody_reads("the log");
}

Fault LogFollower::fault_of(const controller::LogFlaw& flaw) const {
  const std::string sentence = controller::sentence_of(flaw, at_->pod);
  if (!flaw.is_lost) return {.code = Code::kUnavailable, .reason = faults::kServerAway, .message = sentence};
  return {.code = Code::kOutOfRange,
          .reason = faults::kLogGone,
          .message = fmt::format("{}; begin again without a cursor", sentence)};
}

bool LogFollower::wait(const std::stop_token& stop) {
  const auto pause = kube::exponential(paces_.first_wait, paces_.longest_wait, ++fruitless_rounds_);
  return clock_.sleep_until(clock_.now() + pause, stop);
}

}  // namespace caravan::service
