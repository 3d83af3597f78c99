#include "planner/explain/question.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "caravan/v1alpha1/options.pb.h"

namespace caravan::planner {
namespace {

const v1alpha1::FieldRules& rules_of(const char* name) {
  const auto* field = v1alpha1::Parallelism::descriptor()->FindFieldByCamelcaseName(name);
  return field->options().GetExtension(v1alpha1::rules);
}

// Within the schema's bounds.
std::optional<int> read_number(const char* name, const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  const v1alpha1::FieldRules& rules = rules_of(name);
  const bool holds = whole && number >= rules.minimum() && number <= rules.maximum();
  return holds ? std::optional(number) : std::nullopt;
}

std::optional<bool> read_switch(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<CheckpointingPolicy> read_policy(const std::string& text) {
  if (text == "Always") return CheckpointingPolicy::Always;
  if (text == "Never") return CheckpointingPolicy::Never;
  if (text == "WhenNeeded") return CheckpointingPolicy::WhenNeeded;
  return std::nullopt;
}

// Puts a value that could be read where it belongs.
template <typename Read, typename Target>
bool put(const Read& value, Target& target) {
  if (value) target = *value;
  return value.has_value();
}

struct Key {
  const char* name;
  const char* values;  // null: what the schema says
  bool (*set)(FixedChoices& fixed, const char* name, const std::string& text);
};

template <auto kChoice>
bool set_number(FixedChoices& fixed, const char* name, const std::string& text) {
  return put(read_number(name, text), fixed.*kChoice);
}

constexpr std::array kKeys = {
    Key{"tensor", nullptr, set_number<&FixedChoices::tensor>},
    Key{"pipeline", nullptr, set_number<&FixedChoices::pipeline>},
    Key{"data", nullptr, set_number<&FixedChoices::data>},
    Key{"microBatchSize", nullptr, set_number<&FixedChoices::micro_batch_size>},
    Key{"virtualStages", nullptr, set_number<&FixedChoices::virtual_stages>},
    Key{"segments", nullptr, set_number<&FixedChoices::segments>},
    Key{"zeroStage", nullptr, set_number<&FixedChoices::zero_stage>},
    Key{"sequenceParallel", "true or false",
        [](auto& fixed, auto, const auto& text) { return put(read_switch(text), fixed.sequence_parallel); }},
    Key{"activationCheckpointing", "Always, Never or WhenNeeded",
        [](auto& fixed, auto, const auto& text) { return put(read_policy(text), fixed.checkpointing); }},
    Key{"schedule", "Auto, GPipe, 1F1B, Interleaved, ZBH1, ZBH2, VMin, VHalf, VZB, Seq1F1B or SeqZBH1",
        [](auto& fixed, auto, const auto& text) {
          fixed.schedule = schedule_from_name(text);
          return fixed.schedule.has_value() || text == "Auto";
        }},
};

std::string values_of(const Key& key) {
  if (key.values != nullptr) return key.values;
  const v1alpha1::FieldRules& rules = rules_of(key.name);
  return fmt::format("a whole number from {} to {}", rules.minimum(), rules.maximum());
}

std::string key_names() {
  std::vector<std::string> names;
  names.reserve(kKeys.size());
  for (const Key& key : kKeys) names.emplace_back(key.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

struct Assignment {
  std::string key;
  std::string value;
};

std::vector<Assignment> assignments_of(const std::string& question) {
  std::vector<Assignment> assignments;
  for (size_t begin = 0; begin <= question.size();) {
    const size_t end = std::min(question.find(',', begin), question.size());
    const std::string part = question.substr(begin, end - begin);
    const size_t equals = std::min(part.find('='), part.size());
    assignments.push_back({part.substr(0, equals), part.substr(std::min(equals + 1, part.size()))});
    begin = end + 1;
  }
  return assignments;
}

// Sizes belong together: a question about one of them asks for others than the job's.
void forget_sizes(FixedChoices& fixed) {
  fixed.tensor.reset();
  fixed.pipeline.reset();
  fixed.data.reset();
  fixed.layers_per_stage.clear();
}

bool is_size(const std::string& key) {
  return key == "tensor" || key == "pipeline" || key == "data";
}

}  // namespace

Result<PlanRequest> ask_about(PlanRequest request, const std::string& question) {
  const std::vector<Assignment> assignments = assignments_of(question);
  if (std::ranges::any_of(assignments, is_size, &Assignment::key)) forget_sizes(request.fixed);
  for (const Assignment& assignment : assignments) {
    const auto* key =
        std::ranges::find_if(kKeys, [&](const Key& known) { return assignment.key == known.name; });
    if (key == kKeys.end())
      return bad_input(fmt::format("--why: \"{}\" is none of {}", assignment.key, key_names()));
    if (!key->set(request.fixed, key->name, assignment.value)) {
      return bad_input(
          fmt::format("--why: {} must be {}; it is \"{}\"", key->name, values_of(*key), assignment.value));
    }
  }
  if (Status counted = check_counts(request); !counted) return tl::unexpected(counted.error());
  return request;
}

}  // namespace caravan::planner
