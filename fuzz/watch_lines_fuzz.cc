// Any bytes as the body of a watch: however they are cut into chunks, the lines are the same; an event asks
// for a version only that the server gave, and never ends the watch for good.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "fuzz/require.h"
#include "kube/watch/json_lines.h"
#include "kube/watch/watch_machine.h"

namespace {

using caravan::fuzz::require;
using namespace caravan::kube;

constexpr std::size_t kLongestLine = 4096;

// Nothing more after a line that is too long.
std::vector<std::string> lines_of(std::string_view bytes, std::size_t chunk) {
  JsonLines reader(kLongestLine);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < bytes.size(); at += chunk) {
    reader.add(bytes.substr(at, chunk));
    for (auto line = reader.next();; line = reader.next()) {
      if (!line) return lines;
      if (!line->has_value()) break;
      require(!(*line)->empty(), "a line is empty", bytes);
      require((*line)->find('\n') == std::string::npos, "a line has an end in it", **line);
      lines.push_back(std::move(**line));
    }
  }
  return lines;
}

void check_event(const Json& event, std::string_view text) {
  WatchState state;
  state.resource_version = "7";
  const WatchStep next = step(std::move(state), EventReceived{event}, {.now = {}, .random = 0});
  if (std::holds_alternative<ReadEvent>(next.action))
    require(!next.state.resource_version.empty(), "a watch goes on from no version", text);
  for (const CacheUpdate& update : next.updates) {
    const auto* advance = std::get_if<Advance>(&update);
    if (advance != nullptr) require(!advance->resource_version.empty(), "a bookmark without a version", text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = caravan::fuzz::text_of(data + 1, size - 1);
  const std::vector<std::string> lines = lines_of(bytes, std::max<std::size_t>(1, bytes.size()));
  // A chunk may hold whole lines before one that is too long; single bytes always show them.
  if (bytes.size() < kLongestLine)
    require(lines == lines_of(bytes, std::max<std::size_t>(1, data[0])), "the lines depend on the chunks",
            bytes);
  for (const std::string& line : lines) {
    if (const auto event = parse_json(line, "an event")) check_event(*event, line);
  }
  return 0;
}
