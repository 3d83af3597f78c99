// For tests: the calls of a volume, of which one fails as on a disk that is full or broken.
//
// Nothing is synced, since no test loses its power.
#pragma once

#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/folder/system_calls.h"

namespace caravan::checkpoint::testing {

class FailingCalls : public SystemCalls {
 public:
  std::optional<std::size_t> fails_at;  // the call of that number, once
  int error = EIO;

  // In their order.
  const std::vector<std::string>& names() const { return names_; }
  std::size_t count() const { return names_.size(); }
  // From now on calls are numbered from 0.
  void forget() { names_.clear(); }

  int open(int folder, const char* path, const open_how& how) override {
    return perform("open", [&] { return SystemCalls::open(folder, path, how); });
  }
  int status(int file, struct stat& status) override {
    return perform("status", [&] { return SystemCalls::status(file, status); });
  }
  int status_at(int folder, const char* name, struct stat& status) override {
    return perform("status_at", [&] { return SystemCalls::status_at(folder, name, status); });
  }
  ssize_t read(int file, void* bytes, std::size_t count, off_t offset) override {
    return perform("read", [&] { return SystemCalls::read(file, bytes, count, offset); });
  }
  ssize_t write(int file, const void* bytes, std::size_t count, off_t offset) override {
    return perform("write", [&] { return SystemCalls::write(file, bytes, count, offset); });
  }
  int resize(int file, off_t length) override {
    return perform("resize", [&] { return SystemCalls::resize(file, length); });
  }
  int sync(int) override {
    return perform("sync", [] { return 0; });
  }
  int sync_range(int file, off_t offset, off_t bytes, unsigned flags) override {
    return perform("sync_range", [&] { return SystemCalls::sync_range(file, offset, bytes, flags); });
  }
  int forget_range(int file, off_t offset, off_t bytes) override {
    return perform("forget_range", [&] { return SystemCalls::forget_range(file, offset, bytes); });
  }
  int make_folder(int folder, const char* name) override {
    return perform("make_folder", [&] { return SystemCalls::make_folder(folder, name); });
  }
  int rename(int folder, const char* name, int new_folder, const char* new_name, unsigned flags) override {
    return perform("rename", [&] { return SystemCalls::rename(folder, name, new_folder, new_name, flags); });
  }
  int remove(int folder, const char* name, int flags) override {
    return perform("remove", [&] { return SystemCalls::remove(folder, name, flags); });
  }
  const dirent* list(DIR* folder) override {
    if (fails_now("list")) {
      errno = error;
      return nullptr;
    }
    return SystemCalls::list(folder);
  }

 private:
  bool fails_now(const char* name) {
    names_.emplace_back(name);
    return fails_at == names_.size() - 1;
  }

  template <typename Call>
  auto perform(const char* name, Call call) -> decltype(call()) {
    if (!fails_now(name)) return call();
    errno = error;
    return -1;
  }

  std::vector<std::string> names_;
};

}  // namespace caravan::checkpoint::testing
