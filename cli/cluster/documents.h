// Documents of the API server as text for users, and kubeconfigs, which are YAML, as documents.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"
#include "common/schema/document.h"
#include "kube/api/json.h"

namespace caravan::cli {

// Indented by two; fields stand in the server's order.
std::string json_text(const kube::Json& document);
std::string yaml_text(const kube::Json& document);

// Of a kubeconfig, whose values are texts and truth values.
Result<kube::Json> read_document(std::string_view text, const std::string& path);

}  // namespace caravan::cli
