#include "planner/explain/table.h"

#include <algorithm>
#include <cmath>

namespace caravan::planner {
namespace {

using Cells = std::vector<std::string>;

size_t characters(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string aligned(const std::string& text, size_t width, Align align) {
  const std::string padding(width - characters(text), ' ');
  return align == Align::Right ? padding + text : text + padding;
}

std::string format_line(const Cells& cells, const std::vector<Column>& columns,
                        const std::vector<size_t>& widths) {
  std::string line = "  ";
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    line += aligned(cells[i], widths[i], columns[i].align);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string format_lines(const std::vector<Column>& columns, const std::vector<Cells>& rows) {
  Cells titles;
  std::vector<size_t> widths;
  for (const Column& column : columns) {
    titles.push_back(column.title);
    widths.push_back(characters(column.title));
  }
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i]));
  }
  const bool has_titles =
      std::ranges::any_of(titles, [](const std::string& title) { return !title.empty(); });
  std::string text = has_titles ? format_line(titles, columns, widths) : "";
  for (const Cells& row : rows) text += format_line(row, columns, widths);
  return text;
}

}  // namespace

std::string format_table(const std::vector<Column>& columns, const std::vector<Cells>& rows) {
  std::vector<Column> shown;
  std::vector<Cells> kept(rows.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool has_text =
        std::ranges::any_of(rows, [&](const Cells& row) { return i < row.size() && !row[i].empty(); });
    if (!has_text) continue;
    shown.push_back(columns[i]);
    for (size_t r = 0; r < rows.size(); ++r) kept[r].push_back(i < rows[r].size() ? rows[r][i] : "");
  }
  return format_lines(shown, kept);
}

std::string bar(int64_t value, int64_t full, int width) {
  if (full <= 0 || value <= 0) return "";
  const int64_t length = std::llround(static_cast<double>(value) / static_cast<double>(full) * width);
  std::string text;
  for (int64_t i = 0; i < std::clamp<int64_t>(length, 0, width); ++i) text += "█";
  return text;
}

}  // namespace caravan::planner
