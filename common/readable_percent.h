// Fractions as people read them, everywhere in the product: "41.7 %".
//
// Rounded for display; whoever computes with a number reads JSON, which has fractions. Pure and independent
// of the locale.
#pragma once

#include <string>

namespace caravan {

// "41.7 %": of what is measured, or compared with what is.
std::string readable_percent(double fraction);

// "12 %", below one "0.6 %": of what is known no better, such as an error or a gain that is predicted.
std::string readable_rough_percent(double fraction);

}  // namespace caravan
