#include "service/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "common/rpc_status.h"
#include "serving/log.h"

namespace caravan::service {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Histogram;

struct Metrics::Series {
  Family<Counter>& counters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }

  prometheus::Registry registry;
  Family<Counter>& handled = counters("caravan_service_calls_total", "Calls of the job service that ended");
  Family<Histogram>& times = prometheus::BuildHistogram()
                                 .Name("caravan_service_call_seconds")
                                 .Help("How long a call took; of streams, how long they were open")
                                 .Register(registry);
  Family<Counter>& requests =
      counters("caravan_service_api_requests_total", "Calls of the Kubernetes API; code 0: no answer");
  prometheus::Gauge& jobs = prometheus::BuildGauge()
                                .Name("caravan_service_jobs")
                                .Help("Jobs that this replica knows")
                                .Register(registry)
                                .Add({});
};

Metrics::Metrics() : series_(std::make_unique<Series>()) {}
Metrics::~Metrics() = default;

void Metrics::on_handled(const std::string& protocol, const std::string& method, int code,
                         std::chrono::nanoseconds took) {
  series_->handled
      .Add({{"protocol", protocol}, {"method", method}, {"code", std::string(rpc_code_name(code))}})
      .Increment();
  series_->times
      .Add({{"protocol", protocol}, {"method", method}},
           Histogram::BucketBoundaries{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30,
                                       300})
      .Observe(std::chrono::duration<double>(took).count());
}

void Metrics::on_request(std::string_view verb, int code) {
  series_->requests.Add({{"verb", std::string(verb)}, {"code", std::to_string(code)}}).Increment();
}

void Metrics::on_warning(const std::string& message) {
  log_line(spdlog::level::warn, message);
}

std::string Metrics::text(std::size_t jobs) const {
  series_->jobs.Set(static_cast<double>(jobs));
  return prometheus::TextSerializer().Serialize(series_->registry.Collect());
}

}  // namespace caravan::service
