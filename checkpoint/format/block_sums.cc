#include "checkpoint/format/block_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "checkpoint/format/crc32c.h"

namespace caravan::checkpoint {
namespace {

constexpr std::size_t kDigits = 8;  // of a sum

bool is_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

}  // namespace

int64_t block_count(int64_t file_length, int64_t block_bytes) {
  return file_length / block_bytes + (file_length % block_bytes != 0 ? 1 : 0);
}

int64_t block_length(int64_t file_length, int64_t block_bytes, int64_t block) {
  return std::min(block_bytes, file_length - block * block_bytes);
}

BlockShares::BlockShares(int64_t file_length, int64_t block_bytes)
    : file_length_(file_length),
      block_bytes_(block_bytes),
      shares_(static_cast<std::size_t>(block_count(file_length, block_bytes))) {}

void BlockShares::add(int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const int64_t block = offset / block_bytes_;
    const int64_t in_block = offset - block * block_bytes_;
    const int64_t left = block_length(file_length_, block_bytes_, block) - in_block;
    const int64_t count = std::min<int64_t>(left, std::ssize(bytes));
    shares_[static_cast<std::size_t>(block)] ^=
        crc32c_share(bytes.first(static_cast<std::size_t>(count)), left - count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

std::string BlockShares::text() const {
  const auto has_share = [](uint32_t share) { return share != 0; };
  std::string text;
  for (auto end = shares_.begin(); end != shares_.end();) {
    const auto begin = std::find_if(end, shares_.end(), has_share);
    end = std::find_if_not(begin, shares_.end(), has_share);
    if (begin == end) break;
    fmt::format_to(std::back_inserter(text), "{}{}:{}", text.empty() ? "" : " ", begin - shares_.begin(),
                   sums_text(std::span(begin, end)));
  }
  return text;
}

bool BlockShares::join(std::string_view text) {
  while (!text.empty()) {
    const std::string_view run = text.substr(0, text.find(' '));
    if (!join_run(run)) return false;
    text.remove_prefix(std::min(text.size(), run.size() + 1));
  }
  return true;
}

bool BlockShares::join_run(std::string_view run) {
  const std::string_view number = run.substr(0, run.find(':'));
  const char* digits_end = number.data() + number.size();
  std::size_t first = 0;
  const auto [end, error] = std::from_chars(number.data(), digits_end, first);
  if (error != std::errc() || end != digits_end || number.size() == run.size()) return false;
  const auto shares = parse_sums(run.substr(number.size() + 1));
  if (!shares || first > shares_.size() || shares->size() > shares_.size() - first) return false;
  for (std::size_t i = 0; i < shares->size(); ++i) shares_[first + i] ^= (*shares)[i];
  return true;
}

std::vector<uint32_t> BlockShares::sums() const {
  std::vector<uint32_t> sums = shares_;
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] ^= crc32c_of_zeros(block_length(file_length_, block_bytes_, static_cast<int64_t>(i)));
  return sums;
}

uint32_t file_sum(int64_t file_length, int64_t block_bytes, std::span<const uint32_t> sums) {
  uint32_t sum = 0;  // of nothing
  for (std::size_t i = 0; i < sums.size(); ++i)
    sum = crc32c_joined(sum, sums[i], block_length(file_length, block_bytes, static_cast<int64_t>(i)));
  return sum;
}

std::string sums_text(std::span<const uint32_t> sums) {
  std::string text;
  text.reserve(sums.size() * kDigits);
  for (const uint32_t sum : sums) fmt::format_to(std::back_inserter(text), "{:08x}", sum);
  return text;
}

Result<std::vector<uint32_t>> parse_sums(std::string_view text) {
  if (text.size() % kDigits != 0 || !std::all_of(text.begin(), text.end(), is_digit))
    return bad_input("must be eight hexadecimal digits for each sum");
  std::vector<uint32_t> sums(text.size() / kDigits);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const char* digits = text.data() + i * kDigits;
    std::from_chars(digits, digits + kDigits, sums[i], 16);
  }
  return sums;
}

}  // namespace caravan::checkpoint
