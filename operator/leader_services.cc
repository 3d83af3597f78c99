#include "operator/leader_services.h"

#include "common/host_port.h"

namespace caravan::controller {

LeaderServices::LeaderServices(kube::Client& client, Clock& clock, Metrics& metrics, JobWatch& jobs,
                               Config config)
    : config_(std::move(config)),
      tokens_(client, clock, jobs.stores().pods),
      pools_(jobs.stores().nodes, jobs.stores().pods, clock, [&jobs] { return jobs.caches().synced(); }),
      live_(jobs.history(), config_.read_nodes ? &pools_ : nullptr, config_.live_listen,
            host_of(config_.reports_address)),
      certificate_(client, clock,
                   {.name_space = config_.name_space,
                    .names = config_.service_names,
                    .on_authority =
                        [this](const KeyPair& authority) {
                          return config_.live_listen.empty() ? Status() : live_.start(authority);
                        }}),
      witness_(clock, metrics),
      reports_(clock, jobs.board(), tokens_, witness_) {}

Result<std::string> LeaderServices::start() {
  std::string reports_authority;
  if (!config_.reports_address.empty()) {
    auto authority = reports_.start(config_.reports_listen, config_.reports_address);
    if (!authority) return authority;
    reports_authority = *std::move(authority);
  }
  if (!config_.service_names.empty() || !config_.live_listen.empty()) certificate_.start();
  return reports_authority;
}

void LeaderServices::stop_live() {
  certificate_.stop();
  live_.stop();
}

void LeaderServices::stop_reports() {
  reports_.stop();
}

}  // namespace caravan::controller
