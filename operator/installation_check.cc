#include "operator/installation_check.h"

#include <fmt/format.h>

#include "common/version.h"
#include "kube/client/get_if_there.h"
#include "kube/config/config_credentials.h"
#include "kube/election/election.h"
#include "kube/transport/pooled_transport.h"
#include "operator/api/names.h"
#include "serving/cluster_config.h"
#include "serving/log.h"

namespace caravan::controller {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using kube::JsonObject;

constexpr auto kPause = 1s;
constexpr char kService[] = "caravan-service";  // a Deployment, as kOperator is
const kube::Resource kDeployments{.group = "apps", .version = "v1", .plural = "deployments"};

// The smallest one. It is never made, so it needs neither data nor devices.
JsonObject sample_job(const std::string& name_space) {
  return {
      {"apiVersion", kApiVersion},
      {"kind", kKind},
      {"metadata", JsonObject{{"generateName", "caravan-check-"}, {"namespace", name_space}}},
      {"spec",
       JsonObject{{"model", JsonObject{{"preset", "llama-tiny"}}},
                  {"data", JsonObject{{"path", "tokens.bin"}}},
                  {"training", JsonObject{{"steps", 1}, {"sequenceLength", 64}, {"globalBatchSequences", 1}}},
                  {"resources", JsonObject{{"devices", 1},
                                           {"devicesPerNode", 1},
                                           {"device", JsonObject{{"kind", "CPU"}, {"memory", "1Gi"}}}}}}}};
}

bool is_ready(const Json& deployment) {
  return kube::integer_at(deployment, {"status", "readyReplicas"}).value_or(0) >= 1;
}

// An error too may pass: rights that were just given are known a moment later.
std::string look_at_operator(kube::Client& client, const std::string& name_space) {
  const auto deployment = kube::get_if_there(client, {}, {kDeployments, name_space}, kOperator);
  if (!deployment) return deployment.error().message;
  const auto lease = kube::get_if_there(client, {}, {kube::kLeases, name_space}, kOperator);
  if (!lease) return lease.error().message;
  return what_is_missing(*deployment, *lease);
}

std::string look_at_service(kube::Client& client, const std::string& name_space) {
  const auto deployment = kube::get_if_there(client, {}, {kDeployments, name_space}, kService);
  if (!deployment) return deployment.error().message;
  return is_ready(*deployment) ? "" : "no replica of the job service is ready";
}

struct Finding {
  std::string missing;         // empty: nothing
  const char* of = kOperator;  // the Deployment
};

Finding look(kube::Client& client, const CheckOptions& options) {
  Finding found{.missing = look_at_operator(client, options.name_space)};
  if (found.missing.empty() && options.has_service)
    found = {.missing = look_at_service(client, options.name_space), .of = kService};
  return found;
}

Status await_readiness(kube::Client& client, Clock& clock, const CheckOptions& options) {
  const auto end = clock.now() + options.patience;
  while (true) {
    const auto [missing, of] = look(client, options);
    if (missing.empty()) return {};
    if (clock.now() >= end)
      return failure(fmt::format(
          "{} after {} s; see `kubectl -n {} describe pods` and `kubectl -n {} logs deployment/{}`", missing,
          options.patience.count(), options.name_space, options.name_space, of));
    clock.sleep_until(clock.now() + kPause, {});
  }
}

}  // namespace

std::string what_is_missing(const Json& deployment, const Json& lease) {
  if (deployment.is_null()) return "there is no Deployment caravan-operator";
  if (!is_ready(deployment)) return "no operator is ready";
  const std::string holder = kube::text_at(lease, {"spec", "holderIdentity"});
  if (holder.empty() || holder == kube::kUnknownHolder)
    return "no operator leads: the Lease caravan-operator has no holder";
  return "";
}

Result<std::string> check_installation(kube::Client& client, Clock& clock, const CheckOptions& options) {
  if (const Status led = await_readiness(client, clock, options); !led) return tl::unexpected(led.error());
  const auto taken = client.try_create({}, {kJobs, options.name_space}, sample_job(options.name_space));
  if (!taken) return failure("the API server does not take a job: " + taken.error().message);
  return fmt::format("an operator leads in {}, and the API server takes jobs", options.name_space);
}

Result<ExitCode> run_check(const CheckOptions& options) {
  auto config = load_cluster_config(options.kubeconfig);
  if (!config) return tl::unexpected(config.error());
  SystemClock clock;
  kube::Observer observer;
  kube::ConfigCredentials credentials(*config, clock);
  kube::PooledTransport transport(kube::peer_of(*config), credentials, clock);
  kube::Client client(transport, credentials, clock, kube::system_random(),
                      {.user_agent = fmt::format("caravan-operator/{} check", version()),
                       .field_manager = "caravan-check",
                       .base_path = config->base_path},
                      observer);
  const auto found = check_installation(client, clock, options);
  if (!found) return tl::unexpected(found.error());
  log_line(spdlog::level::info, *found);
  return ExitCode::kDone;
}

}  // namespace caravan::controller
