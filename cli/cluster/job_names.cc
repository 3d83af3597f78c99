#include "cli/cluster/job_names.h"

#include <fmt/format.h>

#include "cli/cluster/cluster.h"
#include "cli/completion/candidates.h"
#include "common/environment.h"

namespace caravan::cli {
namespace {

// Cobra's ShellCompDirectiveDefault and ShellCompDirectiveNoFileComp.
constexpr int kAlsoFiles = 0;
constexpr int kNoFiles = 4;

// Of "--namespace NAME" and "--namespace=NAME".
void take(const std::vector<std::string>& words, std::size_t at, std::string_view option,
          std::string& value) {
  const std::string& word = words[at];
  if (word == option && at + 1 < words.size()) value = words[at + 1];
  if (word.starts_with(fmt::format("{}=", option))) value = word.substr(option.size() + 1);
}

ServiceOptions service_of_environment() {
  return {.address = environment_variable(kServerVariable),
          .root_file = environment_variable(kRootVariable),
          .server_name = environment_variable(kServerNameVariable),
          .token_file = environment_variable(kTokenFileVariable)};
}

ClusterOptions options_in(const std::vector<std::string>& words) {
  ClusterOptions options;
  options.at_once = true;
  options.service = service_of_environment();
  for (std::size_t i = 0; i < words.size(); ++i) {
    take(words, i, "-n", options.name_space);
    take(words, i, "--namespace", options.name_space);
    take(words, i, "--context", options.context);
    take(words, i, "--kubeconfig", options.kubeconfig);
    take(words, i, "--server", options.service.address);
    take(words, i, "--server-root", options.service.root_file);
    take(words, i, "--server-name", options.service.server_name);
    take(words, i, "--token-file", options.service.token_file);
  }
  return options;
}

}  // namespace

std::vector<std::string> job_names(const std::vector<std::string>& words) {
  const auto cluster = Cluster::connect(options_in(words));
  if (!cluster) return {};
  return (*cluster)->names().value_or(std::vector<std::string>{});
}

std::string completion_for_kubectl(const CommandTree& program, const std::vector<std::string>& words) {
  const Candidates candidates = candidates_for(program, words);
  std::string text;
  for (const Candidate& candidate : candidates.words) {
    text += candidate.word;
    if (!candidate.description.empty()) text += "\t" + candidate.description;
    text += "\n";
  }
  if (candidates.kind == ValueKind::Job) {
    for (const std::string& name : job_names(words)) {
      if (name.starts_with(words.back())) text += name + "\n";
    }
  }
  return text + fmt::format(":{}\n", candidates.kind == ValueKind::File ? kAlsoFiles : kNoFiles);
}

}  // namespace caravan::cli
