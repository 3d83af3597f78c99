// What a program makes of a system that refuses it a thread, a descriptor or memory.
//
// std::thread, std::ofstream and operator new throw then, anywhere; without a handler that is an abort, which
// whoever watches the program takes for a crash of its code. So every main function runs its program in
// here. Whatever else is thrown is a mistake of ours and still ends in an abort, with its core dump. Threads
// are on their own: an exception that leaves one ends the program.
#pragma once

#include <new>
#include <system_error>
#include <utility>

#include "common/result.h"

namespace caravan {

// "the system refused: <its words>; <what to do>", exit code 1.
tl::unexpected<Error> refusal(const std::system_error& error);
tl::unexpected<Error> refusal(const std::bad_alloc&);

// What the program, which returns a Result, ends with.
template <typename Program>
auto unless_refused(Program&& program) -> decltype(program()) {
  try {
    return std::forward<Program>(program)();
  } catch (const std::system_error& error) {
    return refusal(error);
  } catch (const std::bad_alloc& error) {
    return refusal(error);
  }
}

}  // namespace caravan
