// The checkpoints of a folder as a whole: which there are, and which go.
//
// Names say what may be believed (names.h): no pointer file is asked or kept.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/folder/volume.h"

namespace caravan::checkpoint {

// Steps of the committed checkpoints, newest first; what they hold has not been looked at.
Result<std::vector<int>> committed_steps(const Volume& volume);

// Whether it has its name. What a reader misses in one that has lost it was taken away meanwhile, as
// keep_newest does it, and is no damage.
Result<bool> is_committed(const Volume& volume, int step);

// Removes all but so many, of those up to the step that was just committed, and what is left of those whose
// removal failed before. One that is being removed loses its name first, and one that cannot be removed keeps
// no other: the first error is told. What is newer could not be read, and is left to people.
Status keep_newest(Volume& volume, int count, int committed_step);

// Gives a damaged checkpoint a name under which nobody reads it: of this attempt, or with the next number
// that is free.
Status set_aside(Volume& volume, int step, int attempt);

// Removes an unfinished one, which nobody writes any more: under the name of what is being removed, which
// keep_newest tries again, or where it cannot get that, under its own. The first error is told.
Status remove_unfinished_folder(Volume& volume, const std::string& folder);

// Removes what attempts that ended left unfinished, as far as it can: the first error is told. Nobody writes
// meanwhile.
Status remove_unfinished(Volume& volume);

}  // namespace caravan::checkpoint
