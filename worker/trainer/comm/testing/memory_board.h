// The board of ranks that are threads of one process.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "worker/trainer/comm/nccl/notice_board.h"

namespace caravan::trainer {

class MemoryBoard final : public NoticeBoard {
 public:
  void put(const std::string& key, const std::string& text) override {
    const std::scoped_lock lock(mutex_);
    if (unreachable) throw CommunicationError("connection reset by peer");
    notices_[key] = text;
  }
  std::optional<std::string> find(const std::string& key) override {
    const std::scoped_lock lock(mutex_);
    if (unreachable) throw CommunicationError("connection reset by peer");
    const auto found = notices_.find(key);
    return found == notices_.end() ? std::nullopt : std::optional<std::string>(found->second);
  }

  bool unreachable = false;

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> notices_;
};

}  // namespace caravan::trainer
