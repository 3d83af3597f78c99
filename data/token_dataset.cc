#include "data/token_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "data/token_paths.h"

namespace caravan::data {

TokenDataset::TokenDataset(std::vector<TokenFile> files) : files_(std::move(files)) {
  int64_t end = 0;
  for (const TokenFile& file : files_) ends_.push_back(end += file.layout().tokens);
}

Result<TokenDataset> TokenDataset::open(const std::string& path) {
  const Result<std::vector<std::string>> paths = find_token_files(path);
  if (!paths) return tl::unexpected(paths.error());
  std::vector<TokenFile> files;
  for (const std::string& file_path : *paths) {
    Result<TokenFile> file = TokenFile::open(file_path);
    if (!file) return tl::unexpected(file.error());
    files.push_back(std::move(*file));
  }
  return TokenDataset(std::move(files));
}

Status TokenDataset::read(int64_t begin, std::span<int64_t> output, int64_t vocabulary) const {
  const auto count = static_cast<int64_t>(output.size());
  if (begin < 0 || count > tokens() || begin > tokens() - count) {
    return bad_input(fmt::format("{}: {} tokens from {} on were asked for, but the dataset has {}",
                                 files_.front().path(), count, begin, tokens()));
  }
  auto file = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin());
  for (; !output.empty(); ++file) {
    const int64_t start = ends_[file] - files_[file].layout().tokens;
    const auto part = output.first(std::min(output.size(), static_cast<size_t>(ends_[file] - begin)));
    if (Status read = files_[file].read(begin - start, part, vocabulary); !read) return read;
    output = output.subspan(part.size());
    begin = ends_[file];
  }
  return {};
}

Status check_held_out(const TokenDataset& held_out, const TokenDataset& training) {
  std::map<FileId, const TokenFile*> trained;
  for (const TokenFile& file : training.files()) trained.emplace(file.id(), &file);
  for (const TokenFile& file : held_out.files()) {
    const auto found = trained.find(file.id());
    if (found == trained.end()) continue;
    return bad_input(fmt::format(
        "{}: is a file of the training data too ({}), so its loss would be that of what the model "
        "was trained on; keep it in another folder, and out of the pattern, of spec.data.path",
        file.path(), found->second->path()));
  }
  return {};
}

}  // namespace caravan::data
