// Where this checkout is, for tests that read its files or run its programs.
//
// Functions and not macros, so that a test compiles to the same in every checkout and one compiler cache
// serves them all.
#pragma once

#include <string>

namespace caravan::test {

std::string source_folder();   // the repository's root
std::string program_folder();  // the programs of this build

}  // namespace caravan::test
