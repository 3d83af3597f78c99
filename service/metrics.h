// The service's series: calls by protocol, method and code, how long they took, and calls of the API server.
// Safe for any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "kube/client/observer.h"

namespace caravan::service {

class Metrics final : public kube::Observer {
 public:
  Metrics();
  ~Metrics() override;

  // protocol: grpc or json; code: of gRPC.
  void on_handled(const std::string& protocol, const std::string& method, int code,
                  std::chrono::nanoseconds took);
  void on_request(std::string_view verb, int code) override;
  void on_warning(const std::string& message) override;

  // The text format of Prometheus. jobs: that there are.
  std::string text(std::size_t jobs) const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace caravan::service
