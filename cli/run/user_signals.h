// Signals of the user of a run: SIGINT, SIGTERM and SIGHUP ask it to end, SIGUSR1 for a checkpoint.
#pragma once

#include <chrono>

#include "common/result.h"
#include "common/unique_fd.h"

namespace caravan::cli {

// From catch_all() on, they wait until somebody reads them, so that nothing is left behind.
struct UserSignals {
  static Result<UserSignals> catch_all();

  // Whether one that asks to end waits to be read.
  static bool end_is_asked();

  // Of a program that has nothing left to stop: whether one came that asks it to end, within that time.
  bool ask_to_end(std::chrono::milliseconds within) const;

  UniqueFd descriptor;
};

}  // namespace caravan::cli
