#include "cli/cluster/mistakes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <iterator>

#include "cli/say.h"

namespace caravan::cli {

void Mistakes::tell(const Error& error) {
  say(stderr, "{}\n", error.message);
  if (code_ == ExitCode::kDone) code_ = error.code;
}

ExitCode with_each(const std::vector<std::string>& names,
                   const std::function<ClusterResult<void>(const std::string&)>& act) {
  Mistakes mistakes;
  for (auto name = names.begin(); name != names.end(); ++name) {
    const auto done = act(*name);
    if (done) continue;
    mistakes.tell(done.error());
    if (!done.error().is_of_any_call) continue;
    const auto rest = std::next(name);
    if (rest != names.end()) say(stderr, "not done: {}\n", fmt::join(rest, names.end(), ", "));
    break;
  }
  return mistakes.code();
}

}  // namespace caravan::cli
