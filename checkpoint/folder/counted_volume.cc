#include "checkpoint/folder/counted_volume.h"

#include <utility>

namespace caravan::checkpoint {
namespace {

class Count {
 public:
  explicit Count(std::atomic<int64_t>& done) : done_(done) {}

  template <typename Outcome>
  Outcome operator()(Outcome outcome) const {
    if (outcome) ++done_;
    return outcome;
  }

 private:
  std::atomic<int64_t>& done_;
};

class CountedFile final : public OutputFile {
 public:
  CountedFile(std::unique_ptr<OutputFile> real, const Count& count) : real_(std::move(real)), count_(count) {}

  Status write(int64_t offset, std::span<const std::byte> bytes) override {
    return count_(real_->write(offset, bytes));
  }
  Status resize(int64_t length) override { return count_(real_->resize(length)); }
  Status sync() override { return count_(real_->sync()); }

 private:
  const std::unique_ptr<OutputFile> real_;
  const Count count_;
};

class CountedVolume final : public Volume {
 public:
  CountedVolume(std::unique_ptr<Volume> real, std::atomic<int64_t>& done)
      : real_(std::move(real)), count_(done) {}

  std::string shown(const std::string& path) const override { return real_->shown(path); }
  Result<std::vector<std::string>> names(const std::string& folder) const override {
    return count_(real_->names(folder));
  }
  Result<std::unique_ptr<InputFile>> open_input(const std::string& path) const override {
    return count_(real_->open_input(path));
  }
  Result<std::unique_ptr<OutputFile>> open_output(const std::string& path) override {
    auto file = count_(real_->open_output(path));
    if (!file) return file;
    return std::make_unique<CountedFile>(*std::move(file), count_);
  }
  Status make_folder(const std::string& path) override { return count_(real_->make_folder(path)); }
  Status sync_folder(const std::string& path) override { return count_(real_->sync_folder(path)); }
  Status rename(const std::string& from, const std::string& to) override {
    return count_(real_->rename(from, to));
  }
  Status remove_file(const std::string& path) override { return count_(real_->remove_file(path)); }
  Status remove_empty_folder(const std::string& path) override {
    return count_(real_->remove_empty_folder(path));
  }

 private:
  const std::unique_ptr<Volume> real_;
  const Count count_;
};

}  // namespace

std::unique_ptr<Volume> counted(std::unique_ptr<Volume> volume, std::atomic<int64_t>& done) {
  return std::make_unique<CountedVolume>(std::move(volume), done);
}

}  // namespace caravan::checkpoint
