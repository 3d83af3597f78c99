#include "planner/explain/svg.h"

#include <fmt/format.h>

#include <cmath>

namespace caravan::planner {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

// Two digits are finer than a screen.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

const char* anchor_name(Anchor anchor) {
  switch (anchor) {
    case Anchor::Start:
      return "start";
    case Anchor::Middle:
      return "middle";
    case Anchor::End:
      return "end";
  }
  return "start";
}

}  // namespace

void Svg::rectangle(double x, double y, double width, double height, std::string_view colour) {
  body_ += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="{}"/>)"
                       "\n",
                       number(x), number(y), number(width), number(height), colour);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view colour, bool dashed) {
  body_ += fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}"{}/>)"
                       "\n",
                       number(x1), number(y1), number(x2), number(y2), colour,
                       dashed ? R"( stroke-width="1.5" stroke-dasharray="5 3")" : "");
}

void Svg::text(double x, double y, std::string_view text, const TextStyle& style) {
  body_ += fmt::format(R"(<text x="{}" y="{}" font-size="{}" text-anchor="{}" fill="{}"{}>{}</text>)"
                       "\n",
                       number(x), number(y), number(style.size), anchor_name(style.anchor), style.colour,
                       style.bold ? R"( font-weight="bold")" : "", escaped(text));
}

void Svg::path(std::string_view commands, std::string_view colour) {
  body_ += fmt::format("<path d=\"{}\" fill=\"{}\"/>\n", commands, colour);
}

std::string Svg::document(double width, double height, std::string_view title) const {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" font-family="sans-serif">
<title>{2}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
{3}</svg>
)",
      number(width), number(height), escaped(title), body_);
}

std::string rectangle_path(double x, double y, double width, double height) {
  return fmt::format("M{} {}h{}v{}h{}z", number(x), number(y), number(width), number(height), number(-width));
}

double tick_distance(double end, int steps) {
  const double rough = end / steps;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

}  // namespace caravan::planner
