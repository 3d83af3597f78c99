// What every program of this room settles with LibTorch before it begins and when it ends, and what it makes
// of its exceptions.
#pragma once

#include <exception>
#include <string>

namespace caravan::trainer {

// The same numbers whenever the threads are as many. To be called first, once.
void make_deterministic(int threads);

// Writes what is buffered and ends the program without destroying statics: LibTorch unregisters thousands of
// operators one by one, which is a third of the processor's time that an empty program takes.
[[noreturn]] void end_quickly(int exit_code);

// Most libraries throw exceptions of their own, with the reason in the text alone.
bool is_out_of_memory(const std::exception& error);
// Of the host's, also where ranks compute on a GPU.
bool is_out_of_host_memory(const std::exception& error);

// What LibTorch says of an error, without the calls that led to it.
std::string words_of(const std::exception& error);

}  // namespace caravan::trainer
