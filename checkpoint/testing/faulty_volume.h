// For tests: a volume that remembers every operation that changes it, in order, and can fail from one of them
// on, as a disk does that is full or a machine that loses its power.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/folder/volume.h"

namespace caravan::checkpoint::testing {

// Does the operation again on another volume.
using Operation = std::function<Status(Volume&)>;

class FaultyVolume final : public Volume {
 public:
  explicit FaultyVolume(Volume& real) : real_(real) {}

  // The operation of that number fails once, or it and all that follow; absent: none.
  std::optional<std::size_t> fails_at;
  bool fails_from_then_on = false;
  std::function<void()> before = [] {};  // each operation

  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<std::string>& descriptions() const { return descriptions_; }

  std::string shown(const std::string& path) const override { return real_.shown(path); }
  Result<std::vector<std::string>> names(const std::string& folder) const override {
    return real_.names(folder);
  }
  Result<std::unique_ptr<InputFile>> open_input(const std::string& path) const override {
    return real_.open_input(path);
  }
  Result<std::unique_ptr<OutputFile>> open_output(const std::string& path) override {
    const Status made = perform("create " + path, [path](Volume& volume) {
      return volume.open_output(path).map([](const auto&) {});
    });
    if (!made) return tl::unexpected(made.error());
    return std::make_unique<File>(*this, path);
  }
  Status make_folder(const std::string& path) override {
    return perform("make " + path, [path](Volume& volume) { return volume.make_folder(path); });
  }
  Status sync_folder(const std::string& path) override {
    return perform("sync folder " + path, [path](Volume& volume) { return volume.sync_folder(path); });
  }
  Status rename(const std::string& from, const std::string& to) override {
    return perform("rename " + from, [from, to](Volume& volume) { return volume.rename(from, to); });
  }
  Status remove_file(const std::string& path) override {
    return perform("remove " + path, [path](Volume& volume) { return volume.remove_file(path); });
  }
  Status remove_empty_folder(const std::string& path) override {
    return perform("remove " + path, [path](Volume& volume) { return volume.remove_empty_folder(path); });
  }

 private:
  class File final : public OutputFile {
   public:
    File(FaultyVolume& volume, std::string path) : volume_(volume), path_(std::move(path)) {}
    Status write(int64_t offset, std::span<const std::byte> bytes) override {
      const std::vector<std::byte> copy(bytes.begin(), bytes.end());
      return volume_.perform("write " + path_, [path = path_, offset, copy](Volume& volume) {
        return volume.open_output(path).and_then([&](const auto& file) { return file->write(offset, copy); });
      });
    }
    Status resize(int64_t length) override {
      return volume_.perform("resize " + path_, [path = path_, length](Volume& volume) {
        return volume.open_output(path).and_then([&](const auto& file) { return file->resize(length); });
      });
    }
    Status sync() override {
      return volume_.perform("sync " + path_, [path = path_](Volume& volume) {
        return volume.open_output(path).and_then([](const auto& file) { return file->sync(); });
      });
    }

   private:
    FaultyVolume& volume_;
    const std::string path_;
  };

  Status perform(const std::string& description, const Operation& operation) {
    before();
    const std::size_t number = operations_.size();
    operations_.push_back(operation);
    descriptions_.push_back(description);
    if (fails_at && (number == *fails_at || (fails_from_then_on && number > *fails_at)))
      return failure(real_.shown(description) + ": No space left on device");
    return operation(real_);
  }

  Volume& real_;
  std::vector<Operation> operations_;
  std::vector<std::string> descriptions_;
};

}  // namespace caravan::checkpoint::testing
