// What a program on the cluster serves over HTTP: /healthz and /readyz for the kubelet, and /metrics. Probes
// are answered by a thread of their own, however long the text of the metrics takes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "http/server.h"

namespace caravan {

struct PageContents {
  // Called by any thread.
  std::function<std::optional<std::string>()> what_hangs;
  std::function<bool()> caches_are_filled;  // until then it is not ready
  std::function<std::string()> metrics;
  std::function<bool()> stops = [] { return false; };  // from then on it is not ready
};

class Pages {
 public:
  // HOST:PORT each. Errors name the flag.
  static Result<Pages> serve(const std::string& probes, const std::string& metrics, PageContents contents);

 private:
  Pages(http::Server probes, http::Server metrics)
      : probes_(std::move(probes)), metrics_(std::move(metrics)) {}

  http::Server probes_;
  http::Server metrics_;
};

}  // namespace caravan
