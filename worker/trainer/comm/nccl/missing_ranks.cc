#include "worker/trainer/comm/nccl/missing_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <vector>

namespace caravan::trainer {
namespace {

constexpr std::string_view kWorldRank = " world-rank ";
constexpr std::string_view kLast = ": ";

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string name_of(int member, const ToldPosition& told) {
  return fmt::format("rank {} of the group (rank {} of the job)", member, told.world_rank);
}

std::string where_it_is(const ToldPosition& told) {
  if (told.position.issued == 0) return "it has made no call there";
  return fmt::format("its last call there was number {}, {}", told.position.issued, told.position.last);
}

}  // namespace

std::string position_text(const LanePosition& position, int world_rank) {
  return fmt::format("{}{}{}{}{}", position.issued, kWorldRank, world_rank, kLast, position.last);
}

std::optional<ToldPosition> read_position(std::string_view text) {
  const auto rank_at = text.find(kWorldRank);
  if (rank_at == std::string_view::npos) return std::nullopt;
  const auto last_at = text.find(kLast, rank_at);
  if (last_at == std::string_view::npos) return std::nullopt;
  const auto rank_begin = rank_at + kWorldRank.size();
  const auto issued = number_of<std::uint64_t>(text.substr(0, rank_at));
  const auto rank = number_of<int>(text.substr(rank_begin, last_at - rank_begin));
  if (!issued || !rank) return std::nullopt;
  return ToldPosition{{*issued, std::string(text.substr(last_at + kLast.size()))}, *rank};
}

std::optional<std::string> who_is_missing(const OperationLog::UnderWay& operation,
                                          const std::map<int, ToldPosition>& told) {
  std::vector<std::string> sentences;
  std::vector<int> silent;
  for (const int member : operation.lane.members) {
    if (member == operation.lane.rank) continue;
    const auto found = told.find(member);
    if (found == told.end()) {
      silent.push_back(member);
      continue;
    }
    const LanePosition& position = found->second.position;
    if (position.issued < operation.number) {
      sentences.push_back(fmt::format("{} has not come to it: {}", name_of(member, found->second),
                                      where_it_is(found->second)));
    } else if (position.issued == operation.number && position.last != operation.words) {
      sentences.push_back(fmt::format("{} does something else, {}: the ranks disagree about what comes next",
                                      name_of(member, found->second), position.last));
    }
  }
  if (!silent.empty())
    sentences.push_back(fmt::format(
        "no answer from rank {} of the group, whose process has ended or is stuck", fmt::join(silent, ", ")));
  if (sentences.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(sentences, "; "));
}

}  // namespace caravan::trainer
