// Jobs for tests, as an operator might have left them.
#pragma once

#include <fmt/format.h>

#include <string>

#include "operator/api/job_object.h"

namespace caravan::cli::testing {

inline constexpr const char* kCreated = "2026-01-01T00:00:00Z";

inline controller::TimePoint at(const std::string& time) {
  return controller::to_time(time).value();
}

// A job of 16 GPUs. status: JSON.
inline kube::Json job_object_with(const std::string& status, const std::string& more_of_spec = "") {
  return kube::parse_json(fmt::format(
                              R"({{"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob",
                  "metadata": {{"name": "tiny", "namespace": "team", "uid": "u", "creationTimestamp": "{}"}},
                  "spec": {{"model": {{"preset": "llama-tiny"}}, "data": {{"claimName": "corpus", "path": "train.bin"}},
                            "training": {{"steps": 100, "sequenceLength": 64, "globalBatchSequences": 16}},
                            "resources": {{"devices": 16}}{}}},
                  "status": {}}})",
                              kCreated, more_of_spec, status),
                          "job")
      .value();
}

inline controller::Job job_with(const std::string& status, const std::string& more_of_spec = "") {
  return controller::read_job(job_object_with(status, more_of_spec));
}

inline std::string condition(const std::string& type, const std::string& value, const std::string& reason,
                             const std::string& message = "", const std::string& since = kCreated) {
  return fmt::format(
      R"({{"type": "{}", "status": "{}", "reason": "{}", "message": "{}", "lastTransitionTime": "{}"}})",
      type, value, reason, message, since);
}

inline controller::Job job_in(const std::string& conditions, const std::string& more = "") {
  return job_with(fmt::format(R"({{"conditions": [{}]{}}})", conditions, more));
}

}  // namespace caravan::cli::testing
