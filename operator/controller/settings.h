// What a decision depends on besides the snapshot: the operator's own configuration, the same for all jobs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "policy/failure_policy.h"

namespace caravan::controller {

// Who resolves names for worker pods: pods of a namespace, or addresses.
struct NameServers {
  std::string name_space = {};  // empty: addresses
  std::string label = {};
  std::string value = {};
  std::string addresses = {};  // in CIDR notation
};

struct Settings {
  std::string worker_image = {};       // for jobs that name none
  std::string worker_image_cuda = {};  // the same on GPUs; empty: worker_image
  std::string reports_address = {};    // HOST:PORT that agents report to; empty: they do not
  std::string reports_authority = {};  // PEM of whoever signed the certificate there
  std::string own_namespace = {};      // where the operator's pods are
  std::vector<NameServers> name_servers = {};
  bool platform_assigns_users = false;  // as OpenShift does: pods ask for no user and no group
  bool reads_nodes = true;              // else domains of the topology cannot be chosen
  bool allow_host_network = false;      // for jobs that ask for it
  int cores_per_gpu = 8;                // that pods ask for where the job does not say; 0: none
  // With another agent of the job that is silent.
  std::chrono::seconds agent_patience = policy::kPatienceInPods;
};

}  // namespace caravan::controller
