#include "worker/trainer/comm/shared_memory/shared_mapping.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace caravan::trainer {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

SharedMapping SharedMapping::make(std::size_t bytes) {
  UniqueFd fd(memfd_create("caravan-group", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.get() < 0) refuse("making shared memory");
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) refuse("sizing shared memory");
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) refuse("sealing shared memory");
  return {std::move(fd), bytes};
}

SharedMapping SharedMapping::open(pid_t process, int fd, std::size_t bytes) {
  const std::string path = fmt::format("/proc/{}/fd/{}", process, fd);
  UniqueFd opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (opened.get() < 0) refuse(path);
  return {std::move(opened), bytes};
}

SharedMapping::SharedMapping(UniqueFd fd, std::size_t bytes) : fd_(std::move(fd)), bytes_(bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (mapped == MAP_FAILED) refuse("mapping shared memory");
  data_ = static_cast<std::byte*>(mapped);
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : fd_(std::move(other.fd_)), bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}

SharedMapping::~SharedMapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace caravan::trainer
