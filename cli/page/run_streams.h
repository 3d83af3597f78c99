// The methods of the job service with a stream of answers, for the one job of a run.
//
// A stream reads what is kept when it is asked for more, so a reader who does not read holds nothing but his
// place, and is told of the job as it is by then.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "cli/page/run_record.h"
#include "service/answer/fault.h"
#include "service/json/transcode.h"

namespace caravan::cli {

enum class Told { kNothingNow, kMessage, kAll };  // all: nothing more is to come
using RunStream = std::function<Told(google::protobuf::Message& into)>;

// logs: the folder of the nodes' logs. method: of the JobService, one with a stream. The record outlives it.
service::Answer<RunStream> open_stream(const RunRecord& record, const std::filesystem::path& logs,
                                       const std::string& method, const google::protobuf::Message& request);

}  // namespace caravan::cli
