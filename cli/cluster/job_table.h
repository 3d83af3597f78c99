// Jobs as a table for people, and times as they read them. Pure.
#pragma once

#include <string>
#include <vector>

#include "operator/api/job_object.h"

namespace caravan::cli {

struct TableLook {
  bool wide = false;  // with step, loss, speed, memory and checkpoint
  bool with_namespace = false;
  controller::TimePoint now = {};
  int width = 0;  // columns; 0: any
};

std::string job_table(const std::vector<controller::Job>& jobs, const TableLook& look);

// "45s", "3m20s", "2h13m", "3d04h"; empty for a time that is none.
std::string age_text(controller::TimePoint since, controller::TimePoint now);
std::string age_text(const std::string& since, controller::TimePoint now);

// "41.7 %" of a figure in the status; empty for none, and for "-", which the operator writes of an unknown
// one.
std::string percent_text(const std::string& figure);

// "41.7 % (43.0)": the second is the prediction; empty where both are.
std::string against(const std::string& now, const std::string& predicted);

}  // namespace caravan::cli
