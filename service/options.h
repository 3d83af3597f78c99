// What the job service is told when it starts: by flags, some also by variables of the environment.
//
// Errors: exit code 2, naming the flag.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "common/result.h"
#include "service/access/shares.h"
#include "service/operator_link.h"
#include "service/rpc/tls_files.h"

namespace caravan::service {

struct ServiceOptions {
  std::string kubeconfig;  // JSON; empty: as the pod that this process runs in
  std::string name_space;  // whose jobs are served; empty: all
  std::string listen = "[::]:8443";
  std::string http_listen;  // empty: not over HTTP
  TlsFiles tls;
  OperatorAccess live = {};
  std::vector<std::string> audiences = {"caravan"};
  Shares::Limits shares = {};
  int workers = 16;  // they mostly wait for the API server
  int drain_seconds = 0;
  std::string probes = "[::]:8081";
  std::string metrics = "[::]:8080";
  std::string log_level = "info";
};

// The options, or the exit code of a program that only printed its help or version.
using ParsedOptions = std::variant<ServiceOptions, ExitCode>;

ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace caravan::service
