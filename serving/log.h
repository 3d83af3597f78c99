// The log of a program on the cluster: one JSON object a line on standard error, with time, level, message,
// and fields of the event such as the job's namespace and name. Safe for any thread.
#pragma once

#include <spdlog/spdlog.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api/object.h"

namespace caravan {

struct LogField {
  std::string_view name;
  std::string value;
};

// level: debug, info, warning or error.
void start_log(const std::string& level);

void log_line(spdlog::level::level_enum level, std::string_view message,
              std::initializer_list<LogField> fields = {});
// With the fields namespace and job first.
void log_job(spdlog::level::level_enum level, const kube::ObjectKey& job, std::string_view message,
             std::initializer_list<LogField> fields = {});

// The members of the line's object after time and level; fields without a value are left out.
std::string log_members(std::string_view message, const std::vector<LogField>& fields);

}  // namespace caravan
