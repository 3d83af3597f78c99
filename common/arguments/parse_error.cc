#include "common/arguments/parse_error.h"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "common/arguments/unknown_argument.h"
#include "common/decimal.h"
#include "common/result.h"
#include "common/schema/message_text.h"
#include "common/standard_stream.h"
#include "common/utf8.h"

namespace caravan {

int refuse_arguments(const CLI::App& program, const std::string& sentence) {
  fmt::print(stderr, "{}\n`{} --help` tells more.\n", readable(sentence, sentence.size()),
             full_name(innermost_command(program)));
  return static_cast<int>(ExitCode::kBadInput);
}

namespace {

// A number that an option does not take is not whole, or too large.
bool wants_a_whole_number(const CLI::Option* option, const std::string& given) {
  const std::string type = option == nullptr ? "" : option->get_type_name();
  return type.starts_with("INT") || type.starts_with("UINT") || parse_decimal(given).has_value();
}

// "--seed: expected a whole number, got "abc"", where CLI11 says that it could not convert "--seed = abc".
std::string not_converted(const CLI::App& program, const std::string& words) {
  constexpr std::string_view kBeforeName = "Could not convert: ";
  const std::size_t equals = words.find(" = ");
  if (!words.starts_with(kBeforeName) || equals == std::string::npos) return words;
  const std::string name = words.substr(kBeforeName.size(), equals - kBeforeName.size());
  const std::string given = words.substr(equals + 3);
  const CLI::Option* option = innermost_command(program).get_option_no_throw(name);
  return fmt::format("{}: expected {}, got {}", name,
                     wants_a_whole_number(option, given) ? "a whole number" : "a number",
                     schema::in_quotes(given));
}

}  // namespace

int exit_on_parse_error(const CLI::App& program, const CLI::ParseError& error) {
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (code == CLI::ExitCodes::Success) {  // help, or the version
    program.exit(error);
    return static_cast<int>(unless_output_is_lost(ExitCode::kDone));
  }
  if (code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError) {
    if (const auto unknown = unknown_argument(program)) return refuse_arguments(program, *unknown);
  }
  if (code == CLI::ExitCodes::ConversionError)
    return refuse_arguments(program, not_converted(program, error.what()));
  return refuse_arguments(program, error.what());
}

}  // namespace caravan
