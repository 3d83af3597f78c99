// Writes SVG: shapes in order, later ones on top. Coordinates are pixels, y downwards.
#pragma once

#include <string>
#include <string_view>

namespace caravan::planner {

enum class Anchor { Start, Middle, End };

struct TextStyle {
  double size = 12;
  Anchor anchor = Anchor::Start;
  std::string_view colour = "#24292f";
  bool bold = false;
};

class Svg {
 public:
  void rectangle(double x, double y, double width, double height, std::string_view colour);
  void line(double x1, double y1, double x2, double y2, std::string_view colour, bool dashed = false);
  // text: any; what XML reserves is escaped.
  void text(double x, double y, std::string_view text, const TextStyle& style = {});
  // Shapes of one colour, as a path's commands: far shorter than as many rectangles.
  void path(std::string_view commands, std::string_view colour);

  // The whole document, on white.
  std::string document(double width, double height, std::string_view title) const;

 private:
  std::string body_;
};

// A rectangle as a part of a path.
std::string rectangle_path(double x, double y, double width, double height);

// About `steps` round numbers between 0 and `end`: their distance.
double tick_distance(double end, int steps);

}  // namespace caravan::planner
