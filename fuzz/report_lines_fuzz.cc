// Any bytes as the lines that a rank sends its agent: a line is a report, which as JSON reads again to the
// same report, or an error with a message.
#include <cstddef>
#include <sstream>
#include <string>

#include "caravan/v1alpha1/rank.pb.h"
#include "common/json.h"
#include "fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using caravan::fuzz::require;
  using caravan::v1alpha1::RankReport;
  std::istringstream lines{std::string(caravan::fuzz::text_of(data, size))};
  for (std::string line; std::getline(lines, line);) {
    const auto report = caravan::from_json<RankReport>(line);
    if (!report) {
      require(!report.error().message.empty(), "an error without a message", line);
      continue;
    }
    const std::string json = caravan::to_json(*report);
    const auto again = caravan::from_json<RankReport>(json);
    require(again.has_value(), "a report does not read again", json);
    require(caravan::to_json(*again) == json, "a report changes when it is read again", json);
  }
  return 0;
}
