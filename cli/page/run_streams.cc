#include "cli/page/run_streams.h"

#include <fmt/format.h>

#include <utility>

#include "cli/page/node_log.h"
#include "cli/page/run_answers.h"
#include "service/answer/paging.h"
#include "service/answer/step_cursor.h"
#include "service/answer/token.h"

namespace caravan::cli {
namespace {

using google::protobuf::Message;
using service::Answer;
using v1alpha1::StreamLogsRequest;
using v1alpha1::StreamLogsResponse;
using v1alpha1::StreamMetricsRequest;
using v1alpha1::StreamMetricsResponse;
using v1alpha1::WatchJobsRequest;
using v1alpha1::WatchJobsResponse;

constexpr std::size_t kSamplesOfAMessage = 256;

// A reader that goes on is told of the job again: it has changed, or it does not hurt.
Answer<RunStream> watch_jobs(const RunRecord& record, const WatchJobsRequest& request) {
  if (auto known = check_parent(record, request.parent()); !known) return tl::unexpected(known.error());
  if (auto plain = check_filter(record, request.filter()); !plain) return tl::unexpected(plain.error());
  return [&record, told = std::uint64_t{0},
          is_complete = !request.resume_token().empty()](Message& message) mutable {
    auto& into = static_cast<WatchJobsResponse&>(message);
    const bool has_ended = record.has_ended();  // before the version: what came earlier is told
    const std::uint64_t version = record.version();
    if (version > told) {
      told = version;
      into.set_kind(WatchJobsResponse::Changed);
      *into.mutable_job() = record.job();
    } else if (!std::exchange(is_complete, true)) {
      into.set_kind(WatchJobsResponse::Complete);
    } else {
      return has_ended ? Told::kAll : Told::kNothingNow;
    }
    into.set_resume_token(std::to_string(version));
    return Told::kMessage;
  };
}

Answer<RunStream> stream_metrics(const RunRecord& record, const StreamMetricsRequest& request) {
  if (auto known = check_job(record, request.name()); !known) return tl::unexpected(known.error());
  const auto begin = service::step_cursor_of(request.cursor(), request.name());
  if (!begin) return tl::unexpected(begin.error());
  return [&record, at = *begin, name = request.name(), follow = request.follow()](Message& message) mutable {
    auto& into = static_cast<StreamMetricsResponse&>(message);
    const bool is_all = !follow || record.has_ended();
    const auto samples = record.steps_after(at, kSamplesOfAMessage);
    if (samples.empty()) return is_all ? Told::kAll : Told::kNothingNow;
    for (const auto& sample : samples) controller::write_sample(sample, *into.add_samples());
    at = samples.back().at;
    into.set_cursor(service::text_of(at, name));
    return Told::kMessage;
  };
}

struct LogWish {
  int node = 0;
  std::optional<int> rank = {};
  NodeLog::Place place = {};
};

// What has to be the same in a request that goes on with a cursor.
std::vector<std::string> source_of(const std::string& name, const LogWish& wish) {
  return {name, std::to_string(wish.node), wish.rank ? std::to_string(*wish.rank) : ""};
}

std::string cursor_of(const std::vector<std::string>& source, const NodeLog::Place& place) {
  return service::token_of(source,
                           {std::to_string(place.offset), std::to_string(static_cast<int>(place.in))});
}

std::optional<NodeLog::Place> place_in(const std::string& cursor, const std::vector<std::string>& source) {
  const auto parts = service::place_of_token(cursor, source, 2);
  const auto offset = parts ? service::number_in<std::uint64_t>((*parts)[0]) : std::nullopt;
  const auto in = parts ? service::number_in<unsigned>((*parts)[1]) : std::nullopt;
  if (!offset || !in || *in > static_cast<unsigned>(NodeLogPlace::In::kPassedOver)) return std::nullopt;
  return NodeLog::Place{.offset = *offset, .in = static_cast<NodeLogPlace::In>(*in)};
}

Answer<LogWish> wish_of(const RunRecord& record, const StreamLogsRequest& request) {
  const int nodes = (record.ranks() + record.ranks_per_node() - 1) / record.ranks_per_node();
  if (request.has_rank() && (request.rank() < 0 || request.rank() >= record.ranks()))
    return service::bad_field("rank", fmt::format("expected one of 0 to {}", record.ranks() - 1));
  if (request.node() < 0 || request.node() >= nodes)
    return service::bad_field("node", fmt::format("expected one of 0 to {}", nodes - 1));
  if (request.has_rank() && request.node() != 0)
    return service::bad_field("node", "expected none beside rank, whose node it is");
  if (request.tail_lines() < 0 || request.tail_lines() > service::kMostTailLines)
    return service::bad_field("tail_lines", fmt::format("expected one of 0 to {}", service::kMostTailLines));
  if (request.since_seconds() != 0)
    return service::bad_field("since_seconds",
                              "expected none: a run's log is read from its beginning, or by lines");
  LogWish wish{.node = request.has_rank() ? request.rank() / record.ranks_per_node() : request.node()};
  if (request.has_rank()) wish.rank = request.rank();
  if (request.cursor().empty()) return wish;
  const auto place = place_in(request.cursor(), source_of(request.name(), wish));
  if (!place) return service::bad_field("cursor", "expected that of a message of StreamLogs of the same log");
  wish.place = *place;
  return wish;
}

Answer<RunStream> stream_logs(const RunRecord& record, const std::filesystem::path& logs,
                              const StreamLogsRequest& request) {
  if (auto known = check_job(record, request.name()); !known) return tl::unexpected(known.error());
  const auto wish = wish_of(record, request);
  if (!wish) return tl::unexpected(wish.error());
  const std::string node = fmt::format("node-{}", wish->node);
  NodeLog log(logs / (node + ".log"), wish->rank, wish->place);
  if (request.has_tail_lines() && request.cursor().empty()) log.seek_last(request.tail_lines());
  return [&record, log, node, wish = *wish, name = request.name(),
          follow = request.follow()](Message& message) mutable {
    auto& into = static_cast<StreamLogsResponse&>(message);
    const bool is_all = !follow || record.has_ended();
    NodeLog::Part part = log.next(record.has_ended());
    if (part.is_end) return is_all ? Told::kAll : Told::kNothingNow;
    into.set_pod(node);
    into.set_node(wish.node);
    if (wish.rank) into.set_rank(*wish.rank);
    into.set_data(std::move(part.text));
    into.set_cursor(cursor_of(source_of(name, wish), log.place()));
    return Told::kMessage;
  };
}

}  // namespace

Answer<RunStream> open_stream(const RunRecord& record, const std::filesystem::path& logs,
                              const std::string& method, const Message& request) {
  if (method == "WatchJobs") return watch_jobs(record, static_cast<const WatchJobsRequest&>(request));
  if (method == "StreamMetrics")
    return stream_metrics(record, static_cast<const StreamMetricsRequest&>(request));
  if (method == "StreamLogs")
    return stream_logs(record, logs, static_cast<const StreamLogsRequest&>(request));
  return service::fault(service::Code::kUnimplemented, service::faults::kNoMethod,
                        method + " is not there for a run");
}

}  // namespace caravan::cli
