// The JSON lines of `caravan run` on standard output, one object a line, keys as documented for users.
//
// Doubles have the shortest digits that read back to the same bits; what is unknown or not finite is null.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"
#include "caravan/v1alpha1/plan.pb.h"

namespace caravan::cli {

// Builds one line; fields stand in the order of the calls.
class JsonLine {
 public:
  explicit JsonLine(std::string_view type);
  JsonLine& text(std::string_view key, std::string_view value);
  JsonLine& integer(std::string_view key, std::optional<int64_t> value);
  JsonLine& number(std::string_view key, std::optional<double> value);
  JsonLine& boolean(std::string_view key, bool value);
  JsonLine& integers(std::string_view key, const std::vector<int64_t>& values);
  std::string finish();

 private:
  JsonLine& raw(std::string_view key, std::string_view json);

  std::string line_;
};

// The planner's whole answer, as `caravan plan -o json` gives it.
std::string plan_json(const v1alpha1::PlanReport& report);
std::string step_json(const v1alpha1::JobStep& step, int steps);
std::string event_json(const v1alpha1::JobEvent& event);
std::string checkpoint_json(const v1alpha1::CheckpointReport& checkpoint);

}  // namespace caravan::cli
