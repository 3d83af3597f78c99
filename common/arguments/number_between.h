// A bound for an option that is a number with a fraction.
#pragma once

#include <CLI/CLI.hpp>

namespace caravan {

// From `least` to `most`. CLI::Range lets "nan" pass, which is neither below nor above.
class NumberBetween : public CLI::Validator {
 public:
  NumberBetween(double least, double most);
};

}  // namespace caravan
