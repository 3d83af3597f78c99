#include "kube/watch/watch_stream.h"

#include <fmt/format.h>

namespace caravan::kube {
namespace {

bool is_just_the_end(const ApiError& error) {
  return error.kind == ErrorKind::kBroken || error.kind == ErrorKind::kTimeout;
}

}  // namespace

ApiResult<std::optional<Json>> WatchStream::next(const CallContext& context) {
  while (true) {
    auto line = lines_.next();
    if (!line) return api_failure(ErrorKind::kMalformed, fmt::format("{}: {}", call_, line.error().message));
    if (line->has_value()) {
      auto event = parse_json(**line, fmt::format("{}: an event", call_));
      if (!event) return api_failure(ErrorKind::kMalformed, event.error().message);
      return std::move(*event);
    }
    auto chunk = stream_->read(context.until(end_));
    if (!chunk && is_just_the_end(chunk.error())) return std::nullopt;
    if (!chunk) return tl::unexpected(std::move(chunk.error()));
    if (chunk->empty()) return std::nullopt;
    lines_.add(*chunk);
  }
}

}  // namespace caravan::kube
