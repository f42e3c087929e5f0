// An NVML client that performs one operation and ends: what the torture tests kill and what
// recovers afterwards.
//
//   client LIBRARY do OPERATION…     perform it; prints what NVML answered
//   client LIBRARY trace OPERATION…  the same between two breakpoints (int3) that a tracer waits
//   for client LIBRARY list              print the node in the form of DescribeState client LIBRARY
//   serve             for each byte on standard input: a fresh process recovers, see
//                                    recovery.h
//
// OPERATION: set-mode GPU MODE · create-gi GPU PROFILE · create-gi-at GPU PROFILE START SIZE ·
//            create-ci GPU GI PROFILE · destroy-ci GPU GI CI · destroy-gi GPU GI
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "nvml_library.h"
#include "recovery.h"

namespace partita::torture {
namespace {

using base::Result;
using Numbers = std::vector<unsigned>;

struct Operation {
  const char* name;
  std::size_t arguments;
  // Looks up what it needs and returns the one call to make.
  Result<std::function<int()>> (*prepare)(const Nvml& nvml, Handle gpu, const Numbers& arguments);
};

Result<Slice> FindSlice(const Nvml& nvml, Handle gpu, unsigned id) {
  TRY(slices, ReadSlices(nvml, gpu));
  for (const Slice& slice : slices) {
    if (slice.view.id == id) return slice;
  }
  return base::MakeError(base::ErrorCode::kNotFound, "no GPU instance {}", id);
}

Result<std::function<int()>> PrepareSetMode(const Nvml& nvml, Handle gpu, const Numbers& numbers) {
  return std::function<int()>([=] {
    int activation = -1;
    return nvml.SetMigMode(gpu, numbers[1], &activation);
  });
}

Result<std::function<int()>> PrepareCreateGpuInstance(const Nvml& nvml,
                                                      Handle gpu,
                                                      const Numbers& numbers) {
  return std::function<int()>([=] {
    Handle created = nullptr;
    return nvml.CreateGpuInstance(gpu, numbers[1], &created);
  });
}

Result<std::function<int()>> PrepareCreateGpuInstanceAt(const Nvml& nvml,
                                                        Handle gpu,
                                                        const Numbers& numbers) {
  return std::function<int()>([=] {
    Handle created = nullptr;
    const Placement placement{numbers[2], numbers[3]};
    return nvml.CreateGpuInstanceAt(gpu, numbers[1], &placement, &created);
  });
}

Result<std::function<int()>> PrepareCreateComputeInstance(const Nvml& nvml,
                                                          Handle gpu,
                                                          const Numbers& numbers) {
  TRY(slice, FindSlice(nvml, gpu, numbers[1]));
  return std::function<int()>([&nvml, handle = slice.handle, profile = numbers[2]] {
    Handle created = nullptr;
    return nvml.CreateComputeInstance(handle, profile, &created);
  });
}

Result<std::function<int()>> PrepareDestroyComputeInstance(const Nvml& nvml,
                                                           Handle gpu,
                                                           const Numbers& numbers) {
  TRY(slice, FindSlice(nvml, gpu, numbers[1]));
  for (const ComputeSlice& compute : slice.compute) {
    if (compute.view.id != numbers[2]) continue;
    return std::function<int()>(
        [&nvml, handle = compute.handle] { return nvml.DestroyComputeInstance(handle); });
  }
  return base::MakeError(base::ErrorCode::kNotFound, "no compute instance {}", numbers[2]);
}

Result<std::function<int()>> PrepareDestroyGpuInstance(const Nvml& nvml,
                                                       Handle gpu,
                                                       const Numbers& numbers) {
  TRY(slice, FindSlice(nvml, gpu, numbers[1]));
  return std::function<int()>(
      [&nvml, handle = slice.handle] { return nvml.DestroyGpuInstance(handle); });
}

constexpr Operation kOperations[] = {
    {"set-mode", 2, PrepareSetMode},
    {"create-gi", 2, PrepareCreateGpuInstance},
    {"create-gi-at", 4, PrepareCreateGpuInstanceAt},
    {"create-ci", 3, PrepareCreateComputeInstance},
    {"destroy-ci", 3, PrepareDestroyComputeInstance},
    {"destroy-gi", 2, PrepareDestroyGpuInstance},
};

Result<std::function<int()>> Prepare(const Nvml& nvml, const std::vector<std::string>& words) {
  for (const Operation& operation : kOperations) {
    if (words.empty() || words[0] != operation.name || words.size() != operation.arguments + 1) {
      continue;
    }
    Numbers numbers;
    for (std::size_t i = 1; i < words.size(); ++i) {
      numbers.push_back(static_cast<unsigned>(std::strtoul(words[i].c_str(), nullptr, 10)));
    }
    Handle gpu = nullptr;
    if (const int code = nvml.GetHandleByIndex(numbers[0], &gpu); code != kSuccess) {
      return CallFailed("DeviceGetHandleByIndex_v2", code);
    }
    return operation.prepare(nvml, gpu, numbers);
  }
  return base::MakeError(base::ErrorCode::kInvalid,
                         "not an operation with its arguments (see client.cc)");
}

Result<void> Clear(const Nvml& nvml) {
  unsigned count = 0;
  if (const int code = nvml.GetCount(&count); code != kSuccess) {
    return CallFailed("DeviceGetCount_v2", code);
  }
  for (unsigned index = 0; index < count; ++index) {
    Handle gpu = nullptr;
    if (const int code = nvml.GetHandleByIndex(index, &gpu); code != kSuccess) {
      return CallFailed("DeviceGetHandleByIndex_v2", code);
    }
    TRY(slices, ReadSlices(nvml, gpu));
    for (const Slice& slice : slices) {
      for (const ComputeSlice& compute : slice.compute) {
        const int code = nvml.DestroyComputeInstance(compute.handle);
        if (code != kSuccess) return CallFailed("ComputeInstanceDestroy", code);
      }
      const int code = nvml.DestroyGpuInstance(slice.handle);
      if (code != kSuccess) return CallFailed("GpuInstanceDestroy", code);
    }
    unsigned processes = 0;
    const int code = nvml.GetComputeProcesses(gpu, &processes, nullptr);
    if (code != kSuccess || processes != 0) {
      return CallFailed("DeviceGetComputeRunningProcesses_v3 on an idle GPU", code);
    }
  }
  return {};
}

inline void Breakpoint() { asm volatile("int3"); }

Result<int> Perform(const Nvml& nvml, const std::vector<std::string>& words, bool traced) {
  TRY(operation, Prepare(nvml, words));
  if (traced) Breakpoint();
  const int code = operation();
  if (traced) Breakpoint();
  std::printf("%d\n", code);
  return code;
}

Result<int> Run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) {
    return base::MakeError(base::ErrorCode::kInvalid,
                           "usage: client LIBRARY do|trace|list|clear|serve [OPERATION…]");
  }
  TRY(nvml, LoadNvml(arguments[0]));
  const std::string& verb = arguments[1];
  // The server itself never initialises: each recovery is a process that has not used the library.
  if (verb == "serve") return ServeRecoveries(nvml);
  if (const int code = nvml.Init(); code != kSuccess) return CallFailed("Init_v2", code);
  if (verb == "list") {
    TRY(text, DescribeNode(nvml));
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  if (verb == "clear") {
    TRY_VOID(Clear(nvml));
    return 0;
  }
  return Perform(nvml, {arguments.begin() + 2, arguments.end()}, verb == "trace");
}

}  // namespace
}  // namespace partita::torture

int main(int argc, char** argv) {
  const auto result = partita::torture::Run({argv + 1, argv + argc});
  if (result.ok()) return *result == 0 ? 0 : 1;
  std::fprintf(stderr, "client: %s\n", result.error().ToString().c_str());
  return 2;
}
