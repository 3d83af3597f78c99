// Conditions of a job's status, as Kubernetes wants them: the time changes with the status only, messages
// have at most 1 kB.
#pragma once

#include <string>

#include "operator/api/job_conditions.h"
#include "operator/api/job_object.h"

namespace caravan::controller {

struct ConditionChange {
  enum class Kind { kSet, kClear, kRemove };  // as Conditions has them

  const char* type;
  Kind kind = Kind::kSet;
  bool value = false;
  std::string reason = {};
  std::string message = {};
};

ConditionChange set_condition(const char* type, bool value, std::string reason, std::string message);
ConditionChange clear_condition(const char* type, std::string reason, std::string message);
ConditionChange remove_condition(const char* type);

// Writes conditions of one generation at one time.
class Conditions {
 public:
  Conditions(v1alpha1::JobStatus& status, int generation, TimePoint now)
      : status_(status), generation_(generation), now_(now) {}

  void set(const std::string& type, bool value, const std::string& reason, const std::string& message);
  // False, for a condition that is there already; one that never was stays absent.
  void clear(const std::string& type, const std::string& reason, const std::string& message);
  // Of what no longer concerns the job.
  void remove(const std::string& type);
  void write(const ConditionChange& change);

 private:
  v1alpha1::JobStatus& status_;
  int generation_;
  TimePoint now_;
};

// A state that is no condition: all pods have machines, and no rank runs yet.
inline constexpr char kStarting[] = "Starting";
// One word for the column State, from the conditions.
std::string state_of(const v1alpha1::JobStatus& status);

}  // namespace caravan::controller
