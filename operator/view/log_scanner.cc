#include "operator/view/log_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/utf8.h"
#include "kube/api/timestamp.h"
#include "operator/view/pod_log.h"

namespace caravan::controller {
namespace {

// What says whose line it is stands at its beginning; so much of it is held until that is known.
constexpr std::size_t kLongestHead = 512;
constexpr std::size_t kLongestWords = 256;  // of the server, that are shown

std::size_t through(std::string_view raw, std::string_view ends) {
  const std::size_t at = raw.find_first_of(ends);
  return at == std::string_view::npos ? raw.size() : at + 1;
}

tl::unexpected<LogFlaw> lost() {
  return tl::unexpected(LogFlaw{.is_lost = true});
}

}  // namespace

std::string log_time_before(Clock::WallTime time, std::chrono::seconds by) {
  const Clock::WallTime begin{};
  return in_whole_seconds(kube::to_timestamp(time - begin > by ? time - by : begin));
}

std::string since_of(const LogPlace& place) {
  const auto time = kube::parse_timestamp(place.time);
  return time ? log_time_before(*time, LogScanner::kDisorder) : "";
}

std::string sentence_of(const LogFlaw& flaw, const std::string& pod) {
  if (flaw.is_lost) {
    return fmt::format(
        "what comes next in the log of pod {} is gone: the log was rotated, or the pod was deleted", pod);
  }
  return fmt::format("the machine of pod {} gives no log of it: {}", pod,
                     readable_line(flaw.words, kLongestWords));
}

LogScanner::LogScanner(std::optional<int> rank, std::optional<LogPlace> from)
    : rank_(rank), sought_(std::move(from)) {}

ScanResult<void> LogScanner::take(std::string_view raw, std::string& text) {
  while (!raw.empty()) {
    if (in_ == In::kHead) {
      const std::size_t taken = bytes_of_head(raw);
      head_ += raw.substr(0, taken);
      raw.remove_prefix(taken);
      if (!head_is_whole()) continue;
      if (auto begun = take_head(text); !begun) return begun;
      continue;
    }
    std::size_t taken = through(raw, "\n");
    if (is_on_sought_line()) taken = std::min<std::size_t>(taken, sought_->bytes - at_->bytes);
    const std::string_view piece = raw.substr(0, taken);
    raw.remove_prefix(taken);
    if (in_ == In::kGiven && !sought_) text += piece;
    if (piece.ends_with('\n')) in_ = In::kHead;
    if (auto gone_on = advance(taken); !gone_on) return gone_on;
  }
  return {};
}

ScanResult<void> LogScanner::end(std::string& text) {
  if (!head_.empty()) {
    if (auto begun = take_head(text); !begun) return begun;
  }
  return sought_ ? lost() : ScanResult<void>();
}

std::size_t LogScanner::bytes_of_head(std::string_view raw) const {
  return std::min(through(raw, rank_ ? "\n" : " \n"), kLongestHead - head_.size());
}

bool LogScanner::head_is_whole() const {
  return head_.ends_with('\n') || head_.size() == kLongestHead || (!rank_ && !stamped(head_).time.empty());
}

ScanResult<void> LogScanner::take_head(std::string& text) {
  const bool is_whole_line = head_.ends_with('\n');
  const std::string_view line = std::string_view(head_).substr(0, head_.size() - (is_whole_line ? 1 : 0));
  const StampedLine parts = stamped(line);
  if (parts.time.empty()) return tl::unexpected(LogFlaw{.words = std::string(line)});
  if (auto begun = begin_line(parts.time); !begun) return begun;
  const auto shown = rank_ ? text_of_rank(parts.text, *rank_) : std::optional(parts.text);
  if (shown && !sought_) {
    text += *shown;
    if (is_whole_line) text += '\n';
  }
  in_ = is_whole_line ? In::kHead : shown ? In::kGiven : In::kPassedOver;
  return advance(std::exchange(head_, {}).size());
}

ScanResult<void> LogScanner::begin_line(std::string_view time) {
  const int same_time = at_ && at_->time == time ? at_->same_time + 1 : 1;
  at_ = LogPlace{.time = std::string(time), .same_time = same_time};
  if (!sought_) return {};
  const auto now = kube::parse_timestamp(time);
  const auto sought = kube::parse_timestamp(sought_->time);
  return now && sought && *now <= *sought + kDisorder ? ScanResult<void>() : lost();
}

bool LogScanner::is_on_sought_line() const {
  return sought_ && at_ && at_->time == sought_->time && at_->same_time == sought_->same_time;
}

ScanResult<void> LogScanner::advance(std::size_t bytes) {
  at_->bytes += bytes;
  if (!is_on_sought_line()) return {};
  if (at_->bytes > sought_->bytes) return lost();
  if (at_->bytes == sought_->bytes) sought_.reset();
  return {};
}

}  // namespace caravan::controller
