// Who an agent is by its certificate, the same for those who issue and those who check it.
#pragma once

#include <string>

namespace caravan {

// The URI among the certificate's alternative names.
inline std::string agent_identity(const std::string& job_uid, int node) {
  return "caravan://job/" + job_uid + "/node/" + std::to_string(node);
}

}  // namespace caravan
