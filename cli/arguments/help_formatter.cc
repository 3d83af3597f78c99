#include "cli/arguments/help_formatter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <utility>

#include "cli/arguments/choice.h"
#include "planner/explain/table.h"

namespace caravan::cli {
namespace {

constexpr int kNames = 32;  // columns

// What CLI11 calls "INT:INT in [1 - 64]".
struct OptionType {
  std::string name;
  std::string range;  // "[1-64]", or empty
};

OptionType type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('[');
  std::string range = open == std::string::npos ? "" : type.substr(open);
  std::erase(range, ' ');
  return {.name = type.substr(0, type.find_first_of(":{")), .range = std::move(range)};
}

bool takes_many(const CLI::Option& option) {
  return option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

// Each time with one value.
bool is_repeated(const CLI::Option& option) {
  return takes_many(option) && !option.get_allow_extra_args();
}

}  // namespace

HelpFormatter::HelpFormatter(int width) : width_(width) {
  column_width(kNames);
}

std::string HelpFormatter::wrapped(const std::string& text) const {
  return fmt::format("{}", fmt::join(planner::wrap(text, width_ - kNames), "\n"));
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  std::string text;
  std::istringstream lines(app->get_description());
  for (std::string line; std::getline(lines, line);) text += planner::paragraph(line, width_);
  return text;
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  const std::string footer = app->get_footer();
  return footer.empty() ? "" : planner::paragraph(footer, width_);
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  std::stringstream out;
  const std::string description = command->get_description();
  const std::string first_line = description.substr(0, description.find('\n'));
  CLI::detail::format_help(out, command->get_name(), wrapped(first_line), kNames);
  return out.str();
}

// Without what a flag stands for when it has no value: "--page{127.0.0.1:0}".
std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  std::string name = CLI::Formatter::make_option_name(option, is_positional);
  while (true) {
    const std::size_t open = name.find('{');
    const std::size_t close = name.find('}', open);
    if (open == std::string::npos || close == std::string::npos) return name;
    name.erase(open, close + 1 - open);
  }
}

// Without a number of arguments, above which a command refuses them in other words than CLI11's.
std::string HelpFormatter::make_option_usage(const CLI::Option* option) const {
  const std::string name = make_option_name(option, true) + (takes_many(*option) ? "..." : "");
  return option->get_required() ? name : fmt::format("[{}]", name);
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (is_flag(*option) || option->get_positional()) return "";
  const bool goes_on = takes_many(*option) && !is_repeated(*option);
  return fmt::format(" {}{}{}", type_of(*option).name, goes_on ? " ..." : "",
                     option->get_required() ? " REQUIRED" : "");
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  const bool is_a_list = option->get_delimiter() != '\0';
  if (is_repeated(*option) && !is_a_list) text += "; repeat it for more";
  if (const auto words = choices_of(*option); !words.empty())
    text += fmt::format(" ({})", fmt::join(words, ", "));
  if (const std::string range = type_of(*option).range; !range.empty()) text += " " + range;
  if (const std::string value = option->get_default_str(); !value.empty())
    text += fmt::format(" [{}]", value);
  return wrapped(text);
}

}  // namespace caravan::cli
