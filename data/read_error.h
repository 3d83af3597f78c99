// Errors of the system while data is read: the input's fault, or that of the machine that reads it.
//
// A path that does not exist or may not be read is wrong everywhere and for ever: exit code 2. A disk, a
// network or a volume that fails (EIO, ESTALE, ENXIO, a timeout), or a machine without memory or descriptors,
// may work on another machine or later: exit code 1, which a job restarts after.
#pragma once

#include <string>

#include "common/result.h"

namespace caravan::data {

bool is_fault_of_input(int system_error);

// "`what`: <the error's text>; <what to do>".
tl::unexpected<Error> read_error(const std::string& what, int system_error);

}  // namespace caravan::data
