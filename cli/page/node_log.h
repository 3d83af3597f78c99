// The log of a node of a run, read on by whoever looks at it: lines of all that the node logs or of one rank,
// whole but for one that is longer than a part, which comes in several.
//
// A file that is not there yet, or no longer, has no lines. Reading is bounded: so many bytes at a time, and
// the last lines are those among the last bytes of the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace caravan::cli {

// Up to where it has been read, and in the middle of which line that is.
struct NodeLogPlace {
  enum class In { kNoLine, kGiven, kPassedOver };

  std::uint64_t offset = 0;
  In in = In::kNoLine;
};

class NodeLog {
 public:
  static constexpr std::size_t kPartBytes = std::size_t{64} << 10;
  static constexpr std::size_t kTailBytes = std::size_t{4} << 20;

  using Place = NodeLogPlace;

  NodeLog(std::filesystem::path file, std::optional<int> rank, Place place = {})
      : file_(std::move(file)), rank_(rank), at_(place) {}

  // Goes to where the last so many lines begin.
  void seek_last(int lines);

  struct Part {
    std::string text = {};  // may be empty where lines of others were passed over
    bool is_end = false;    // there was nothing to read
  };
  // is_whole: nothing more is written, so that the last line may lack its end.
  Part next(bool is_whole);
  const Place& place() const { return at_; }

 private:
  std::optional<std::string_view> text_of(std::string_view line) const;
  void take(std::string_view piece, std::string& text);

  const std::filesystem::path file_;
  const std::optional<int> rank_;
  Place at_;
};

}  // namespace caravan::cli
