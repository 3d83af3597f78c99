// The folder of a job's checkpoints, as its files are written and read: the few operations of the file system
// that a commit is made of, so that a test can record them, cut them off and let them fail.
//
// Paths are relative to the folder and stay in it: no `..`, no absolute path and, unless Links says
// otherwise, no symbolic link is followed (openat2(2)). What is written is durable only when the file was
// synced and, for its name, the folder. Errors name the path and say what to do; their code is kBadInput
// where the content is wrong (a link, a missing file, a folder in place of a file) and kJobFailed where
// machine or volume fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/folder/system_calls.h"
#include "common/result.h"

namespace caravan::checkpoint {

class OutputFile {
 public:
  virtual ~OutputFile() = default;
  virtual Status write(int64_t offset, std::span<const std::byte> bytes) = 0;
  // Longer by zeros that take no room yet, or shorter.
  virtual Status resize(int64_t length) = 0;
  virtual Status sync() = 0;
};

class InputFile {
 public:
  virtual ~InputFile() = default;
  virtual int64_t size() const = 0;  // when it was opened
  // Fills all of `bytes`, or fails.
  virtual Status read(int64_t offset, std::span<std::byte> bytes) const = 0;
  // So that what is read of it next comes from the disk and not from this machine's memory. Advice.
  virtual void forget(int64_t offset, int64_t bytes) const = 0;
};

class Volume {
 public:
  virtual ~Volume() = default;

  // For people: where a path of this volume is.
  virtual std::string shown(const std::string& path) const = 0;

  virtual Result<std::vector<std::string>> names(const std::string& folder) const = 0;  // sorted
  virtual Result<std::unique_ptr<InputFile>> open_input(const std::string& path) const = 0;

  // Made where it is absent; several processes may write one file.
  virtual Result<std::unique_ptr<OutputFile>> open_output(const std::string& path) = 0;
  virtual Status make_folder(const std::string& path) = 0;  // must not be there
  // Nothing where the file system has no such operation.
  virtual Status sync_folder(const std::string& path) = 0;
  // Never replaces anything.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  // What is not there is removed: a server may have done it and be asked again (NFS).
  virtual Status remove_file(const std::string& path) = 0;
  // The same of a folder.
  virtual Status remove_empty_folder(const std::string& path) = 0;
  // With all its files, one by one; folders in it are an error. One that stays keeps no other: the first
  // error is told.
  Status remove_folder(const std::string& path);
};

// Followed: what is opened for reading may be a link to anywhere, for folders that other programs have made.
// Nothing is written through a link in any case.
enum class Links { Refused, Followed };

// The folder must be there. "" and "." are the folder itself. calls: outlive the volume and its files.
Result<std::unique_ptr<Volume>> open_volume(const std::string& path, Links links = Links::Refused,
                                            SystemCalls& calls = system_calls());
// Makes the folder and those above it where they are absent.
Result<std::unique_ptr<Volume>> make_volume(const std::string& path);

// All of a file that has at most so many bytes.
Result<std::string> read_text(const Volume& volume, const std::string& path, int64_t most_bytes);
// Writes the file and makes its bytes durable.
Status write_text(Volume& volume, const std::string& path, const std::string& text);

}  // namespace caravan::checkpoint
