// What the service tells those who look after it, over plain HTTP: /healthz and /readyz for the kubelet,
// /metrics for Prometheus. Probes are answered by a thread of their own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "http/server.h"

namespace caravan::service {

struct PageContents {
  // Called by any thread.
  std::function<std::optional<std::string>()> what_hangs;
  std::function<bool()> is_ready;
  std::function<std::string()> metrics;
};

// HOST:PORT each. Errors name the flag. What is served is served as long as the answer lives.
Result<std::pair<http::Server, http::Server>> serve_pages(const std::string& probes,
                                                          const std::string& metrics, PageContents contents);

}  // namespace caravan::service
