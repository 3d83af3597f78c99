// What a decision depends on besides the snapshot: the operator's own configuration, the same for all jobs.
#pragma once

#include <string>

namespace caravan::controller {

struct Settings {
  std::string worker_image = {};       // for jobs that name none
  std::string reports_address = {};    // HOST:PORT that agents report to; empty: they do not
  std::string reports_authority = {};  // PEM of whoever signed the certificate there
};

}  // namespace caravan::controller
