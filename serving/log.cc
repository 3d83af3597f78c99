#include "serving/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "common/json.h"

namespace caravan {

void start_log(const std::string& level) {
  auto logger = spdlog::stderr_logger_mt("log");
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})", spdlog::pattern_time_type::utc));
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

void log_line(spdlog::level::level_enum level, std::string_view message,
              std::initializer_list<LogField> fields) {
  spdlog::default_logger_raw()->log(level, log_members(message, fields));
}

void log_job(spdlog::level::level_enum level, const kube::ObjectKey& job, std::string_view message,
             std::initializer_list<LogField> fields) {
  std::vector<LogField> all{{"namespace", job.name_space}, {"job", job.name}};
  all.insert(all.end(), fields.begin(), fields.end());
  spdlog::default_logger_raw()->log(level, log_members(message, all));
}

std::string log_members(std::string_view message, const std::vector<LogField>& fields) {
  std::string text = fmt::format(R"("message":{})", json_string(message));
  for (const LogField& field : fields) {
    if (!field.value.empty()) text += fmt::format(R"(,"{}":{})", field.name, json_string(field.value));
  }
  return text;
}

}  // namespace caravan
