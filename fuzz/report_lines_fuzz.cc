// Any bytes as what a rank sends its agent, the first of them the size of the chunks: however they are cut,
// the lines are the same, and of one that is too long nothing is read; a line is a report, which as JSON
// reads again to the same report, or an error with a message.
#include <cstddef>
#include <string>

#include "caravan/v1alpha1/rank.pb.h"
#include "common/json.h"
#include "fuzz/lines.h"
#include "fuzz/require.h"

namespace {

constexpr std::size_t kLongestLine = 2048;

void check_report(const std::string& line) {
  using caravan::fuzz::require;
  using caravan::v1alpha1::RankReport;
  const auto report = caravan::from_json<RankReport>(line);
  if (!report) return require(!report.error().message.empty(), "an error without a message", line);
  const std::string json = caravan::to_json(*report);
  const auto again = caravan::from_json<RankReport>(json);
  require(again.has_value(), "a report does not read again", json);
  require(caravan::to_json(*again) == json, "a report changes when it is read again", json);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const std::string& line : caravan::fuzz::lines_of(caravan::fuzz::text_of(data, size), kLongestLine))
    check_report(line);
  return 0;
}
