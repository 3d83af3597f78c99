#include "cli/cluster/cluster_error.h"

#include <fmt/format.h>

namespace caravan::cli {
namespace {

std::string place_of(const Asked& asked) {
  return asked.name_space.empty() ? "the cluster" : fmt::format("namespace {}", asked.name_space);
}

std::string option_of(const Asked& asked) {
  return asked.name_space.empty() ? " -A" : fmt::format(" -n {}", asked.name_space);
}

}  // namespace

Error no_such_job(const Asked& asked) {
  return {.message = fmt::format("{} has no job {}; `caravan list{}` shows those that there are",
                                 place_of(asked), asked.name, option_of(asked)),
          .code = ExitCode::kBadInput};
}

Error name_is_taken(const Asked& asked) {
  return {.message = fmt::format("{} has a job {} already; give this one another name, or delete that one "
                                 "with `caravan delete {}{}`",
                                 place_of(asked), asked.name, asked.name, option_of(asked)),
          .code = ExitCode::kBadInput};
}

Error lacks_right(const std::string& words, const Asked& asked) {
  return {.message = fmt::format("{}; ask whoever runs the cluster for the right to {} {} in {}", words,
                                 asked.verb, asked.resource, place_of(asked))};
}

Error refused(const std::string& words, const Asked& asked) {
  return {.message = fmt::format("{} {}: {}", asked.verb, asked.resource, words)};
}

}  // namespace caravan::cli
