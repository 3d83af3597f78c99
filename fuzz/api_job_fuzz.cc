// Any JSON as a job of the API server: it reads without an exception, its mistakes are sentences that a
// condition can hold, and the status that it has reads again as it was written.
#include <cstddef>
#include <string>

#include "common/json.h"
#include "common/utf8.h"
#include "fuzz/require.h"
#include "kube/api/json.h"
#include "operator/api/job_object.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using caravan::fuzz::require;
  const std::string_view text = caravan::fuzz::text_of(data, size);
  const auto object = caravan::kube::parse_json(text, "a job");
  if (!object) return 0;
  const caravan::controller::Job job = caravan::controller::read_job(*object);
  for (const std::string& mistake : job.mistakes) {
    require(!mistake.empty(), "a mistake without a sentence", text);
    require(!caravan::first_invalid_utf8(mistake), "a mistake is not UTF-8", mistake);
  }
  const std::string status = caravan::controller::text_of(job.status);
  const auto again = caravan::from_json<caravan::v1alpha1::JobStatus>(status);
  require(again.has_value(), "a status does not read again", status);
  require(caravan::controller::text_of(*again) == status, "a status changes when it is read again", status);
  return 0;
}
