#include "operator/api/conditions.h"

#include <algorithm>

#include "common/utf8.h"
#include "operator/api/names.h"

namespace caravan::controller {
namespace {

constexpr std::size_t kLongestMessage = 1024;

}  // namespace

ConditionChange set_condition(const char* type, bool value, std::string reason, std::string message) {
  return {.type = type, .value = value, .reason = std::move(reason), .message = std::move(message)};
}

ConditionChange clear_condition(const char* type, std::string reason, std::string message) {
  return {.type = type,
          .kind = ConditionChange::Kind::kClear,
          .reason = std::move(reason),
          .message = std::move(message)};
}

ConditionChange remove_condition(const char* type) {
  return {.type = type, .kind = ConditionChange::Kind::kRemove};
}

void Conditions::set(const std::string& type, bool value, const std::string& reason,
                     const std::string& message) {
  auto& all = *status_.mutable_conditions();
  auto found = std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.type() == type; });
  v1alpha1::Condition& condition = found == all.end() ? *all.Add() : *found;
  const std::string wanted = value ? "True" : "False";
  if (condition.status() != wanted) condition.set_last_transition_time(to_text(now_));
  condition.set_type(type);
  condition.set_status(wanted);
  condition.set_reason(reason);
  condition.set_message(readable(message, kLongestMessage));
  condition.set_observed_generation(generation_);
}

void Conditions::clear(const std::string& type, const std::string& reason, const std::string& message) {
  if (find_condition(status_, type) != nullptr) set(type, false, reason, message);
}

void Conditions::remove(const std::string& type) {
  auto& all = *status_.mutable_conditions();
  all.erase(std::remove_if(all.begin(), all.end(), [&](const auto& c) { return c.type() == type; }),
            all.end());
}

void Conditions::write(const ConditionChange& change) {
  switch (change.kind) {
    case ConditionChange::Kind::kSet:
      return set(change.type, change.value, change.reason, change.message);
    case ConditionChange::Kind::kClear:
      return clear(change.type, change.reason, change.message);
    case ConditionChange::Kind::kRemove:
      return remove(change.type);
  }
}

std::string state_of(const v1alpha1::JobStatus& status) {
  for (const char* type : {conditions::kComplete, conditions::kFailed, conditions::kSuspended,
                           conditions::kStalled, conditions::kRestarting, conditions::kRunning}) {
    if (is_true(status, type)) return type;
  }
  const v1alpha1::Condition* planned = find_condition(status, conditions::kPlanned);
  if (planned != nullptr && planned->status() == "False") return planned->reason();
  const v1alpha1::Condition* quota = find_condition(status, conditions::kQuotaReserved);
  if (quota != nullptr && quota->status() == "False") return "Queued";
  return is_true(status, conditions::kScheduled) ? kStarting : "Pending";
}

}  // namespace caravan::controller
