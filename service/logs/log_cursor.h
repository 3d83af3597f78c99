// How far somebody has read what a node of a job prints: in which pod, and where in its log. A pod's
// container is never started again (operator/children/worker_pod.cc), so a pod has one log. Pure.
#pragma once

#include <optional>
#include <string>

#include "operator/view/log_scanner.h"
#include "service/answer/fault.h"

namespace caravan::service {

struct LogCursor {
  std::string pod = {};
  std::string uid = {};                            // of the pod
  int attempt = 1;                                 // that the pod was made for
  bool is_read = false;                            // to the end; what follows is in a later pod
  std::optional<controller::LogPlace> place = {};  // absent: before the first line

  bool operator==(const LogCursor&) const = default;
};

// What has to be asked for again with a cursor.
struct LogSource {
  std::string job = {};  // namespaces/NAMESPACE/jobs/JOB
  int node = 0;
  std::optional<int> rank = {};
};

std::string text_of(const LogCursor& cursor, const LogSource& source);
Answer<LogCursor> cursor_of(const std::string& text, const LogSource& source);

}  // namespace caravan::service
