// A regular file, opened for reading at given positions from any thread.
//
// Token files are read with pread rather than mapped: a file that shrinks or a disk that fails while a job
// runs is then an error that names the file, where a mapping would kill the process with SIGBUS. Callers copy
// tokens into wider integers anyhow, and the pages come from the same cache. Errors: what is wrong with the
// file has exit code 2, a machine or disk that fails another (read_error.h), and so a file that becomes
// shorter.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "common/result.h"
#include "common/unique_fd.h"

namespace caravan::data {

// The same under whatever name.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

class InputFile {
 public:
  static Result<InputFile> open(const std::string& path);

  const std::string& path() const { return path_; }
  const FileId& id() const { return id_; }
  int64_t size() const { return size_; }  // when it was opened

  // Fills all of `output`, or fails: the file may have become shorter since it was opened.
  Status read(int64_t offset, std::span<std::byte> output) const;
  // All of it.
  Result<std::string> text() const;

 private:
  InputFile(std::string path, const FileId& id, UniqueFd descriptor, int64_t size)
      : path_(std::move(path)), id_(id), descriptor_(std::move(descriptor)), size_(size) {}

  std::string path_;
  FileId id_;
  UniqueFd descriptor_;
  int64_t size_;
};

}  // namespace caravan::data
