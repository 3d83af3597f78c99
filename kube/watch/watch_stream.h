// The events of one watch, as JSON objects.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/line_reader.h"
#include "kube/api/json.h"
#include "kube/transport/transport.h"

namespace caravan::kube {

// An object in etcd has at most 1.5 MiB; the bound keeps a stream without line ends from filling the memory.
inline constexpr std::size_t kLongestEvent = std::size_t{16} << 20;

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
  LineReader lines_{kLongestEvent};
};

}  // namespace caravan::kube
