// The progress of a tokenization on one line of a terminal; nothing where the stream is none.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "data/tokenize_files.h"
#include "report_text/console_style.h"

namespace caravan::cli {

// How the work stands, in one line: part, bytes, tokens, speed, time left.
std::string describe(const data::TokenizeProgress& progress, double seconds);

class TokenizeBar {
 public:
  explicit TokenizeBar(std::FILE* stream);
  // Wipes the line.
  ~TokenizeBar();
  TokenizeBar(const TokenizeBar&) = delete;
  TokenizeBar& operator=(const TokenizeBar&) = delete;

  // Draws a few times a second, however often it is called.
  void show(const data::TokenizeProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  std::FILE* stream_;
  ConsoleStyle style_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_draw_ = started_;
};

}  // namespace caravan::cli
