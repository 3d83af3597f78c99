// Short texts that the ranks of a job leave for each other, for when the device's lanes have stopped.
//
// Neither waits for another rank. Throws CommunicationError when the board cannot be reached.
#pragma once

#include <optional>
#include <string>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

class NoticeBoard {
 public:
  virtual ~NoticeBoard() = default;
  virtual void put(const std::string& key, const std::string& text) = 0;
  virtual std::optional<std::string> find(const std::string& key) = 0;
};

}  // namespace caravan::trainer
