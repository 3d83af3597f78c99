#include "planner/explain/table.h"

#include <algorithm>

#include "common/readable_bytes.h"
#include "common/utf8.h"

namespace caravan::planner {
namespace {

using Cells = std::vector<std::string>;

constexpr int kNarrowest = 20;  // of a wrapped column

struct Table {
  std::vector<Column> columns;
  std::vector<size_t> widths;
  size_t last_width = 0;  // of the last column's lines; 0: not wrapped
};

std::string aligned(const std::string& text, size_t width, Align align) {
  const std::string padding(width - std::min(width, utf8_characters(text)), ' ');
  return align == Align::Right ? padding + text : text + padding;
}

std::string format_line(const Cells& cells, const Table& table) {
  std::string line = "  ";
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    line += aligned(cells[i], table.widths[i], table.columns[i].align);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// What does not fit into the last column goes on below it.
std::string format_row(Cells cells, const Table& table) {
  if (table.last_width == 0 || cells.empty()) return format_line(cells, table);
  std::string text;
  for (const std::string& part : wrap(cells.back(), static_cast<int>(table.last_width))) {
    cells.back() = part;
    text += format_line(cells, table);
    std::fill(cells.begin(), cells.end(), "");
  }
  return text.empty() ? format_line(cells, table) : text;
}

void keep_within(int width, Table& table) {
  int before = 2;
  for (size_t i = 0; i + 1 < table.widths.size(); ++i) before += static_cast<int>(table.widths[i]) + 2;
  table.last_width = static_cast<size_t>(std::max(width - before, kNarrowest));
  table.widths.back() = std::min(table.widths.back(), table.last_width);
}

std::string format_lines(const std::vector<Column>& columns, const std::vector<Cells>& rows, int width) {
  Table table{.columns = columns, .widths = {}};
  Cells titles;
  for (const Column& column : columns) {
    titles.push_back(column.title);
    table.widths.push_back(utf8_characters(column.title));
  }
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      table.widths[i] = std::max(table.widths[i], utf8_characters(row[i]));
  }
  if (width > 0 && !columns.empty()) keep_within(width, table);
  const bool has_titles =
      std::ranges::any_of(titles, [](const std::string& title) { return !title.empty(); });
  std::string text = has_titles ? format_line(titles, table) : "";
  for (const Cells& row : rows) text += format_row(row, table);
  return text;
}

std::string cell(const Cells& row, size_t column) {
  return column < row.size() ? row[column] : "";
}

std::vector<Cells> readable_cells(std::vector<Cells> rows) {
  for (Cells& row : rows) {
    for (std::string& text : row) text = readable_line(text, text.size());
  }
  return rows;
}

size_t widest(const Column& column, const std::vector<Cells>& rows, size_t number) {
  size_t width = utf8_characters(column.title);
  for (const Cells& row : rows) width = std::max(width, utf8_characters(cell(row, number)));
  return width;
}

// Of the columns that are shown, for the last one.
void make_room(const std::vector<Column>& columns, const std::vector<Cells>& rows, int width,
               std::vector<size_t>& shown) {
  const auto total = [&] {
    size_t all = 0;
    for (const size_t i : shown) {
      const size_t each = widest(columns[i], rows, i);
      all += 2 + (i == shown.back() ? std::min<size_t>(each, kNarrowest) : each);
    }
    return static_cast<int>(all);
  };
  while (total() > width) {
    const auto optional = [&](size_t i) { return columns[i].optional; };
    const auto last = std::find_if(shown.rbegin(), shown.rend(), optional);
    if (last == shown.rend()) return;
    shown.erase(std::next(last).base());
  }
}

// Where the first word ends; a number keeps its unit.
size_t end_of_word(std::string_view text) {
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view rest = text.substr(std::min(end + 1, text.size()));
  const bool number = end > 0 && end < text.size() && text[0] >= '0' && text[0] <= '9';
  const std::string_view next = rest.substr(0, rest.find_first_of(" ,.;:)"));
  const bool unit = next == "%" || next == "s" || std::ranges::find(kByteUnits, next) != kByteUnits.end();
  return number && unit ? end + 1 + std::min(rest.find(' '), rest.size()) : end;
}

}  // namespace

std::vector<std::string> wrap(std::string_view text, int width) {
  const std::string readable = readable_line(text, text.size());
  std::string_view rest = readable;
  std::vector<std::string> lines;
  std::string line;
  while (!rest.empty()) {
    const size_t end = end_of_word(rest);
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.empty() && utf8_characters(line) + 1 + utf8_characters(word) > static_cast<size_t>(width)) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string paragraph(std::string_view text, int width) {
  std::string result;
  for (const std::string& line : wrap(text, width)) result += line + "\n";
  return result;
}

std::string format_table(const std::vector<Column>& columns, const std::vector<Cells>& cells, int width) {
  const std::vector<Cells> rows = readable_cells(cells);
  std::vector<size_t> shown;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (std::ranges::any_of(rows, [&](const Cells& row) { return !cell(row, i).empty(); }))
      shown.push_back(i);
  }
  if (width > 0) make_room(columns, rows, width, shown);
  std::vector<Column> kept_columns;
  std::vector<Cells> kept(rows.size());
  for (const size_t i : shown) {
    kept_columns.push_back(columns[i]);
    for (size_t r = 0; r < rows.size(); ++r) kept[r].push_back(cell(rows[r], i));
  }
  return format_lines(kept_columns, kept, width);
}

}  // namespace caravan::planner
