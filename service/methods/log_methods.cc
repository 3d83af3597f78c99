#include "service/methods/log_methods.h"

#include <fmt/format.h>

#include "operator/view/pod_log.h"
#include "service/answer/paging.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {
namespace {

using v1alpha1::StreamLogsRequest;

Answer<void> check_numbers(const StreamLogsRequest& request) {
  if (request.node() < 0) return bad_field("node", "expected a number from 0");
  if (request.since_seconds() < 0) return bad_field("since_seconds", "expected a number from 0");
  if (request.tail_lines() < 0) return bad_field("tail_lines", "expected a number from 0");
  if (request.has_rank() && request.tail_lines() > kMostTailLines)
    return bad_field("tail_lines", fmt::format("expected at most {} of a rank", kMostTailLines));
  if (request.has_rank() && request.node() != 0)
    return bad_field("node", "expected none beside rank, whose node it is");
  return {};
}

Answer<int> node_asked_for(const kube::Json& object, const StreamLogsRequest& request) {
  if (!request.has_rank()) return request.node();
  const controller::Job job = controller::read_job(object);
  const int devices = job.spec.resources().devices();
  if (request.rank() < 0 || request.rank() >= devices)
    return bad_field("rank", fmt::format("expected one of the job's, 0 to {}", devices - 1));
  const int per_node = controller::ranks_per_node(job);
  if (per_node > 0) return request.rank() / per_node;
  return fault(Code::kFailedPrecondition, faults::kNotPlanned,
               "the job is not planned yet, so no node has that rank");
}

LogSource source_of(const LogWish& wish) {
  return {.job = name_of(wish.job), .node = wish.node, .rank = wish.rank};
}

v1alpha1::StreamLogsResponse message_of(const LogWish& wish, std::string text, const LogCursor& cursor) {
  v1alpha1::StreamLogsResponse message;
  message.set_pod(cursor.pod);
  message.set_node(wish.node);
  if (wish.rank) message.set_rank(*wish.rank);
  message.set_data(std::move(text));
  message.set_cursor(text_of(cursor, source_of(wish)));
  return message;
}

}  // namespace

Answer<LogWish> LogMethods::wish_of(const Call& call, const StreamLogsRequest& request) {
  const auto key = job_key_of(request.name());
  if (!key) return tl::unexpected(key.error());
  if (auto numbers = check_numbers(request); !numbers) return tl::unexpected(numbers.error());
  const auto entry = lookup_.find(call, *key);
  if (!entry) return tl::unexpected(entry.error());
  const kube::Json object = (*entry)->object->parse();
  const auto node = node_asked_for(object, request);
  if (!node) return tl::unexpected(node.error());
  LogWish wish{.job = *key,
               .job_uid = kube::uid_of(object),
               .node = *node,
               .follow = request.follow(),
               .since_seconds = request.since_seconds()};
  if (request.has_rank()) wish.rank = request.rank();
  if (request.has_tail_lines()) wish.tail_lines = request.tail_lines();
  if (request.cursor().empty()) return wish;
  auto cursor = cursor_of(request.cursor(), source_of(wish));
  if (!cursor) return tl::unexpected(cursor.error());
  wish.cursor = *std::move(cursor);
  return wish;
}

Answer<std::shared_ptr<LogPipe>> LogMethods::stream_logs(const Call& call, const StreamLogsRequest& request,
                                                         std::function<void()> news, End end) {
  const auto wish = wish_of(call, request);
  if (!wish) return tl::unexpected(wish.error());
  auto client = clients_.client_of(call);
  if (!client) return tl::unexpected(client.error());
  const auto pipe = std::make_shared<LogPipe>(clock_, std::move(news));
  const auto passed_on = std::make_shared<CallerClient>(*std::move(client));
  const auto started = threads_.start(
      {call.caller.user, wish->job.name_space}, call.context.stop,
      [this, pipe, passed_on, wish = *wish, end = std::move(end)](const std::stop_token& stop) {
        const auto put = [&](std::string text, const LogCursor& cursor) {
          return pipe->put(message_of(wish, std::move(text), cursor), stop);
        };
        LogFollower follower(std::move(*passed_on), jobs_, clock_, paces_, wish, put);
        const Answer<void> ended = follower.run(stop);
        if (pipe->drain(stop)) end(ended ? nullptr : &ended.error());
      });
  if (!started) return tl::unexpected(started.error());
  return pipe;
}

}  // namespace caravan::service
