// A file that becomes visible under its name when it is complete, or never.
//
// It is written under a hidden name beside its place and renamed at the end; whatever happens before (a full
// disk, an error, an interruption that unwinds) leaves nothing behind. What has the name meanwhile is
// replaced only where that was asked for. Errors name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "common/result.h"
#include "common/unique_fd.h"

namespace caravan::data {

class TemporaryFile {
 public:
  // An existing file at `path` is an error (exit code 2) unless `replace`.
  static Result<TemporaryFile> create(const std::string& path, bool replace);

  TemporaryFile(TemporaryFile&& other) noexcept = default;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  const std::string& path() const { return path_; }

  Status write(int64_t offset, std::span<const std::byte> bytes);
  Status read(int64_t offset, std::span<std::byte> bytes) const;
  Status resize(int64_t size);
  // Makes the content durable.
  Status sync();
  // Nothing may be written afterwards.
  Status give_name();
  // Makes the name durable. An error says that the file has it.
  Status sync_name() const;
  // All three, in this order.
  Status commit();

 private:
  TemporaryFile(std::string path, std::string hidden_path, UniqueFd descriptor, bool replace)
      : path_(std::move(path)),
        hidden_path_(std::move(hidden_path)),
        descriptor_(std::move(descriptor)),
        replace_(replace) {}

  std::string path_;
  std::string hidden_path_;  // until it has its name
  UniqueFd descriptor_;      // open until then
  bool replace_;
};

}  // namespace caravan::data
