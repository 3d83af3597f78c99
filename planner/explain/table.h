// Text tables and bars for a terminal of any kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caravan::planner {

enum class Align { Left, Right };

struct Column {
  std::string title = {};
  Align align = Align::Left;
};

// Columns as wide as their widest cell (UTF-8 characters), two spaces between them, lines indented by two.
// Rows may be short.
std::string format_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows);

// A bar whose full length is `width` characters at `full`.
std::string bar(int64_t value, int64_t full, int width);

}  // namespace caravan::planner
