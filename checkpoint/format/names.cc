#include "checkpoint/format/names.h"

#include <fmt/format.h>

#include <charconv>

namespace caravan::checkpoint {
namespace {

constexpr std::string_view kStep = "step-";
constexpr std::string_view kUnfinished = ".tmp-";

}  // namespace

std::string step_folder(int step) {
  return fmt::format("{}{:06}", kStep, step);
}

std::string unfinished_folder(int step, int attempt) {
  return fmt::format("{}{}{}", step_folder(step), kUnfinished, attempt);
}

std::string damaged_folder(int step, int attempt) {
  return fmt::format("{}.damaged-{}", step_folder(step), attempt);
}

std::string share_file(int rank) {
  return fmt::format("rank-{}.json", rank);
}

std::optional<int> committed_step(std::string_view folder) {
  if (!folder.starts_with(kStep)) return std::nullopt;
  const std::string_view digits = folder.substr(kStep.size());
  int step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() || step < 1) return std::nullopt;
  return step_folder(step) == folder ? std::optional(step) : std::nullopt;
}

bool is_unfinished(std::string_view folder) {
  const std::size_t cut = folder.find(kUnfinished);
  return cut != std::string_view::npos && committed_step(folder.substr(0, cut)).has_value();
}

}  // namespace caravan::checkpoint
