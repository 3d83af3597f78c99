// The calls of Linux that a volume makes, one function each, so that a test can have any of them fail as a
// disk or a server does.
//
// As in section 2 of the manual: a negative result, or of list() a null pointer, with the reason in errno.
#pragma once

#include <dirent.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>

namespace caravan::checkpoint {

class SystemCalls {
 public:
  virtual ~SystemCalls() = default;

  virtual int open(int folder, const char* path, const open_how& how);
  virtual int status(int file, struct stat& status);
  virtual int status_at(int folder, const char* name, struct stat& status);  // of a link itself
  virtual ssize_t read(int file, void* bytes, std::size_t count, off_t offset);
  virtual ssize_t write(int file, const void* bytes, std::size_t count, off_t offset);
  virtual int resize(int file, off_t length);
  virtual int sync(int file);
  virtual int sync_range(int file, off_t offset, off_t bytes, unsigned flags);
  virtual int forget_range(int file, off_t offset, off_t bytes);  // that the page cache has
  virtual int make_folder(int folder, const char* name);
  virtual int rename(int folder, const char* name, int new_folder, const char* new_name, unsigned flags);
  virtual int remove(int folder, const char* name, int flags);
  virtual const dirent* list(DIR* folder);  // null without an errno: the end
};

// Those of the kernel.
SystemCalls& system_calls();

}  // namespace caravan::checkpoint
