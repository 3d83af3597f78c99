#include "serving/options.h"

#include "common/host_port.h"

namespace caravan {

CLI::Validator host_port_check() {
  return {[](const std::string& address) {
            return is_host_port(address) ? "" : "'" + address + "' is not HOST:PORT";
          },
          "HOST:PORT"};
}

void declare_pages_and_log(CLI::App& app, std::string& probes, std::string& metrics, std::string& log_level) {
  app.add_option("--probes", probes, "Where /healthz and /readyz are served")
      ->capture_default_str()
      ->check(host_port_check());
  app.add_option("--metrics", metrics, "Where /metrics is served")
      ->capture_default_str()
      ->check(host_port_check());
  app.add_option("--log-level", log_level, "Least level that is logged")
      ->capture_default_str()
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
}

}  // namespace caravan
