// The credentials that a ClientConfig describes: constant texts, files that are rotated, or a plugin.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "kube/config/client_config.h"
#include "kube/config/credentials.h"
#include "kube/config/exec_plugin.h"
#include "kube/config/reread_file.h"

namespace caravan::kube {

class ConfigCredentials final : public Credentials {
 public:
  ConfigCredentials(ClientConfig config, Clock& clock);

  ApiResult<std::string> token() override;
  ApiResult<TlsMaterial> tls() override;
  void forget() override;

 private:
  // A text, or a file.
  class PemSource {
   public:
    PemSource(const Pem& pem, Clock& clock);
    Result<std::string> get();
    void forget();

   private:
    std::string text_;
    std::unique_ptr<RereadFile> file_;
  };

  Result<ExecCredential> exec_credential();

  ClientConfig config_;
  Clock& clock_;
  PemSource authority_;
  PemSource certificate_;
  PemSource key_;
  PemSource token_;
  std::mutex exec_mutex_;
  std::optional<ExecCredential> exec_;
};

}  // namespace caravan::kube
