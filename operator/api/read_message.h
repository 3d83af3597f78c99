// Messages from documents that are parsed already: the status of a job, the plan in its ConfigMap.
//
// Takes what common/json.h writes; null reads as absent. Every reconcile reads both, and going through text
// and protobuf's own parser would be most of its work. A value of the wrong type is an error that names the
// field; so is a field, or the value of an enumeration, that this version does not know, unless those are to
// be dropped. Without such a value a message says something else: only what is shown may lose it.
#pragma once

#include <google/protobuf/message.h>

#include "common/result.h"
#include "kube/api/json.h"

namespace caravan::controller {

enum class Unknown { kRefused, kFieldsDropped, kDropped };

Status read_message(const kube::Json& from, google::protobuf::Message& into, Unknown unknown);

}  // namespace caravan::controller
