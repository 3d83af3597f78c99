// The lines of a log that comes in parts, of which any may end in the middle of a line. Pure.
#pragma once

#include <string>
#include <string_view>

#include "cli/cluster/log_question.h"

namespace caravan::cli {

class LogLines {
 public:
  // A line that is longer comes in parts, too.
  static constexpr std::size_t kLongest = std::size_t{1} << 20;

  explicit LogLines(const TakeLine& take) : take_(take) {}

  // pod: that printed it; a line does not go on in another one's log.
  void add(const std::string& pod, std::string_view text);
  // The last line may lack its end.
  void finish();

 private:
  const TakeLine& take_;
  std::string pod_;
  std::string begun_;
};

}  // namespace caravan::cli
