// Reads kubeconfig files as kubectl does: a list of files is merged, the first to say something wins, paths
// are relative to the file that names them, and keys we do not know are ignored.
//
// YAML is read by a function of the caller, since this room has no YAML library; read_json_document serves
// where the file is JSON. Not supported, and said so: auth-provider, user name and password, impersonation,
// SOCKS proxies, plugins that must talk with the user.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api/json.h"
#include "kube/config/client_config.h"

namespace caravan::kube {

// From the text of a file to its content; `path` is for messages.
using DocumentReader = std::function<Result<Json>(std::string_view text, const std::string& path)>;
Result<Json> read_json_document(std::string_view text, const std::string& path);

// $KUBECONFIG, a list separated by colons, else ~/.kube/config.
std::vector<std::string> kubeconfig_files();

// `context`: empty for the current one. Files of the list that are not there are skipped; one that cannot be
// read is an error.
Result<ClientConfig> load_kubeconfig(const std::vector<std::string>& files, const std::string& context,
                                     const DocumentReader& read);

}  // namespace caravan::kube
