// Where the last lines begin that a rank prints: the API server counts the lines of all ranks together. Pure.
#pragma once

#include <deque>
#include <optional>
#include <string_view>

#include "operator/view/log_scanner.h"

namespace caravan::controller {

class LastLines {
 public:
  LastLines(int rank, int most) : scanner_(rank, {}), most_(static_cast<std::size_t>(most)) {}

  ScanResult<void> take(std::string_view raw);
  // The last line may lack its end.
  ScanResult<void> end();
  // They follow behind this place; nothing: at the beginning of the log.
  std::optional<LogPlace> place() const { return begins_.empty() ? scanner_.place() : begins_.front(); }

 private:
  void count(const std::optional<LogPlace>& begin, std::string_view text);

  LogScanner scanner_;
  const std::size_t most_;
  std::deque<std::optional<LogPlace>> begins_ = {};
  bool is_amid_line_ = false;
};

}  // namespace caravan::controller
