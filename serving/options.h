// Flags that programs on the cluster have alike.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace caravan {

// Of HOST:PORT.
CLI::Validator host_port_check();

// --probes, --metrics and --log-level; what is there already is the default.
void declare_pages_and_log(CLI::App& app, std::string& probes, std::string& metrics, std::string& log_level);

}  // namespace caravan
