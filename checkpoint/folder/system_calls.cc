#include "checkpoint/folder/system_calls.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace caravan::checkpoint {

int SystemCalls::open(int folder, const char* path, const open_how& how) {
  return static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof(how)));
}

int SystemCalls::status(int file, struct stat& status) {
  return ::fstat(file, &status);
}

int SystemCalls::status_at(int folder, const char* name, struct stat& status) {
  return ::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW);
}

ssize_t SystemCalls::read(int file, void* bytes, std::size_t count, off_t offset) {
  return ::pread(file, bytes, count, offset);
}

ssize_t SystemCalls::write(int file, const void* bytes, std::size_t count, off_t offset) {
  return ::pwrite(file, bytes, count, offset);
}

int SystemCalls::resize(int file, off_t length) {
  return ::ftruncate(file, length);
}

int SystemCalls::sync(int file) {
  return ::fsync(file);
}

int SystemCalls::sync_range(int file, off_t offset, off_t bytes, unsigned flags) {
  return ::sync_file_range(file, offset, bytes, flags);
}

int SystemCalls::forget_range(int file, off_t offset, off_t bytes) {
  return ::posix_fadvise(file, offset, bytes, POSIX_FADV_DONTNEED);
}

int SystemCalls::make_folder(int folder, const char* name) {
  return ::mkdirat(folder, name, 0777);
}

int SystemCalls::rename(int folder, const char* name, int new_folder, const char* new_name, unsigned flags) {
  return ::renameat2(folder, name, new_folder, new_name, flags);
}

int SystemCalls::remove(int folder, const char* name, int flags) {
  return ::unlinkat(folder, name, flags);
}

const dirent* SystemCalls::list(DIR* folder) {
  errno = 0;
  return ::readdir(folder);
}

SystemCalls& system_calls() {
  static SystemCalls calls;  // has no state
  return calls;
}

}  // namespace caravan::checkpoint
