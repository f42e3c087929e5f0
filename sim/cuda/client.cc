// A small CUDA program for tests. It knows nothing of the simulator: libcuda.so.1 is loaded by
// name, and the same binary runs on a real GPU.
//
//   client [STEP…]     each step prints a line; a failed one its code and text, and the next goes
//   on
//
//   devices            ordinal, name, UUID, compute capability, multiprocessors, memory of each
//   context [N]        a context on device N (else 0)
//   alloc SIZE         512M, 2G; a number alone is bytes
//   free               the last allocation
//   room               free and total MiB
//   copy               bytes to the device and back
//   kernel             an empty kernel, and wait for it
//   fault              a kernel with an illegal access, and wait for it
//   sync               wait for the device
//   destroy            the context
//   wait               until a line, or the end, comes on standard input
//   fork               the steps after it in a child

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Result = int;
using Pointer = std::uint64_t;

constexpr char kImage[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry empty()\n{\n  ret;\n}\n"
    ".visible .entry illegal_access()\n{\n  .reg .u64 %a;\n  .reg .u32 %v;\n"
    "  mov.u64 %a, 16;\n  mov.u32 %v, 1;\n  st.global.u32 [%a], %v;\n  ret;\n}\n";

void* library = nullptr;

template <class... Arguments>
Result Ask(const char* name, Arguments... arguments) {
  auto* function = reinterpret_cast<Result (*)(Arguments...)>(dlsym(library, name));
  if (function == nullptr) {
    std::printf("no %s\n", name);
    std::exit(2);
  }
  return function(arguments...);
}

std::string TextOf(Result code) {
  const char* text = nullptr;
  Ask("cuGetErrorString", code, &text);
  return std::to_string(code) + " " + (text == nullptr ? "?" : text);
}

void Say(const std::string& step, Result code) {
  std::printf("%s: %s\n", step.c_str(), TextOf(code).c_str());
  std::fflush(stdout);
}

std::size_t SizeOf(const std::string& text) {
  char* unit = nullptr;
  const double number = std::strtod(text.c_str(), &unit);
  const double factor = *unit == 'G' ? 1073741824.0 : *unit == 'M' ? 1048576.0 : 1.0;
  return static_cast<std::size_t>(number * factor);
}

int AttributeOf(int attribute, int device) {
  int value = -1;
  Ask("cuDeviceGetAttribute", &value, attribute, device);
  return value;
}

std::string UuidOf(int device) {
  unsigned char bytes[16] = {};
  Ask("cuDeviceGetUuid_v2", &bytes[0], device);
  std::string text;
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(digits);
  }
  return text;
}

void ShowDevices() {
  int count = 0;
  const Result code = Ask("cuDeviceGetCount", &count);
  if (code != 0) return Say("devices", code);
  for (int device = 0; device < count; ++device) {
    char name[128] = "";
    std::size_t bytes = 0;
    Ask("cuDeviceGetName", &name[0], 128, device);
    Ask("cuDeviceTotalMem_v2", &bytes, device);
    std::printf("device %d: %s, %s, %d.%d, %d multiprocessors, %zu MiB\n", device, name,
                UuidOf(device).c_str(), AttributeOf(75, device), AttributeOf(76, device),
                AttributeOf(16, device), bytes >> 20);
  }
  std::fflush(stdout);
}

void ShowRoom() {
  std::size_t free = 0, total = 0;
  const Result code = Ask("cuMemGetInfo_v2", &free, &total);
  if (code != 0) return Say("room", code);
  std::printf("room: %zu of %zu MiB\n", free >> 20, total >> 20);
  std::fflush(stdout);
}

Result Copy() {
  const std::string sent = "sixteen bytes...";
  std::string back(sent.size(), '\0');
  Pointer pointer = 0;
  Result code = Ask("cuMemAlloc_v2", &pointer, sent.size());
  if (code == 0)
    code = Ask("cuMemcpyHtoD_v2", pointer, static_cast<const void*>(sent.data()), sent.size());
  if (code == 0)
    code = Ask("cuMemcpyDtoH_v2", static_cast<void*>(back.data()), pointer, back.size());
  if (code == 0) code = Ask("cuMemFree_v2", pointer);
  return code == 0 && back != sent ? -1 : code;
}

Result RunKernel(const char* name) {
  static void* module = nullptr;  // for all kernels: it has both
  void* function = nullptr;
  void** none = nullptr;
  void* stream = nullptr;
  Result code =
      module != nullptr ? 0 : Ask("cuModuleLoadData", &module, static_cast<const void*>(kImage));
  if (code == 0) code = Ask("cuModuleGetFunction", &function, module, name);
  if (code == 0)
    code = Ask("cuLaunchKernel", function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, stream, none, none);
  return code == 0 ? Ask("cuCtxSynchronize") : code;
}

void Fork() {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  waitpid(child, &status, 0);
  std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

std::vector<Pointer> allocations;
void* context = nullptr;

void Allocate(const std::string& size) {
  Pointer pointer = 0;
  const Result code = Ask("cuMemAlloc_v2", &pointer, SizeOf(size));
  if (code == 0) allocations.push_back(pointer);
  Say("alloc " + size, code);
}

Result FreeLast() {
  const Pointer last = allocations.empty() ? 0 : allocations.back();
  if (!allocations.empty()) allocations.pop_back();
  return Ask("cuMemFree_v2", last);
}

void AwaitLine() {
  int c = 0;
  do {
    c = std::getchar();
  } while (c != EOF && c != '\n');
}

// A step that takes no word. False: there is none by that name.
bool DoStep(const std::string& step) {
  if (step == "devices") {
    ShowDevices();
  } else if (step == "room") {
    ShowRoom();
  } else if (step == "wait") {
    AwaitLine();
  } else if (step == "fork") {
    Fork();
  } else if (step == "free") {
    Say(step, FreeLast());
  } else if (step == "copy") {
    Say(step, Copy());
  } else if (step == "kernel") {
    Say(step, RunKernel("empty"));
  } else if (step == "fault") {
    Say(step, RunKernel("illegal_access"));
  } else if (step == "sync") {
    Say(step, Ask("cuCtxSynchronize"));
  } else if (step == "destroy") {
    Say(step, Ask("cuCtxDestroy_v2", context));
  } else {
    return false;
  }
  return true;
}

bool IsNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

int main(int count, char** words) {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    std::printf("%s\n", dlerror());
    return 2;
  }
  Say("init", Ask("cuInit", 0U));
  for (int i = 1; i < count; ++i) {
    const std::string step = words[i];
    const std::string next = i + 1 < count ? words[i + 1] : "";
    if (step == "context") {
      const int device = IsNumber(next) ? std::atoi(words[++i]) : 0;
      Say(step, Ask("cuCtxCreate_v2", &context, 0U, device));
    } else if (step == "alloc") {
      Allocate(next);
      ++i;
    } else if (!DoStep(step)) {
      std::printf("unknown step %s\n", step.c_str());
      return 2;
    }
  }
  return 0;
}
