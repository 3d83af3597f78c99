#include "kube/watch/json_lines.h"

#include <gtest/gtest.h>

namespace caravan::kube {
namespace {

std::vector<std::string> drain(JsonLines& lines) {
  std::vector<std::string> all;
  while (auto line = lines.next().value()) all.push_back(*line);
  return all;
}

TEST(JsonLines, FindsTheSameLinesWhereverTheChunksEnd) {
  const std::string text = "{\"a\":1}\n\n{\"b\":\"\xC3\xA9\"}\r\n{}\n";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    JsonLines lines;
    std::vector<std::string> found;
    for (std::size_t at = 0; at < text.size(); at += size) {
      lines.add(text.substr(at, size));
      for (std::string& line : drain(lines)) found.push_back(std::move(line));
    }
    EXPECT_EQ(found, (std::vector<std::string>{"{\"a\":1}", "{\"b\":\"\xC3\xA9\"}", "{}"}))
        << "chunks of " << size;
  }
}

TEST(JsonLines, AnUnfinishedLineIsNotALine) {
  JsonLines lines;
  lines.add("{\"a\":");
  EXPECT_FALSE(lines.next().value());
}

TEST(JsonLines, RefusesALineWithoutEnd) {
  JsonLines lines(/*longest_line=*/8);
  lines.add("12345678\n");
  EXPECT_EQ(lines.next().value(), "12345678");
  lines.add("123456789");
  EXPECT_FALSE(lines.next());
}

}  // namespace
}  // namespace caravan::kube
