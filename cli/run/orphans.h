// No process outlives a run: what a killed agent leaves behind becomes a child of this process, and is ended
// here.
//
// Ranks also end with their agent by themselves; this is the second net below them. Children that were there
// before stay: a shell that becomes this program (exec) leaves it its background jobs.
#pragma once

#include <sys/types.h>

#include <set>

namespace caravan::cli {

class Orphans {
 public:
  // Orphaned descendants become children of this process from now on.
  Orphans();

  // Kills and reaps every child that came since. Call it when none of them is needed any more.
  void end() const;

 private:
  const std::set<pid_t> there_before_;
};

}  // namespace caravan::cli
