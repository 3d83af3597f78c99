#include "cli/cluster/cluster_error.h"

#include <fmt/format.h>

#include <regex>

namespace caravan::cli {
namespace {

std::string place_of(const Asked& asked) {
  return asked.name_space.empty() ? "the cluster" : fmt::format("namespace {}", asked.name_space);
}

// In the words of the API server's authorizer, or of the job service that asked it. Quotas and admission
// forbid too, with reasons of their own.
bool is_about_a_right(const std::string& words) {
  static const std::regex kOfAnAuthorizer(" cannot [a-z]+ resource| may not [a-z]+ llamatrainingjobs ");
  return std::regex_search(words, kOfAnAuthorizer);
}

}  // namespace

std::string place_options(const std::string& name_space, const std::string& context) {
  return fmt::format("{}{}", name_space.empty() ? " -A" : " -n " + name_space,
                     context.empty() ? "" : " --context " + context);
}

Error no_such_job(const Asked& asked) {
  return {.message = fmt::format("{} has no job {}; `caravan list{}` shows those that there are",
                                 place_of(asked), asked.name, place_options(asked.name_space, asked.context)),
          .code = ExitCode::kBadInput};
}

Error name_is_taken(const Asked& asked) {
  return {.message = fmt::format("{} has a job {} already; give this one another name, or delete that one "
                                 "with `caravan delete {}{}`",
                                 place_of(asked), asked.name, asked.name,
                                 place_options(asked.name_space, asked.context)),
          .code = ExitCode::kBadInput};
}

Error forbidden(const std::string& words, const Asked& asked) {
  if (!is_about_a_right(words)) return refused(words, asked);
  return {.message = fmt::format("{}; ask whoever runs the cluster for the right to {} {} in {}", words,
                                 asked.verb, asked.resource, place_of(asked))};
}

Error refused(const std::string& words, const Asked& asked) {
  return {.message = fmt::format("{} {}: {}", asked.verb, asked.resource, words)};
}

}  // namespace caravan::cli
