#include "operator/view/pod_log.h"

#include <fmt/format.h>

#include "operator/api/names.h"

namespace caravan::controller {

std::string pods_selector(const std::string& job_uid, std::optional<int> node) {
  std::string selector = fmt::format("{}={}", labels::kJobUid, job_uid);
  if (node) selector += fmt::format(",{}={}", labels::kNodeIndex, *node);
  return selector;
}

std::optional<PodView> newest_pod(const kube::JsonArray& pods, int node) {
  std::optional<PodView> newest;
  for (const kube::Json& object : pods) {
    PodView pod = read_pod(object);
    if (pod.node == node && (!newest || pod.attempt >= newest->attempt)) newest = std::move(pod);
  }
  return newest;
}

kube::Query log_query() {
  return {{"container", kWorkerContainer}, {"timestamps", "true"}};
}

StampedLine stamped(std::string_view line) {
  const std::size_t space = line.find(' ');
  const bool has_time = space != std::string_view::npos && space > 20 && line[10] == 'T';
  if (!has_time) return {.time = {}, .text = line};
  return {.time = line.substr(0, space), .text = line.substr(space + 1)};
}

std::string in_whole_seconds(std::string_view time) {
  const std::size_t point = time.find('.');
  if (point == std::string_view::npos) return std::string(time);
  const std::size_t zone = time.find_first_not_of("0123456789", point + 1);
  return fmt::format("{}{}", time.substr(0, point), zone == std::string_view::npos ? "Z" : time.substr(zone));
}

std::optional<std::string_view> text_of_rank(std::string_view line, int rank) {
  const std::size_t agent = line.find(" agent-");
  const std::size_t colon = agent == std::string_view::npos ? agent : line.find(": ", agent);
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view text = line.substr(colon + 2);
  const std::string sign = fmt::format("rank {}: ", rank);
  return text.starts_with(sign) ? std::optional(text.substr(sign.size())) : std::nullopt;
}

}  // namespace caravan::controller
