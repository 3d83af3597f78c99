#include "cli/run/claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <set>
#include <string_view>

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;

Result<std::string> absolute(const std::string& field, const fs::path& path) {
  std::error_code error;
  const fs::path full = fs::absolute(path, error);
  if (error) return bad_input(fmt::format("{}: '{}': {}", field, path.string(), error.message()));
  return full.lexically_normal().string();
}

// The folder that stands in for the claim of `field`; empty without a claim.
Result<std::string> folder_of(const std::string& claim, std::string_view field, const Volumes& volumes) {
  if (claim.empty()) return std::string();
  const auto volume = volumes.find(claim);
  if (volume != volumes.end()) return volume->second;
  return bad_input(
      fmt::format("{}: claim '{}' exists on a cluster only; say which folder of this machine holds its "
                  "files: --volume {}=DIR",
                  field, claim, claim));
}

Status replace_path(const std::string& folder, const std::string& field, std::string& path) {
  Result<std::string> full = absolute(field, folder.empty() ? fs::path(path) : fs::path(folder) / path);
  if (!full) return tl::unexpected(full.error());
  path = *full;
  return {};
}

std::set<std::string> claims_of(const v1alpha1::JobSpec& spec) {
  std::set<std::string> claims = {spec.data().claim_name(), spec.checkpoint().claim_name(),
                                  spec.model().init_from().claim_name()};
  claims.erase("");
  return claims;
}

std::string claim_names(const std::set<std::string>& claims) {
  return claims.empty() ? "none" : fmt::format("'{}'", fmt::join(claims, "', '"));
}

Status resolve_data(const Volumes& volumes, v1alpha1::Data& data) {
  const Result<std::string> folder = folder_of(data.claim_name(), "spec.data.claimName", volumes);
  if (!folder) return tl::unexpected(folder.error());
  data.clear_claim_name();
  if (Status replaced = replace_path(*folder, "spec.data.path", *data.mutable_path()); !replaced)
    return replaced;
  if (data.validation_path().empty()) return {};
  return replace_path(*folder, "spec.data.validationPath", *data.mutable_validation_path());
}

// A message with a claim and one path.
template <typename Place>
Status resolve_place(const Volumes& volumes, const std::string& field, Place& place) {
  const Result<std::string> folder = folder_of(place.claim_name(), field + ".claimName", volumes);
  if (!folder) return tl::unexpected(folder.error());
  place.clear_claim_name();
  return replace_path(*folder, field + ".path", *place.mutable_path());
}

}  // namespace

Result<Volumes> parse_volumes(const std::vector<std::string>& arguments) {
  Volumes volumes;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == argument.size()) {
      return bad_input(
          fmt::format("--volume {}: must be CLAIM=DIR, such as --volume corpus=./data", argument));
    }
    const std::string claim = argument.substr(0, equals);
    const std::string folder = argument.substr(equals + 1);
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
      return bad_input(fmt::format("--volume {}: '{}' is not a folder{}", argument, folder,
                                   error ? " (" + error.message() + ")" : ""));
    }
    if (!volumes.emplace(claim, folder).second) {
      return bad_input(fmt::format("--volume {}: claim '{}' is given twice", argument, claim));
    }
  }
  return volumes;
}

Status resolve_claims(const Volumes& volumes, v1alpha1::JobSpec& spec) {
  const std::set<std::string> claims = claims_of(spec);
  for (const auto& [claim, folder] : volumes) {
    if (claims.contains(claim)) continue;
    return bad_input(fmt::format("--volume {}={}: the job has no claim '{}'; its claims: {}", claim, folder,
                                 claim, claim_names(claims)));
  }
  if (Status resolved = resolve_data(volumes, *spec.mutable_data()); !resolved) return resolved;
  if (spec.has_checkpoint()) {
    Status resolved = resolve_place(volumes, "spec.checkpoint", *spec.mutable_checkpoint());
    if (!resolved) return resolved;
  }
  if (!spec.model().has_init_from()) return {};
  return resolve_place(volumes, "spec.model.initFrom", *spec.mutable_model()->mutable_init_from());
}

}  // namespace caravan::cli
