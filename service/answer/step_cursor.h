// The `cursor` of a message of StreamMetrics, with which its reader goes on. Pure.
#pragma once

#include <string>

#include "operator/api/step_cursor.h"
#include "service/answer/fault.h"

namespace caravan::service {

using controller::StepCursor;

// job: what tells it from every other one, as its uid.
std::string text_of(StepCursor at, const std::string& job);
// Of an empty text: before the first step.
Answer<StepCursor> step_cursor_of(const std::string& text, const std::string& job);

}  // namespace caravan::service
