// What tests have happened to a job: states that an operator would have written, and an event.
#pragma once

#include <string>

#include "kube/api/json.h"
#include "operator/api/names.h"

namespace caravan::kube::testing {

inline constexpr const char* kTrains =
    R"({"state": "Running", "layout": "TP1 PP1 DP2", "attempt": 1, "restarts": 0,
        "conditions": [
          {"type": "Planned", "status": "True", "reason": "HeuristicSelected", "message": "it fits",
           "lastTransitionTime": "2026-01-01T00:00:00Z"},
          {"type": "Running", "status": "True", "reason": "StepsAdvancing", "message": "steps",
           "lastTransitionTime": "2026-01-01T00:01:00Z"}],
        "predicted": {"memoryPerDevice": "34Mi"},
        "progress": {"step": 40, "steps": 100, "percent": 40, "loss": "2.31", "peakMemoryPerDevice": "33Mi"}})";

// type: of the condition that ends it, which its state is called after.
inline std::string ended(const std::string& type, const std::string& reason) {
  return R"({"state": ")" + type + R"(", "conditions": [{"type": ")" + type +
         R"(", "status": "True", "reason": ")" + reason +
         R"(", "message": "so it is", "lastTransitionTime": "2026-01-01T00:00:00Z"}]})";
}

// A warning with the note "needs 4 more devices".
inline JsonObject event_about(const std::string& name_space, const std::string& job, const std::string& uid) {
  return {{"apiVersion", "events.k8s.io/v1"},
          {"kind", "Event"},
          {"metadata", JsonObject{{"name", job + ".1"}, {"namespace", name_space}}},
          {"eventTime", "2026-01-01T00:00:00.000000Z"},
          {"reportingController", "test"},
          {"reportingInstance", "test"},
          {"action", "Planned"},
          {"type", "Warning"},
          {"reason", "DoesNotFit"},
          {"note", "needs 4 more devices"},
          {"regarding", JsonObject{{"apiVersion", controller::kApiVersion},
                                   {"kind", controller::kKind},
                                   {"name", job},
                                   {"namespace", name_space},
                                   {"uid", uid}}}};
}

}  // namespace caravan::kube::testing
