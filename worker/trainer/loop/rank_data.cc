#include "worker/trainer/loop/rank_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <span>
#include <utility>

#include "checkpoint/format/crc32c.h"
#include "worker/trainer/comm/gather_rows.h"
#include "worker/trainer/loop/rank.h"

namespace caravan::trainer {
namespace {

constexpr std::size_t kMostNamed = 8;

std::string words_of(const OpenedFiles& opened) {
  return fmt::format("{} file{} with {} tokens", opened.files, opened.files == 1 ? "" : "s", opened.tokens);
}

std::string names_of(const std::vector<int>& ranks) {
  const std::size_t named = std::min(ranks.size(), kMostNamed);
  std::string names =
      fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(std::span(ranks).first(named), ", "));
  if (named < ranks.size()) names += fmt::format(" and {} more", ranks.size() - named);
  return names;
}

bool reads(const OpenedFiles& opened) {
  return opened != OpenedFiles();
}

// The first rank of those that most of the readers are like; the end where nobody reads.
std::vector<OpenedFiles>::const_iterator usual_one(const std::vector<OpenedFiles>& opened) {
  std::map<std::array<int64_t, 3>, std::ptrdiff_t> counts;
  for (const OpenedFiles& each : opened) counts[{each.files, each.tokens, each.sum}] += reads(each) ? 1 : 0;
  return std::ranges::max_element(opened, {}, [&](const OpenedFiles& each) {
    return counts.at({each.files, each.tokens, each.sum});
  });
}

Outcome compare(Communicator& world, const OpenedFiles& own, const std::string& path) {
  std::vector<OpenedFiles> opened;
  for (const auto& [files, tokens, sum] : gather_rows<3>(
           world,
           {static_cast<double>(own.files), static_cast<double>(own.tokens), static_cast<double>(own.sum)})) {
    opened.push_back({static_cast<int64_t>(files), static_cast<int64_t>(tokens), static_cast<int64_t>(sum)});
  }
  const std::optional<DataDifference> other = difference(opened);
  if (!other) return {};
  const bool is_one = std::ranges::count(other->ranks, world.rank()) > 0;
  return tl::unexpected(TrainingFailure{
      is_one ? FailureReason::DataUnavailable : FailureReason::Communication,
      fmt::format("{}: {}; all nodes must see the same files: wait until nobody writes there any more, and "
                  "see whether it is the same folder on each",
                  path, other->what)});
}

}  // namespace

Result<RankData> open_data(const TrainerOptions& options) {
  const BatchOptions batches = batch_options(options);
  Result<BatchReader> training = BatchReader::open(options.data.path, batches);
  if (!training) return tl::unexpected(training.error());
  RankData data{.training = *std::move(training), .validation = std::nullopt};
  if (options.evaluation.every_steps == 0) return data;
  Result<BatchReader> validation = BatchReader::open(options.data.validation_path, batches);
  if (!validation) return tl::unexpected(validation.error());
  if (const data::TokenDataset* held_out = validation->tokens())
    data.held_out = data::check_held_out(*held_out, *data.training.tokens());
  data.validation = *std::move(validation);
  return data;
}

OpenedFiles opened_files(const BatchReader& reader) {
  const data::TokenDataset* const tokens = reader.tokens();
  if (tokens == nullptr) return {};
  std::string text;
  for (const data::TokenFile& file : tokens->files()) {
    const std::string name = std::filesystem::path(file.path()).filename();
    text += fmt::format("{}/{}/", name, file.layout().tokens);  // no name has a slash in it
  }
  return {.files = std::ssize(tokens->files()),
          .tokens = tokens->tokens(),
          .sum = checkpoint::crc32c(std::as_bytes(std::span(text)))};
}

std::optional<DataDifference> difference(const std::vector<OpenedFiles>& opened) {
  const auto usual = usual_one(opened);
  std::vector<int> others;
  for (auto each = opened.begin(); each != opened.end(); ++each)
    if (reads(*each) && *each != *usual) others.push_back(static_cast<int>(each - opened.begin()));
  if (others.empty()) return std::nullopt;
  const OpenedFiles& other = opened[static_cast<std::size_t>(others.front())];
  const bool is_as_many = other.files == usual->files && other.tokens == usual->tokens;
  std::string what =
      fmt::format("{} opened other files than rank {}: rank {} has {}, rank {} has {}", names_of(others),
                  usual - opened.begin(), usual - opened.begin(), words_of(*usual), others.front(),
                  is_as_many ? "as many, of other names or lengths" : words_of(other));
  return DataDifference{std::move(what), std::move(others)};
}

Outcome compare_data(Communicator& world, const RankData& own, const DataOptions& paths) {
  Outcome same = compare(world, opened_files(own.training), paths.path);
  if (!same || !own.validation) return same;
  return compare(world, opened_files(*own.validation), paths.validation_path);
}

}  // namespace caravan::trainer
