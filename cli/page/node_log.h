// The log of a node of a run, read on by whoever looks at it: whole lines, of all that the node logs or of
// one rank.
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

class NodeLog {
 public:
  static constexpr std::size_t kPartBytes = std::size_t{64} << 10;
  static constexpr std::size_t kTailBytes = std::size_t{4} << 20;

  // offset: where in the file it goes on.
  NodeLog(std::filesystem::path file, std::optional<int> rank, std::uint64_t offset = 0)
      : file_(std::move(file)), rank_(rank), offset_(offset) {}

  // Goes to where the last so many lines begin.
  void seek_last(int lines);

  struct Part {
    std::string text = {};  // may be empty where lines of others were passed over
    bool is_end = false;    // there was nothing to read
  };
  // is_whole: nothing more is written, so that the last line may lack its end.
  Part next(bool is_whole);
  std::uint64_t offset() const { return offset_; }

 private:
  bool is_wanted(std::string_view line) const;
  void append(std::string_view line, std::string& to) const;

  const std::filesystem::path file_;
  const std::optional<int> rank_;
  std::uint64_t offset_;
};

}  // namespace caravan::cli
