#include "worker/trainer/device/open_backend.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "common/version.h"
#include "worker/trainer/comm/network_groups.h"
#include "worker/trainer/device/cpu_backend.h"
#include "worker/trainer/device/plugin.h"

namespace caravan::trainer {
namespace {

std::string no_gpu(const std::string& why, const std::string& remedy) {
  return fmt::format("spec.resources.device.kind is GPU, but {}; {}", why, remedy);
}

std::string last_loader_error() {
  const char* const error = dlerror();
  return error == nullptr ? "no reason was given" : error;
}

// The node brings the driver. Other reasons of the loader, such as a volume that fails, may be gone the next
// time.
tl::unexpected<Error> not_loaded(const std::string& reason) {
  const std::string why = fmt::format("the library for GPUs cannot be loaded ({})", reason);
  if (reason.starts_with("libcuda.so") || reason.starts_with("libnvidia-"))
    return failure(no_gpu(why, "run the job where there is NVIDIA's driver for CUDA 13, or set kind: CPU"));
  const auto says = [&](const char* words) { return reason.find(words) != std::string::npos; };
  const std::string message =
      no_gpu(why,
             "take the worker image for NVIDIA GPUs (./dev image --cuda; spec.worker.image, or "
             "images.workerCuda for all jobs), or where there is no image build/gpu/bin/caravan of "
             "./dev build gpu");
  const bool would_fail_anywhere = says("No such file or directory") || says("undefined symbol");
  return would_fail_anywhere ? bad_input(message) : failure(message);
}

// Stays open: kernels, and what LibTorch keeps of them, are in it until the process ends.
Result<void*> open_library(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return not_loaded(last_loader_error());
  const auto version = reinterpret_cast<PluginVersion>(dlsym(library, kPluginVersion));
  const std::string found = version == nullptr ? "none" : version();
  if (found != caravan::version())
    return bad_input(no_gpu(
        fmt::format("{} is of version {} and the trainer of version {}", path, found, caravan::version()),
        "take both from one build"));
  return library;
}

DeviceRequest request_of(const TrainerOptions& options) {
  const int tensor = options.layout.mesh.tensor;
  return {.local_rank = options.local_rank,
          .storage = options.precision == Precision::BF16 ? at::kBFloat16 : at::kFloat,
          .attention = {.sequences = 1,
                        .heads = options.model.heads / tensor,
                        .kv_heads = options.model.kv_heads / tensor,
                        .head_dim = options.model.head_dim}};
}

std::unique_ptr<AllocationListener> tally(MemoryCounter& counter) {
  return std::make_unique<AllocationTally>(counter);
}

}  // namespace

Result<std::unique_ptr<DeviceBackend>> open_backend(const TrainerOptions& options,
                                                    const std::string& library_folder) {
  if (options.device == DeviceKind::Cpu) return cpu_backend();
  const Result<void*> library = open_library(fmt::format("{}/{}", library_folder, kPluginFile));
  if (!library) return tl::unexpected(library.error());
  const auto open = reinterpret_cast<OpenDevice>(dlsym(*library, kOpenDevice));
  if (open == nullptr)
    return bad_input(no_gpu(last_loader_error(), "take trainer and library from one build"));
  Result<std::unique_ptr<DeviceBackend>> opened;
  open(request_of(options), {.tally = tally, .groups_of_hosts = network_groups}, opened);
  return opened;
}

Result<std::unique_ptr<DeviceBackend>> open_backend(const TrainerOptions& options) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return failure(fmt::format("/proc/self/exe cannot be read: {}", error.message()));
  return open_backend(options, (program.parent_path().parent_path() / "lib").string());
}

}  // namespace caravan::trainer
