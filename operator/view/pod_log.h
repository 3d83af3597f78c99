// The logs of a job's pods: whose pods they are, what the API server is asked for, what of a line belongs to
// one rank. Pure.
//
// An agent writes "TIME LEVEL agent-NODE: TEXT"; what one of its ranks printed is "rank RANK: TEXT" there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/api/json.h"
#include "kube/api/resource_path.h"
#include "operator/view/pod_view.h"

namespace caravan::controller {

// A selector of the pods of all attempts, of one node or of all.
std::string pods_selector(const std::string& job_uid, std::optional<int> node = {});
// The pod of the node's latest attempt; nothing when it has none.
std::optional<PodView> newest_pod(const kube::JsonArray& pods, int node);

// For the subresource "log": what the agent and its ranks print, each line with its time. Others may have put
// containers of their own beside it.
kube::Query log_query();

// A line that the API server was asked to give with its time.
struct StampedLine {
  std::string_view time;  // empty: it has none
  std::string_view text;
};
StampedLine stamped(std::string_view line);

// Such a time without its fraction, as the server takes them: "2026-01-01T00:00:02+02:00".
std::string in_whole_seconds(std::string_view time);

// What the rank printed; nothing for a line that is not the rank's.
std::optional<std::string_view> text_of_rank(std::string_view line, int rank);

}  // namespace caravan::controller
