#include "planner/explain/question.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace caravan::planner {
namespace {

std::optional<int> read_number(const std::string& text, int minimum) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= minimum ? std::optional(number) : std::nullopt;
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
  const char* values;
  bool (*set)(FixedChoices& fixed, const std::string& text);
};

constexpr const char* kCount = "a whole number from 1";

constexpr std::array kKeys = {
    Key{"tensor", kCount,
        [](auto& fixed, const auto& text) { return put(read_number(text, 1), fixed.tensor); }},
    Key{"pipeline", kCount,
        [](auto& fixed, const auto& text) { return put(read_number(text, 1), fixed.pipeline); }},
    Key{"data", kCount, [](auto& fixed, const auto& text) { return put(read_number(text, 1), fixed.data); }},
    Key{"microBatchSize", kCount,
        [](auto& fixed, const auto& text) { return put(read_number(text, 1), fixed.micro_batch_size); }},
    Key{"virtualStages", kCount,
        [](auto& fixed, const auto& text) { return put(read_number(text, 1), fixed.virtual_stages); }},
    Key{"segments", kCount,
        [](auto& fixed, const auto& text) { return put(read_number(text, 1), fixed.segments); }},
    Key{"zeroStage", "0, 1, 2 or 3",
        [](auto& fixed, const auto& text) { return put(read_number(text, 0), fixed.zero_stage); }},
    Key{"sequenceParallel", "true or false",
        [](auto& fixed, const auto& text) { return put(read_switch(text), fixed.sequence_parallel); }},
    Key{"activationCheckpointing", "Always, Never or WhenNeeded",
        [](auto& fixed, const auto& text) { return put(read_policy(text), fixed.checkpointing); }},
    Key{"schedule", "GPipe, 1F1B, Interleaved, ZBH1, ZBH2, VMin, VHalf, VZB, Seq1F1B or SeqZBH1",
        [](auto& fixed, const auto& text) { return put(schedule_from_name(text), fixed.schedule); }},
};

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
    if (!key->set(request.fixed, assignment.value)) {
      return bad_input(
          fmt::format("--why: {} must be {}; it is \"{}\"", key->name, key->values, assignment.value));
    }
  }
  return request;
}

}  // namespace caravan::planner
