#include "recovery.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace partita::torture {
namespace {

using base::Result;

struct Answer {
  std::int32_t status;  // 0: the text is the listing; else what went wrong
  std::uint32_t length;
};

bool WriteAll(int fd, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t wrote = write(fd, at, size);
    if (wrote <= 0) return false;
    at += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
  return true;
}

bool ReadAll(int fd, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = read(fd, at, size);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// A GPU instance of the first profile that fits, with a compute instance, and away with both.
// Returns false when nothing fits.
Result<bool> CreateAndDestroy(const Nvml& nvml, Handle gpu) {
  TRY(profiles, ReadProfileIds(nvml, gpu));
  for (const unsigned profile : profiles) {
    Handle instance = nullptr;
    int code = nvml.CreateGpuInstance(gpu, profile, &instance);
    if (code == kInsufficientResources) continue;
    if (code != kSuccess) return CallFailed("DeviceCreateGpuInstance", code);
    Handle compute = nullptr;
    code = nvml.CreateComputeInstance(instance, 0, &compute);
    if (code != kSuccess) return CallFailed("GpuInstanceCreateComputeInstance", code);
    code = nvml.DestroyComputeInstance(compute);
    if (code != kSuccess) return CallFailed("ComputeInstanceDestroy", code);
    code = nvml.DestroyGpuInstance(instance);
    if (code != kSuccess) return CallFailed("GpuInstanceDestroy", code);
    return true;
  }
  return false;
}

Result<void> DestroyOne(const Nvml& nvml, Handle gpu) {
  TRY(slices, ReadSlices(nvml, gpu));
  if (slices.empty()) {
    return base::MakeError(base::ErrorCode::kConflict, "nothing fits on an empty GPU");
  }
  for (const ComputeSlice& compute : slices.front().compute) {
    const int code = nvml.DestroyComputeInstance(compute.handle);
    if (code != kSuccess) return CallFailed("ComputeInstanceDestroy", code);
  }
  const int code = nvml.DestroyGpuInstance(slices.front().handle);
  if (code != kSuccess) return CallFailed("GpuInstanceDestroy", code);
  return {};
}

Result<std::string> RecoverHere(const Nvml& nvml) {
  if (const int code = nvml.Init(); code != kSuccess) return CallFailed("Init_v2", code);
  TRY(before, DescribeNode(nvml));
  unsigned count = 0;
  if (const int code = nvml.GetCount(&count); code != kSuccess) {
    return CallFailed("DeviceGetCount_v2", code);
  }
  bool changed = false, shrank = false;
  for (unsigned index = 0; index < count; ++index) {
    Handle gpu = nullptr;
    unsigned current = 0, pending = 0;
    if (const int code = nvml.GetHandleByIndex(index, &gpu); code != kSuccess) {
      return CallFailed("DeviceGetHandleByIndex_v2", code);
    }
    if (nvml.GetMigMode(gpu, &current, &pending) != kSuccess || current != 1) continue;
    changed = true;
    TRY(fitted, CreateAndDestroy(nvml, gpu), "gpu {}", index);
    if (!fitted) TRY_VOID(DestroyOne(nvml, gpu), "gpu {}", index);
    shrank = shrank || !fitted;
  }
  if (!changed) {
    return base::MakeError(base::ErrorCode::kInvalid,
                           "no GPU of the node has MIG on: nothing was recovered");
  }
  TRY(after, DescribeNode(nvml));
  if (!shrank && after != before) {
    return base::MakeError(base::ErrorCode::kInternal, "before:\n{}after:\n{}", before, after);
  }
  return before;
}

// In the fork: answers and ends without running what the server registered.
[[noreturn]] void AnswerAndExit(const Nvml& nvml) {
  alarm(30);  // a lock that nobody releases must end as a message, not as a test that hangs
  const auto seen = RecoverHere(nvml);
  const std::string text = seen.ok() ? *seen : seen.error().ToString();
  const Answer answer{seen.ok() ? 0 : 1, static_cast<std::uint32_t>(text.size())};
  const bool sent = WriteAll(STDOUT_FILENO, &answer, sizeof answer) &&
                    WriteAll(STDOUT_FILENO, text.data(), text.size());
  _exit(sent ? 0 : 1);
}

}  // namespace

Result<int> ServeRecoveries(const Nvml& nvml) {
  char request = 0;
  while (ReadAll(STDIN_FILENO, &request, 1)) {
    const pid_t pid = fork();
    if (pid < 0) return base::ErrnoError("fork");
    if (pid == 0) AnswerAndExit(nvml);
    int status = 0;
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      const std::string text = fmt::format("the recovering process ended with {:#x}", status);
      const Answer answer{1, static_cast<std::uint32_t>(text.size())};
      WriteAll(STDOUT_FILENO, &answer, sizeof answer);
      WriteAll(STDOUT_FILENO, text.data(), text.size());
    }
  }
  return 0;
}

Result<RecoveryServer> RecoveryServer::Start(const std::string& client,
                                             const std::string& library) {
  int requests[2], answers[2];
  if (pipe2(requests, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) {
    return base::ErrnoError("pipe");
  }
  const pid_t pid = fork();
  if (pid < 0) return base::ErrnoError("fork");
  if (pid == 0) {
    dup2(requests[0], STDIN_FILENO);
    dup2(answers[1], STDOUT_FILENO);
    execl(client.c_str(), client.c_str(), library.c_str(), "serve", nullptr);
    _exit(127);
  }
  close(requests[0]);
  close(answers[1]);
  return RecoveryServer(pid, requests[1], answers[0]);
}

RecoveryServer::RecoveryServer(RecoveryServer&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      requests_(std::exchange(other.requests_, -1)),
      answers_(std::exchange(other.answers_, -1)) {}

RecoveryServer::~RecoveryServer() {
  if (pid_ < 0) return;
  close(requests_);
  close(answers_);
  waitpid(pid_, nullptr, 0);
}

Result<std::string> RecoveryServer::Recover() {
  Answer answer{};
  if (!WriteAll(requests_, "r", 1) || !ReadAll(answers_, &answer, sizeof answer)) {
    return base::MakeError(base::ErrorCode::kIo, "the recovery server is gone");
  }
  std::string text(answer.length, '\0');
  if (!ReadAll(answers_, text.data(), text.size())) {
    return base::MakeError(base::ErrorCode::kIo, "the recovery server is gone");
  }
  if (answer.status != 0) return base::MakeError(base::ErrorCode::kInternal, "{}", text);
  return text;
}

}  // namespace partita::torture
