// What became of a checkpoint, in a line for people, without control characters but for colours.
#pragma once

#include <string>

#include "caravan/v1alpha1/rank.pb.h"
#include "report_text/console_style.h"

namespace caravan {

// Which step has none, and why. Not whether training goes on: the job may be at its end.
std::string failed_save_text(const v1alpha1::CheckpointReport& checkpoint);

// Empty for an outcome that this version does not know.
std::string checkpoint_line(const v1alpha1::CheckpointReport& checkpoint, const ConsoleStyle& style);

}  // namespace caravan
