#include "fuzz/token_dataset_checks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "common/testing/temporary_folder.h"
#include "data/dataset_facts.h"
#include "data/token_dataset.h"

namespace caravan::fuzz {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check_error(const Error& error, const test::TemporaryFolder& folder) {
  require(error.code == ExitCode::kBadInput, "the error is not bad input");
  require(error.message.starts_with(folder.path("tokens.")), "the message names no file");
}

bool any_below_zero_or_from(int64_t vocabulary, const std::vector<int64_t>& tokens) {
  return std::any_of(tokens.begin(), tokens.end(),
                     [=](int64_t token) { return token < 0 || token >= vocabulary; });
}

void check_reads(const data::TokenDataset& dataset, const test::TemporaryFolder& folder) {
  require(dataset.tokens() > 0, "a dataset without tokens");
  std::vector<int64_t> whole(static_cast<std::size_t>(dataset.tokens()));
  for (const int64_t vocabulary : {int64_t{100}, std::numeric_limits<int64_t>::max()}) {
    const Status read = dataset.read(0, whole, vocabulary);
    require(read.has_value() != any_below_zero_or_from(vocabulary, whole), "the vocabulary is not kept");
    if (!read) check_error(read.error(), folder);
  }
  std::vector<int64_t> half(whole.size() / 2);
  const int64_t begin = dataset.tokens() - static_cast<int64_t>(half.size());
  const bool readable = dataset.read(begin, half, std::numeric_limits<int64_t>::max()).has_value();
  require(!readable || std::equal(half.begin(), half.end(), whole.begin() + begin),
          "a part differs from the whole");
  require(!dataset.read(begin + 1, whole, std::numeric_limits<int64_t>::max()), "tokens after the end");
}

}  // namespace

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void check_dataset(const test::TemporaryFolder& folder) {
  const auto dataset = data::TokenDataset::open(folder.path("tokens.bin"));
  if (!dataset) return check_error(dataset.error(), folder);
  check_reads(*dataset, folder);
  if (const auto facts = data::examine(*dataset); !facts) check_error(facts.error(), folder);
}

}  // namespace caravan::fuzz
