// Text tables and paragraphs for a terminal of any kind, whoever wrote the words in them: control characters
// are left out, and an end of a line is a space.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace caravan::planner {

enum class Align { Left, Right };

struct Column {
  std::string title = {};
  Align align = Align::Left;
  bool optional = false;  // left out where it takes the last column's room, the last such column first
};

// Columns as wide as their widest cell (UTF-8 characters), two spaces between them, lines indented by two;
// columns without text are left out. Rows of cells may be short. width: lines are kept to that many
// characters by wrapping the last column between words; 0: as long as they are.
std::string format_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& cells, int width = 0);

// Lines of at most `width` characters, broken between words; longer words stand alone.
std::vector<std::string> wrap(std::string_view text, int width);

// The same as one text, each line ended.
std::string paragraph(std::string_view text, int width);

}  // namespace caravan::planner
