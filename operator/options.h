// What the operator is told when it starts: flags, and the environment of its pod where a flag is absent.
//
// Errors: exit code 2, naming the flag.
#pragma once

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "common/result.h"
#include "kube/election/election.h"
#include "operator/api/names.h"
#include "operator/controller/settings.h"

namespace caravan::controller {

struct OperatorOptions {
  std::string kubeconfig;  // JSON; empty: as the pod that this process runs in
  std::string name_space;  // whose jobs are served; empty: all
  bool read_nodes = true;
  std::string lease_namespace = "caravan-system";
  std::string lease_name = kOperator;
  std::chrono::seconds lease_duration = kube::ElectionConfig().lease_duration;
  std::chrono::seconds renew_deadline = kube::ElectionConfig().renew_deadline;
  std::chrono::seconds retry_period = kube::ElectionConfig().retry_period;
  std::chrono::seconds cache_sync{120};  // a leader whose caches nothing came for ends
  std::string worker_image;
  std::string worker_image_cuda;  // of jobs on GPUs; empty: the same
  // [::] is every address, of IPv4 too.
  std::string reports_listen = "[::]:9443";
  std::string reports_address;             // where agents find it; empty: they do not report
  std::vector<std::string> service_names;  // of the job service, for its certificate; none: none is kept
  std::string live_listen;                 // for the job service; empty: it hears nothing of training
  std::vector<NameServers> name_servers = {
      {.name_space = "kube-system", .label = "k8s-app", .value = "kube-dns"},
      {.name_space = "openshift-dns", .label = "dns.operator.openshift.io/daemonset-dns", .value = "default"},
      {.addresses = "169.254.20.10/32"}};  // NodeLocal DNSCache
  bool platform_assigns_users = false;
  bool allow_host_network = false;
  int cores_per_gpu = Settings().cores_per_gpu;
  std::chrono::seconds agent_patience = Settings().agent_patience;
  std::string probes = "[::]:8081";
  std::string metrics = "[::]:8080";
  int workers = 16;  // they mostly wait for the API server
  std::string log_level = "info";
};

// Of `caravan-operator check` (installation_check.h).
struct CheckOptions {
  std::string kubeconfig = {};  // as above
  std::string name_space = "caravan-system";
  bool has_service = false;           // a replica of the job service must be ready, too
  std::chrono::seconds patience{60};  // how long an operator may take to be ready and to lead
};

// The options, or the exit code of a program that only printed its help or version.
using ParsedOptions = std::variant<OperatorOptions, CheckOptions, ExitCode>;

ParsedOptions parse_options(int argc, const char* const* argv);

// What decisions depend on, but for who signed the reports' certificate, which each leader makes anew.
Settings settings_of(const OperatorOptions& options);

}  // namespace caravan::controller
