// Writes an llm.c token file of any size as a stream; the file appears under its name when it is committed,
// or never.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/result.h"
#include "data/llm_c_format.h"
#include "data/temporary_file.h"
#include "data/token_format.h"

namespace caravan::data {

// The narrowest type of llm.c for ids below `vocabulary`.
TokenType token_type_for(int64_t vocabulary);

class TokenWriter {
 public:
  // type: kUint16 or kUint32. An existing file is an error (exit code 2) unless `replace`.
  static Result<TokenWriter> create(const std::string& path, TokenType type, bool replace);

  const std::string& path() const { return file_.path(); }
  int64_t tokens() const { return tokens_; }

  // id: must fit the type.
  Status add(uint32_t id);
  // Moves the last `count` tokens, which must exist, to the end of another writer of the same type.
  Status move_tail(int64_t count, TokenWriter& to);
  // Makes all of it durable, under no name yet. Nothing may be added afterwards.
  Status complete();
  // Of what is complete (temporary_file.h).
  Status give_name() { return file_.give_name(); }
  Status sync_name() const { return file_.sync_name(); }
  // All three, in this order.
  Status commit();

 private:
  TokenWriter(TemporaryFile file, TokenType type) : file_(std::move(file)), type_(type) {}
  Status flush();

  TemporaryFile file_;
  TokenType type_;
  int64_t tokens_ = 0;
  int64_t size_ = kLlmCHeaderBytes;  // of the file without the buffer; the header comes last
  std::vector<std::byte> buffer_;
};

}  // namespace caravan::data
