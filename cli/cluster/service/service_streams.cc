// What the job service tells in streams: how a job goes on, its log and its steps.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <stop_token>
#include <utility>

#include "cli/cluster/log_lines.h"
#include "cli/cluster/service/channel.h"
#include "cli/cluster/service/documents.h"
#include "cli/cluster/service/errors.h"
#include "cli/cluster/service/service_cluster.h"
#include "cli/cluster/service/watched_job.h"
#include "cli/say.h"
#include "kube/api/object.h"
#include "service/answer/fault.h"

namespace caravan::cli {
namespace {

namespace faults = service::faults;
using v1alpha1::StreamLogsRequest;
using v1alpha1::StreamLogsResponse;
using v1alpha1::StreamMetricsRequest;
using v1alpha1::StreamMetricsResponse;
using v1alpha1::WatchJobsRequest;
using v1alpha1::WatchJobsResponse;

constexpr std::chrono::milliseconds kBetweenStreams{1'000};
constexpr int kMostFailures = 6;  // in a row, of what is not followed

StreamLogsRequest request_of(const LogQuestion& question, const std::string& name) {
  StreamLogsRequest request;
  request.set_name(name);
  request.set_follow(question.follow);
  if (question.rank) {
    request.set_rank(*question.rank);
  } else {
    request.set_node(question.node);
  }
  if (question.since) request.set_since_seconds(static_cast<int>(question.since->count()));
  if (question.tail) request.set_tail_lines(*question.tail);
  return request;
}

void read_from_the_beginning(StreamLogsRequest& request) {
  request.clear_cursor();
  request.clear_tail_lines();
  request.clear_since_seconds();
}

void read_from_the_beginning(StreamMetricsRequest& request) {
  request.clear_cursor();
}

Result<std::optional<CurvePoint>> point_of(const v1alpha1::MetricsSample& sample, Figure figure) {
  constexpr double kPerCent = 100;
  if (figure == Figure::kMfu && !sample.has_mfu()) return std::nullopt;
  const double value = figure == Figure::kMfu ? kPerCent * sample.mfu() : sample.loss();
  if (value >= -kMostDrawn && value <= kMostDrawn) return CurvePoint{.step = sample.step(), .value = value};
  return failure(
      fmt::format("step {} with {} {}", sample.step(), figure == Figure::kMfu ? "mfu" : "loss", value));
}

}  // namespace

template <typename Request, typename Response>
ClusterResult<ServiceCluster::Ended> ServiceCluster::read(const CallContext& limits,
                                                          StreamMethod<Request, Response> method,
                                                          const Request& request,
                                                          const std::function<bool(const Response&)>& take) {
  const auto token = access_.token();
  if (!token) return tl::unexpected(token.error());
  const auto context = begin_call(*token, clock(), limits.deadline);
  const std::stop_callback ends(limits.stop, [&] { context->TryCancel(); });
  const auto reader = (stub_.get()->*method)(context.get(), request);
  Response response;
  while (reader->Read(&response)) {
    if (take(response)) continue;
    context->TryCancel();
    static_cast<void>(reader->Finish());
    return Ended{grpc::Status::OK};
  }
  Ended ended{reader->Finish()};
  if (ended.status.error_code() == grpc::StatusCode::UNAUTHENTICATED) {
    access_.forget_token(*token);
    const auto now = access_.token();
    if (!now) return tl::unexpected(now.error());
    ended.is_of_old_token = *now != *token;
  }
  return ended;
}

template <typename Request, typename Response>
ClusterResult<void> ServiceCluster::read_through(const CallContext& limits,
                                                 StreamMethod<Request, Response> method, Request request,
                                                 const Asked& asked, bool goes_on,
                                                 const std::function<void(const Response&)>& take) {
  OutageNote outage;
  int failures = 0;
  bool was_renewed = false;  // and nothing has come since
  while (true) {
    const auto ended = read<Request, Response>(limits, method, request, [&](const Response& told) {
      request.set_cursor(told.cursor());
      outage.answered();
      failures = 0;
      was_renewed = false;
      take(told);
      return true;
    });
    if (!ended) {
      if (!goes_on || !ended.error().is_outage()) return tl::unexpected(ended.error());
      outage.failed(ended.error());
      if (!clock().sleep_until(clock().now() + kBetweenStreams, limits.stop))
        return tl::unexpected(ended.error());
      continue;
    }
    if (ended->status.ok()) return {};
    if (ended->is_of_old_token && !std::exchange(was_renewed, true)) continue;
    const ClusterError error = explain(ended->status, asked);
    const auto wait = wait_before_retry(ended->status, ++failures);
    if (reason_of(ended->status) == faults::kLogGone && !request.cursor().empty()) {
      say(stderr, "{}; it goes on with what there is\n", error.message);
      read_from_the_beginning(request);
    } else if (goes_on ? !error.is_outage() : !wait || failures > kMostFailures) {
      return tl::unexpected(error);
    } else if (goes_on) {
      outage.failed(error);
    }
    clock().sleep_until(clock().now() + wait.value_or(kBetweenStreams), limits.stop);
  }
}

Status ServiceCluster::read_log(const LogQuestion& question, const TakeLine& take) {
  const Asked asked{.verb = "get", .resource = "pods/log", .name_space = name_space()};
  LogLines lines(take);
  const auto read = read_through<StreamLogsRequest, StreamLogsResponse>(
      {.stop = question.stop}, &Stub::StreamLogs,
      request_of(question, resource_name_of(name_space(), question.job)), asked, question.follow,
      [&](const StreamLogsResponse& told) { lines.add(told.pod(), told.data()); });
  lines.finish();
  if (read) return {};
  if (!read.error().is_not_found()) return tl::unexpected(read.error());
  const auto now = find(question.job);
  if (now) return tl::unexpected(has_no_pod(question, now->object().status().state()));
  if (now.error().is_not_found()) return tl::unexpected(was_deleted(question.job));
  return tl::unexpected(now.error());
}

Result<Curve> ServiceCluster::curve_of(const std::string& name, Figure figure) {
  Curve curve{.source = fmt::format("what the operator keeps of job {}", name)};
  StreamMetricsRequest request;
  request.set_name(resource_name_of(name_space(), name));
  const auto read = read_through<StreamMetricsRequest, StreamMetricsResponse>(
      {}, &Stub::StreamMetrics, request, {.verb = "get", .name_space = name_space(), .name = name}, false,
      [&](const StreamMetricsResponse& told) {
        for (const auto& sample : told.samples()) curve.add(point_of(sample, figure));
      });
  if (!read) return tl::unexpected(read.error());
  curve.points = by_step(curve.points);
  return curve;
}

Status ServiceCluster::follow(const std::string& name, Clock::TimePoint deadline, const Seen& seen) {
  const auto first = find_new(name, deadline);
  if (!first && clock().now() >= deadline) return tl::unexpected(waited_in_vain(name));
  if (!first) return tl::unexpected(first.error());
  if (!seen(job_document(*first))) return {};
  WatchJobsRequest request;
  request.set_parent(parent_of(name_space()));
  request.set_filter(fmt::format("name=\"{}\"", name));
  WatchedJob job(first->uid(), seen);
  OutageNote outage;
  bool was_renewed = false;  // the token, and nothing has come since
  std::chrono::milliseconds pause{0};
  for (; clock().now() < deadline; clock().sleep_until(std::min(deadline, clock().now() + pause), {})) {
    const auto round = watch(request, deadline, job, outage, was_renewed);
    if (!round) return tl::unexpected(round.error());
    if (round->word == WatchedJob::Word::kEnough) return {};
    if (round->word == WatchedJob::Word::kDeleted) return tl::unexpected(was_deleted(name));
    if (round->word == WatchedJob::Word::kMissing) {
      const auto now = find_new(name, deadline);
      if (!now && now.error().is_not_found()) return tl::unexpected(was_deleted(name));
    }
    pause = round->pause;
  }
  return tl::unexpected(waited_in_vain(name));
}

ClusterResult<ServiceCluster::Round> ServiceCluster::watch(WatchJobsRequest& request,
                                                           Clock::TimePoint deadline, WatchedJob& job,
                                                           OutageNote& outage, bool& was_renewed) {
  if (request.resume_token().empty()) job.begin_anew();
  auto word = WatchedJob::Word::kMore;
  const auto ended = read<WatchJobsRequest, WatchJobsResponse>(
      {.deadline = deadline}, &Stub::WatchJobs, request, [&](const WatchJobsResponse& told) {
        request.set_resume_token(told.resume_token());
        outage.answered();
        was_renewed = false;
        word = job.take(told);
        return word == WatchedJob::Word::kMore;
      });
  if (!ended) {
    if (!ended.error().is_outage()) return tl::unexpected(ended.error());
    outage.failed(ended.error());
    return Round{word, kBetweenStreams};
  }
  const grpc::Status& status = ended->status;
  const Round round{word, wait_before_retry(status, 1).value_or(kBetweenStreams)};
  const std::string reason = reason_of(status);
  if (word == WatchedJob::Word::kMissing || reason == faults::kTokenTooOld) request.clear_resume_token();
  const bool is_in_order = status.ok() || reason == faults::kTokenTooOld ||
                           status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
                           (ended->is_of_old_token && !std::exchange(was_renewed, true));
  if (is_in_order) return round;
  const ClusterError error = explain(status, {.verb = "watch", .name_space = name_space()});
  if (!error.is_outage()) return tl::unexpected(error);
  outage.failed(error);
  return round;
}

}  // namespace caravan::cli
