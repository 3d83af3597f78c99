// No process outlives a run: what a killed agent leaves behind becomes a child of this process, and is ended
// here.
//
// Ranks also end with their agent by themselves; this is the second net below them.
#pragma once

namespace caravan::cli {

// Orphaned descendants become children of this process from now on.
void adopt_orphans();

// Kills and reaps every child of this process. Call it when no child is needed any more.
void end_all_children();

}  // namespace caravan::cli
