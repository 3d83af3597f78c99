#include "cli/arguments/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/schema/message_text.h"

namespace caravan::cli {

std::string not_one_of(const std::string& given, const std::vector<std::string>& words) {
  const auto meant = schema::closest_match(given, words);
  return fmt::format("expected one of {}, got {}{}", schema::joined(words), schema::in_quotes(given),
                     meant ? fmt::format("; did you mean {}?", *meant) : "");
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  const auto check = [words](const std::string& given) -> std::string {
    return std::ranges::find(words, given) != words.end() ? "" : not_one_of(given, words);
  };
  return {check, fmt::format("{{{}}}", fmt::join(words, ","))};
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

bool is_flag(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}

CLI::Option* add_output_option(CLI::App& command, std::string& form, const std::vector<std::string>& forms,
                               const std::string& description) {
  return command.add_option("-o,--output", form, description)
      ->capture_default_str()
      ->check(one_of(forms))
      ->type_name("FORM");
}

}  // namespace caravan::cli
