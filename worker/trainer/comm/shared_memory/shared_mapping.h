// Memory that several processes of one machine write to. It has no name in any file system: one process makes
// it, the others open it through /proc, which only processes of the same user may, and it goes with the last
// of them however they end. It is of memfd's, so the size of /dev/shm does not matter. What nobody writes to
// takes no memory.
//
// Both throw std::system_error.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "common/unique_fd.h"

namespace caravan::trainer {

class SharedMapping {
 public:
  // All zeros.
  static SharedMapping make(std::size_t bytes);
  // What `process` made, and holds as descriptor `fd`.
  static SharedMapping open(pid_t process, int fd, std::size_t bytes);

  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&&) = delete;
  ~SharedMapping();

  std::byte* data() const { return data_; }
  int fd() const { return fd_.get(); }

 private:
  SharedMapping(UniqueFd fd, std::size_t bytes);

  UniqueFd fd_;
  std::size_t bytes_;
  std::byte* data_;
};

}  // namespace caravan::trainer
