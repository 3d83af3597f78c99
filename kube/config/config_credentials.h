// The credentials that a ClientConfig describes: constant texts, files that are rotated, or a plugin.
//
// A plugin runs for at most a minute, once at a time. Its failure is the answer for a second, and for twice
// as long, up to half a minute, each time that it fails again: nobody logs in anew for each call. It fails,
// too, by printing what cannot be used. What cannot be had or used is kNoCredentials.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "kube/config/client_config.h"
#include "kube/config/credentials.h"
#include "kube/config/exec_plugin.h"
#include "kube/config/reread_file.h"

namespace caravan::kube {

class ConfigCredentials final : public Credentials {
 public:
  ConfigCredentials(ClientConfig config, Clock& clock);

  ApiResult<std::string> token(const CallContext& context) override;
  ApiResult<TlsMaterial> tls(const CallContext& context) override;
  void forget(const std::string& token) override;
  void forget_files() override;

 private:
  // A file, or a text, which also stands in for a file that was never read.
  class PemSource {
   public:
    PemSource(const Pem& pem, Clock& clock);
    Result<std::string> get();
    void forget();

   private:
    std::string text_;
    std::unique_ptr<RereadFile> file_;
  };

  // Of the plugin, which does not run again before `until`.
  struct Failure {
    std::string message;
    std::chrono::seconds rest;
    Clock::TimePoint until;
  };

  ApiResult<ExecCredential> exec_credential(const CallContext& context);
  Result<ExecCredential> run_plugin(const CallContext& context);
  void keep_failure(const std::string& message);
  tl::unexpected<ApiError> no_credential(const CallContext& context, std::string message) const;

  ClientConfig config_;
  Clock& clock_;
  PemSource authority_;
  PemSource certificate_;
  PemSource key_;
  PemSource token_;
  std::mutex exec_mutex_;
  std::condition_variable_any plugin_ended_;
  bool plugin_runs_ = false;
  std::optional<ExecCredential> exec_;
  std::optional<Failure> failure_;
};

}  // namespace caravan::kube
