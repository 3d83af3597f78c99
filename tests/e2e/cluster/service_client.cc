// Calls the job service as somebody does who has its root and a token.
//   caravan-service-client ADDRESS NAME ROOT_FILE TOKEN_FILE METHOD REQUEST
// NAME is what the certificate at ADDRESS must be for; METHOD one of CreateJob, ListJobs, DeleteJob,
// StreamMetrics and WatchJobs; REQUEST is its message in JSON. Each message of the answer is a line of JSON.
// Exit code 1: the call ended with the status that stands on standard error.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <iostream>
#include <map>

#include "caravan/v1alpha1/job_service.grpc.pb.h"
#include "common/file_contents.h"
#include "common/json.h"

namespace caravan {
namespace {

using namespace v1alpha1;
using Stub = JobService::Stub;
using Method = std::function<grpc::Status(Stub&, grpc::ClientContext&, const std::string& request)>;

constexpr std::chrono::seconds kPatience{60};  // not of a stream

grpc::Status bad_request(const Error& error) {
  return {grpc::StatusCode::INVALID_ARGUMENT, "the request is no message: " + error.message};
}

template <typename Request, typename Response>
Method unary(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*)) {
  return [method](Stub& stub, grpc::ClientContext& context, const std::string& text) {
    const auto request = from_json<Request>(text);
    if (!request) return bad_request(request.error());
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    Response response;
    grpc::Status status = (stub.*method)(&context, *request, &response);
    if (status.ok()) std::cout << to_json(response) << std::endl;
    return status;
  };
}

template <typename Request, typename Response>
Method streaming(std::unique_ptr<grpc::ClientReader<Response>> (Stub::*method)(grpc::ClientContext*,
                                                                               const Request&)) {
  return [method](Stub& stub, grpc::ClientContext& context, const std::string& text) {
    const auto request = from_json<Request>(text);
    if (!request) return bad_request(request.error());
    const auto stream = (stub.*method)(&context, *request);
    Response response;
    while (stream->Read(&response)) std::cout << to_json(response) << std::endl;
    return stream->Finish();
  };
}

const std::map<std::string, Method> kMethods{{"CreateJob", unary(&Stub::CreateJob)},
                                             {"ListJobs", unary(&Stub::ListJobs)},
                                             {"DeleteJob", unary(&Stub::DeleteJob)},
                                             {"StreamMetrics", streaming(&Stub::StreamMetrics)},
                                             {"WatchJobs", streaming(&Stub::WatchJobs)}};

grpc::Status call(const std::vector<std::string>& arguments) {
  const auto root = file_contents(arguments[2]);
  const auto token = file_contents(arguments[3]);
  const auto method = kMethods.find(arguments[4]);
  if (!root || !token || method == kMethods.end())
    return {grpc::StatusCode::INVALID_ARGUMENT, "no such file, or no such method"};
  grpc::SslCredentialsOptions trust;
  trust.pem_root_certs = *root;
  grpc::ChannelArguments options;
  options.SetSslTargetNameOverride(arguments[1]);
  const auto stub =
      JobService::NewStub(grpc::CreateCustomChannel(arguments[0], grpc::SslCredentials(trust), options));
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + *token);
  return method->second(*stub, context, arguments[5]);
}

}  // namespace
}  // namespace caravan

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "usage: caravan-service-client ADDRESS NAME ROOT_FILE TOKEN_FILE METHOD REQUEST\n";
    return 2;
  }
  const grpc::Status status = caravan::call({argv + 1, argv + argc});
  if (status.ok()) return 0;
  std::cerr << fmt::format("{} {}\n", static_cast<int>(status.error_code()), status.error_message());
  return 1;
}
