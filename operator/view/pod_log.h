// Lines of the logs of a job's pods: what of them belongs to one rank, and which node holds a rank. Pure.
//
// An agent writes "TIME LEVEL agent-NODE: TEXT"; what one of its ranks printed is "rank RANK: TEXT" there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "operator/api/job_object.h"

namespace caravan::cli {

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

// By the plan; 0 before there is one.
int ranks_per_node(const controller::Job& job);

}  // namespace caravan::cli
