#include "sim/cuda/mps_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <initializer_list>

#include "sim/cuda/mps_wire.h"
#include "sim/cuda/share.h"
#include "sim/state/holders.h"
#include "sim/state/mig.h"

namespace partita::sim::cuda {
namespace {

using mps::ClientAnswer;
using mps::ClientHello;
using mps::Notice;

// As the process was started, for lists of clients.
void OwnName(char* out, size_t size) {
  out[0] = '\0';
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t length = read(fd, out, size - 1);
  close(fd);
  out[length > 0 ? length : 0] = '\0';
}

// The connection, or -1 with the code. It blocks while the daemon starts a server, and while the
// server of another user has clients.
int Attach(uint32_t context, const DeviceRef& device, ClientAnswer* answer, CUresult* code) {
  *code = CUDA_ERROR_MPS_CONNECTION_FAILED;
  const int fd = mps::Connect(mps::PipeDirectory(), "control");
  if (fd < 0) return -1;
  ClientHello hello{};
  hello.kind = mps::Kind::kClient;
  hello.context = context;
  hello.device = device;
  hello.pid_ns = Self().pid_ns;
  OwnName(hello.name, sizeof hello.name);
  if (mps::Send(fd, &hello, sizeof hello) == 0 &&
      mps::Receive(fd, answer, sizeof *answer, 0) == static_cast<long>(sizeof *answer)) {
    *code = answer->code;
  }
  if (*code == CUDA_SUCCESS) return fd;
  close(fd);
  return -1;
}

bool ListsDevice(const DeviceList& list, const DeviceRef& device) {
  for (uint32_t i = 0; i < list.count; ++i) {
    if (list.devices[i] == device) return true;
  }
  return false;
}

// Of the server's devices, those that this process may open and asks for.
CUresult ChooseFromServer(Session& session, const ClientAnswer& answer) {
  const Machine& machine = session.store.machine();
  const DeviceList usable = session.store.Read([&](const Slot& slot) {
    const Candidates candidates = FindCandidates(machine, slot, true);
    DeviceList kept{};
    for (uint32_t i = 0; i < answer.devices.count && i < kMaxGpus; ++i) {
      const DeviceRef& device = answer.devices.devices[i];
      for (uint32_t j = 0; j < candidates.count; ++j) {
        if (candidates.gpus[j] != device.gpu) continue;
        if (device.gpu_instance == kNone ||
            candidates.may_use(machine, device.gpu, device.gpu_instance, device.compute_instance)) {
          kept.devices[kept.count++] = device;
        }
      }
    }
    return kept;
  });
  return ChooseOffered(machine, usable, getenv("CUDA_VISIBLE_DEVICES"), &session.devices);
}

// The environment may lower the server's share, never raise it; 0 and nonsense are not heard.
double OwnPercentage(double servers) {
  const char* wanted = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  double own = 0.0;
  if (wanted == nullptr || !ParsePercentage(wanted, &own)) return servers;
  return own < servers ? own : servers;
}

// The smaller one holds; a value in the environment that is no number lifts both (seen).
uint64_t OwnLimit(const Session& session, uint32_t ordinal, uint64_t servers) {
  const char* list = getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
  char uuid[kUuidSize];
  NameUuid(session.store.machine(), session.devices.devices[ordinal], uuid);
  uint64_t own = 0;
  if (list == nullptr || !FindLimit(list, ordinal, uuid, &own)) return servers;
  if (own == 0) return 0;
  return servers == 0 || own < servers ? own : servers;
}

}  // namespace

CUresult ConnectToDaemon(Session& session) {
  // A connection that says nothing comes first: is anybody there?
  const int probe = mps::Connect(mps::PipeDirectory(), "control");
  if (probe < 0) return CUDA_SUCCESS;
  close(probe);
  ClientAnswer answer{};
  CUresult code = CUDA_SUCCESS;
  const int fd = Attach(0, {kNone, kNone, kNone}, &answer, &code);
  if (fd < 0) return code;
  code = ChooseFromServer(session, answer);
  if (code != CUDA_SUCCESS) {
    close(fd);
    return code;
  }
  session.mps = fd;
  session.is_mps_client = true;
  session.percentage = OwnPercentage(answer.percentage);
  return CUDA_SUCCESS;
}

CUresult ConnectContext(Session& session, Context& context) {
  ClientAnswer answer{};
  CUresult code = CUDA_SUCCESS;
  const DeviceRef& device = session.devices.devices[context.device];
  context.mps = Attach(session.mps_contexts + 1, device, &answer, &code);
  if (context.mps < 0) return code;
  ++session.mps_contexts;
  session.percentage = OwnPercentage(answer.percentage);
  uint64_t limit = 0;
  for (uint32_t i = 0; i < answer.devices.count && i < kMaxGpus; ++i) {
    if (answer.devices.devices[i] == device) limit = answer.limits[i];
  }
  if (!ListsDevice(answer.devices, device)) return CUDA_ERROR_INVALID_DEVICE;
  session.usages[context.device].limit = OwnLimit(session, context.device, limit);
  return CUDA_SUCCESS;
}

CUresult HearFromServer(Session& session, const Context& context) {
  for (const int fd : {context.mps, session.mps}) {
    Notice notice{};
    const long size = mps::Receive(fd, &notice, sizeof notice, MSG_DONTWAIT);
    if (size == 0) return CUDA_ERROR_MPS_RPC_FAILURE;
    if (size == static_cast<long>(sizeof notice)) return notice.code;
  }
  return CUDA_SUCCESS;
}

CUresult LaunchOnServer(const Context& context, CUresult code) {
  const Notice launch{mps::Kind::kLaunch, code};
  Notice answer{};
  if (mps::Send(context.mps, &launch, sizeof launch) != 0 ||
      mps::Receive(context.mps, &answer, sizeof answer, 0) != static_cast<long>(sizeof answer)) {
    return CUDA_ERROR_MPS_RPC_FAILURE;
  }
  return answer.code;
}

}  // namespace partita::sim::cuda
