// The content of a file that is replaced from time to time, such as a projected token.
//
// It is read again when what we have is 50 s old: tokens must be at most 60 s old, and 10 s are for the way.
// When the file cannot be read, or is empty in the moment of its replacement, the last content stays. Safe
// from several threads.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/result.h"

namespace caravan::kube {

// Without spaces and line ends around it.
std::string trimmed(const std::string& text);

class RereadFile {
 public:
  static constexpr std::chrono::seconds kOldest{50};

  RereadFile(std::string path, Clock& clock) : path_(std::move(path)), clock_(clock) {}

  // Trimmed. An error only when the file was never read.
  Result<std::string> get();
  // The next get() reads.
  void forget();

 private:
  std::string path_;
  Clock& clock_;
  std::mutex mutex_;
  std::string content_;
  std::optional<Clock::TimePoint> read_at_;
};

}  // namespace caravan::kube
