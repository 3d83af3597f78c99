// What the system refuses while data is opened and read: a failure of this machine, never of the input.
//
// A disk, a network or a volume that fails, rights that expired, a folder on which nothing is mounted and a
// file that is not there may be well on another machine or later: exit code 1, after which a job is
// restarted. Whoever has just typed the path knows better and calls it bad input.
#pragma once

#include <string>

#include "common/result.h"

namespace caravan::data {

// "`what`: <the error's text>; <what to do>".
tl::unexpected<Error> read_error(const std::string& what, int system_error);

}  // namespace caravan::data
