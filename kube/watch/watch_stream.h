// The events of one watch, as JSON objects.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kube/api/json.h"
#include "kube/transport/transport.h"
#include "kube/watch/json_lines.h"

namespace caravan::kube {

class WatchStream {
 public:
  // The stream ends at `end` whatever the server does: a half-open connection is silent for ever.
  WatchStream(std::unique_ptr<HttpStream> stream, Clock::TimePoint end, std::string call)
      : stream_(std::move(stream)), end_(end), call_(std::move(call)) {}

  // Nothing: the watch is over, by the server, a lost connection or the time; all of them are resumed the
  // same way. An error: stopped, or the stream made no sense.
  ApiResult<std::optional<Json>> next(const CallContext& context);

 private:
  std::unique_ptr<HttpStream> stream_;
  Clock::TimePoint end_;
  std::string call_;
  JsonLines lines_;
};

}  // namespace caravan::kube
