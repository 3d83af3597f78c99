#include "cli/cluster/print_jobs.h"

#include <fmt/format.h>

#include "cli/cluster/documents.h"
#include "cli/cluster/job_table.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "kube/api/object.h"

namespace caravan::cli {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

void print_document(const Json& document, const std::string& form) {
  fmt::print("{}", form == "json" ? json_text(document) : yaml_text(document));
}

void print_table(const JsonArray& jobs, bool wide, bool with_namespace, Clock& clock) {
  std::vector<controller::Job> read;
  for (const Json& job : jobs) read.push_back(controller::read_job_but_spec(job));
  fmt::print("{}", job_table(read, {.wide = wide,
                                    .with_namespace = with_namespace,
                                    .now = clock.wall_now(),
                                    .width = wide ? 0 : output_width()}));
}

void print_names(const JsonArray& jobs, bool with_namespace) {
  for (const Json& job : jobs) {
    const kube::ObjectKey key = kube::key_of(job);
    say("{}\n", with_namespace ? kube::to_string(key) : key.name);
  }
}

}  // namespace

void print_jobs(const JsonArray& jobs, const std::string& form, bool with_namespace, Clock& clock) {
  if (form == "name") {
    print_names(jobs, with_namespace);
  } else if (form == "json" || form == "yaml") {
    JsonArray items;
    for (const Json& job : jobs) items.push_back(kube::without_managed_fields(job));
    print_document(JsonObject{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}}, form);
  } else {
    print_table(jobs, form == "wide", with_namespace, clock);
  }
}

void print_job(const Json& job, const std::string& form, Clock& clock) {
  if (form == "json" || form == "yaml") {
    print_document(kube::without_managed_fields(job), form);
  } else {
    print_jobs({job}, form, false, clock);
  }
}

}  // namespace caravan::cli
