#include "data/token_paths.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "data/read_error.h"

namespace caravan::data {
namespace {

namespace fs = std::filesystem;

Result<std::vector<std::string>> files_of_folder(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() == ".bin" && path.filename().string().front() != '.') files.push_back(path);
  }
  if (error) return read_error(fmt::format("{}: cannot list the folder", folder), error.value());
  if (files.empty()) {
    return failure(fmt::format(
        "{}: no token files (*.bin) in this folder; make one with `caravan data tokenize`", folder));
  }
  return files;
}

// Ends the search unless it is in the folder that ext4 has at the top of a volume, which only root may read.
int cannot_search(const char* folder, int error) {
  return error == EACCES && fs::path(folder).filename() == "lost+found" ? 0 : 1;
}

Result<std::vector<std::string>> files_of_glob(const std::string& pattern) {
  glob_t matches{};
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, cannot_search, &matches);
  const int error = errno;
  std::vector<std::string> files(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  ::globfree(&matches);
  if (code != 0 && code != GLOB_NOMATCH)
    return read_error(fmt::format("{}: cannot read the folders of this pattern", pattern), error);
  // A Megatron pair counts once, by its tokens.
  std::erase_if(files, [](const std::string& file) {
    std::error_code ignored;
    return fs::path(file).extension() == ".idx" || fs::is_directory(file, ignored);
  });
  if (files.empty()) return failure(fmt::format("{}: no file matches this pattern; check the path", pattern));
  return files;
}

}  // namespace

Result<std::vector<std::string>> find_token_files(const std::string& path) {
  if (path.empty()) return bad_input("the path of the token files is empty; give a file, a folder or a glob");
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  const bool pattern = path.find_first_of("*?[") != std::string::npos && !fs::exists(path, ignored);
  if (!folder && !pattern) return std::vector{path};
  auto files = folder ? files_of_folder(path) : files_of_glob(path);
  if (files) std::sort(files->begin(), files->end());
  return files;
}

}  // namespace caravan::data
