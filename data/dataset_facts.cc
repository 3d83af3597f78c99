#include "data/dataset_facts.h"

#include <algorithm>
#include <limits>
#include <span>

namespace caravan::data {
namespace {

constexpr int64_t kPieceTokens = 1 << 16;
constexpr size_t kFirstTokens = 16;

std::optional<int64_t> documents_of(const TokenDataset& dataset) {
  int64_t documents = 0;
  for (const TokenFile& file : dataset.files()) {
    if (!file.layout().documents) return std::nullopt;
    documents += *file.layout().documents;
  }
  return documents;
}

}  // namespace

Result<DatasetFacts> examine(const TokenDataset& dataset, int64_t most_tokens) {
  DatasetFacts facts{.documents = documents_of(dataset), .first_tokens = {}};
  const int64_t end = std::min(dataset.tokens(), most_tokens);
  std::vector<int64_t> buffer(static_cast<size_t>(std::min(kPieceTokens, end)));
  for (int64_t begin = 0; begin < end; begin += kPieceTokens) {
    const auto piece = std::span(buffer).first(static_cast<size_t>(std::min(kPieceTokens, end - begin)));
    const Status read = dataset.read(begin, piece, std::numeric_limits<int64_t>::max());
    if (!read) return tl::unexpected(read.error());
    facts.largest_id = std::max(facts.largest_id, *std::max_element(piece.begin(), piece.end()));
    if (begin == 0) {
      const auto first = piece.first(std::min(kFirstTokens, piece.size()));
      facts.first_tokens.assign(first.begin(), first.end());
    }
  }
  return facts;
}

}  // namespace caravan::data
