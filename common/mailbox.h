// A queue from many threads to one, whose descriptor is readable while something is in it.
#pragma once

#include <sys/eventfd.h>

#include <mutex>
#include <utility>
#include <vector>

#include "common/unique_fd.h"

namespace caravan {

template <typename T>
class Mailbox {
 public:
  Mailbox() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void post(T item) {
    const std::scoped_lock lock(mutex_);
    items_.push_back(std::move(item));
    eventfd_write(event_.get(), 1);
  }

  std::vector<T> take() {
    const std::scoped_lock lock(mutex_);
    eventfd_t ignored = 0;
    eventfd_read(event_.get(), &ignored);
    return std::exchange(items_, {});
  }

  int fd() const { return event_.get(); }

 private:
  UniqueFd event_;
  std::mutex mutex_;
  std::vector<T> items_;
};

}  // namespace caravan
