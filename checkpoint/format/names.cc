#include "checkpoint/format/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "common/utf8.h"

namespace caravan::checkpoint {
namespace {

constexpr std::string_view kStep = "step-";
constexpr std::string_view kUnfinished = ".tmp-";
constexpr std::string_view kGone = ".gone";
constexpr int kNoAttempt = 0;
constexpr std::string_view kOwner = "owner-";

// A whole number from 1 on, of decimal digits and nothing else.
template <typename Number>
std::optional<Number> number_in(std::string_view digits) {
  Number number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole = error == std::errc() && end == digits.data() + digits.size();
  return is_whole && number >= 1 ? std::optional(number) : std::nullopt;
}

// What stands before the next dot, which goes too.
std::string_view take_part(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find('.'));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

std::optional<int> unfinished_step(std::string_view folder) {
  const std::size_t cut = folder.find(kUnfinished);
  return cut == std::string_view::npos ? std::nullopt : committed_step(folder.substr(0, cut));
}

bool may_be_shown(std::string_view name) {
  return readable(name, name.size()) == name && name.find_first_of("\n\t") == std::string_view::npos;
}

}  // namespace

std::string step_folder(int step) {
  return fmt::format("{}{:06}", kStep, step);
}

std::string unfinished_folder(int step, int attempt, std::string_view run) {
  return fmt::format("{}{}{}{}{}", step_folder(step), kUnfinished, attempt, run.empty() ? "" : "-", run);
}

std::string damaged_folder(int step, int attempt) {
  return fmt::format("{}.damaged-{}", step_folder(step), attempt);
}

std::string going_folder(std::string_view folder) {
  if (is_going(folder)) return std::string(folder);
  if (const auto step = committed_step(folder)) return unfinished_folder(*step, kNoAttempt);
  return fmt::format("{}{}", folder, kGone);
}

std::string share_file(int rank) {
  return fmt::format("rank-{}.json", rank);
}

std::optional<int> committed_step(std::string_view folder) {
  if (!folder.starts_with(kStep)) return std::nullopt;
  const auto step = number_in<int>(folder.substr(kStep.size()));
  return step && step_folder(*step) == folder ? step : std::nullopt;
}

bool is_unfinished(std::string_view folder) {
  return unfinished_step(folder).has_value();
}

bool is_going(std::string_view folder) {
  const auto step = unfinished_step(folder);
  return step && (folder.ends_with(kGone) || folder == unfinished_folder(*step, kNoAttempt));
}

std::string owner_file(const Owner& owner) {
  return fmt::format("{}{:06}.{}.{}.{}", kOwner, owner.number, owner.attempt, owner.run, owner.job);
}

std::optional<Owner> owner_named(std::string_view file) {
  if (!file.starts_with(kOwner) || !may_be_shown(file)) return std::nullopt;
  std::string_view rest = file.substr(kOwner.size());
  const auto number = number_in<int64_t>(take_part(rest));
  const auto attempt = number_in<int>(take_part(rest));
  if (!number || !attempt) return std::nullopt;
  const std::string_view run = take_part(rest);
  const Owner owner{
      .number = *number, .attempt = *attempt, .run = std::string(run), .job = std::string(rest)};
  return owner_file(owner) == file ? std::optional(owner) : std::nullopt;
}

bool is_later(const Owner& one, const Owner& other) {
  const auto place = [](const Owner& owner) {
    return std::tie(owner.number, owner.run, owner.attempt, owner.job);
  };
  return place(one) > place(other);
}

}  // namespace caravan::checkpoint
