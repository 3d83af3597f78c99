#include "data/token_writer.h"

#include <algorithm>
#include <span>

#include "data/llm_c_format.h"

namespace caravan::data {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

}  // namespace

TokenType token_type_for(int64_t vocabulary) {
  return vocabulary <= int64_t{1} << 16 ? TokenType::kUint16 : TokenType::kUint32;
}

Result<TokenWriter> TokenWriter::create(const std::string& path, TokenType type, bool replace) {
  Result<TemporaryFile> file = TemporaryFile::create(path, replace);
  if (!file) return tl::unexpected(file.error());
  return TokenWriter(std::move(*file), type);
}

Status TokenWriter::add(uint32_t id) {
  // The low bytes come first, whatever the type.
  const auto bytes = std::as_bytes(std::span(&id, 1)).first(static_cast<size_t>(bytes_per_token(type_)));
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  ++tokens_;
  return buffer_.size() < kBufferBytes ? Status{} : flush();
}

Status TokenWriter::flush() {
  if (Status written = file_.write(size_, buffer_); !written) return written;
  size_ += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
  return {};
}

Status TokenWriter::move_tail(int64_t count, TokenWriter& to) {
  if (Status flushed = flush(); !flushed) return flushed;
  if (Status flushed = to.flush(); !flushed) return flushed;
  const int64_t keep = size_ - count * bytes_per_token(type_);
  for (int64_t at = keep; at < size_; at += static_cast<int64_t>(to.buffer_.size())) {
    to.buffer_.resize(std::min(kBufferBytes, static_cast<size_t>(size_ - at)));
    if (Status read = file_.read(at, to.buffer_); !read) return read;
    if (Status written = to.file_.write(to.size_, to.buffer_); !written) return written;
    to.size_ += static_cast<int64_t>(to.buffer_.size());
  }
  to.buffer_.clear();
  to.tokens_ += count;
  tokens_ -= count;
  size_ = keep;
  return file_.resize(size_);
}

Status TokenWriter::complete() {
  if (Status flushed = flush(); !flushed) return flushed;
  const LlmCHeader header = llm_c_header(type_, static_cast<uint64_t>(tokens_));
  if (Status written = file_.write(0, std::as_bytes(std::span(header))); !written) return written;
  return file_.sync();
}

Status TokenWriter::commit() {
  return complete().and_then([this] { return give_name(); }).and_then([this] { return sync_name(); });
}

}  // namespace caravan::data
