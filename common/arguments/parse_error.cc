#include "common/arguments/parse_error.h"

#include <fmt/format.h>

#include <cstdio>

#include "common/arguments/unknown_argument.h"
#include "common/result.h"
#include "common/utf8.h"

namespace caravan {

int refuse_arguments(const CLI::App& program, const std::string& sentence) {
  fmt::print(stderr, "{}\n`{} --help` tells more.\n", readable(sentence, sentence.size()),
             full_name(innermost_command(program)));
  return static_cast<int>(ExitCode::kBadInput);
}

int exit_on_parse_error(const CLI::App& program, const CLI::ParseError& error) {
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (code == CLI::ExitCodes::Success) return program.exit(error);
  if (code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError) {
    if (const auto unknown = unknown_argument(program)) return refuse_arguments(program, *unknown);
  }
  return refuse_arguments(program, error.what());
}

}  // namespace caravan
