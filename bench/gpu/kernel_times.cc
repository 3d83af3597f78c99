// libcaravan_kernel_times: what a device did, kernel by kernel, in any program of CUDA's.
//
// CUDA's driver loads the library that CUDA_INJECTION64_PATH names. At the end of the program it writes a
// line "BEGIN END NAME" for each kernel, copy and fill, times in nanoseconds of the device's clock, into the
// file CARAVAN_KERNEL_TIMES. A program that ends without exit handlers leaves no file.
#include <cupti.h>
#include <cxxabi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

constexpr std::size_t kBufferBytes = std::size_t{8} << 20;

struct Work {
  std::uint64_t begin, end;
  const char* name;
};

std::vector<Work>& all_work() {
  static auto* const all = new std::vector<Work>;  // CUPTI's threads may outlive static objects
  return *all;
}

void warn_of(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return;
  const char* words = "unknown";
  (void)cuptiGetResultString(result, &words);
  std::fprintf(stderr, "kernel times: %s: %s\n", what, words);
}

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = kBufferBytes;
  *most_records = 0;
}

void note(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
      all_work().push_back({kernel.start, kernel.end, kernel.name});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
      all_work().push_back({copy.start, copy.end, "copy"});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
      all_work().push_back({fill.start, fill.end, "fill"});
      break;
    }
    default:
      break;
  }
}

// On a thread of CUPTI's, and at the end on the one that asks for what is left.
void take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                 std::size_t valid) {
  static auto* const one_at_a_time = new std::mutex;
  const std::scoped_lock lock(*one_at_a_time);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) note(*record);
  std::free(buffer);
  std::size_t dropped = 0;
  warn_of(cuptiActivityGetNumDroppedRecords(context, stream, &dropped), "asking for what was dropped");
  if (dropped > 0) std::fprintf(stderr, "kernel times: %zu works are not in the file\n", dropped);
}

std::string readable(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 ? plain.get() : name;
}

void write_all() {
  warn_of(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "asking for what is left");
  const char* const path = std::getenv("CARAVAN_KERNEL_TIMES");
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "w");
  if (file == nullptr) return std::perror("kernel times: opening the file of CARAVAN_KERNEL_TIMES");
  std::unordered_map<std::string_view, std::string> names;
  for (const Work& work : all_work()) {
    auto found = names.find(work.name);
    if (found == names.end()) found = names.emplace(work.name, readable(work.name)).first;
    std::fprintf(file, "%llu %llu %s\n", static_cast<unsigned long long>(work.begin),
                 static_cast<unsigned long long>(work.end), found->second.c_str());
  }
  std::fclose(file);
}

}  // namespace

// Called by the driver when the program first uses CUDA.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  warn_of(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "beginning");
  for (const auto kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
    warn_of(cuptiActivityEnable(kind), "beginning");
  std::atexit(write_all);
  std::at_quick_exit(write_all);  // as ranks end
  return 1;
}
