#include "cli/cluster/mistakes.h"

#include <cstdio>

#include "cli/say.h"

namespace caravan::cli {

void Mistakes::tell(const Error& error) {
  say(stderr, "{}\n", error.message);
  if (code_ == ExitCode::kDone) code_ = error.code;
}

ExitCode with_each(const std::vector<std::string>& names,
                   const std::function<Status(const std::string&)>& act) {
  Mistakes mistakes;
  for (const std::string& name : names) {
    const Status done = act(name);
    if (done) continue;
    mistakes.tell(done.error());
    if (done.error().code == ExitCode::kClusterUnreachable) break;
  }
  return mistakes.code();
}

}  // namespace caravan::cli
