// The authority of the job service's certificate, which the operator keeps where everybody who is known to
// the cluster may read it.
#pragma once

#include <string>

#include "cli/cluster/api_server.h"

namespace caravan::cli {

// Where the chart and its installer put Caravan, unless told otherwise.
inline constexpr char kUsualNamespace[] = "caravan-system";

// In PEM, of the job service that is installed in that namespace.
Result<std::string> fetch_service_root(ApiServer& server, const std::string& name_space);

}  // namespace caravan::cli
