#include "sim/nvml/descriptors.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sim/nvml/api.h"
#include "sim/state/access.h"

namespace partita::sim::nvml {
namespace {

constexpr uint32_t kNodesOfAHandle = 2;
constexpr uint32_t kEventfds = 2;

struct GpuNode {
  char path[32];
  uint32_t minor;
};

GpuNode NodeOf(uint32_t gpu) {
  GpuNode node{};
  node.minor = TheMachine().boards[gpu].minor;
  snprintf(node.path, sizeof node.path, "/dev/nvidia%u", node.minor);
  return node;
}

// Without the driver a node cannot be opened; its descriptor shows in /proc/<pid>/fd all the same.
int OpenPath(const char* path) { return open(path, O_PATH | O_CLOEXEC); }

}  // namespace

int KeepNode(Session& session, const char* path, uint32_t major, uint32_t minor, int mode) {
  const int error = Grant(path, major, minor, mode);
  if (error != 0) return error;
  const int fd = OpenPath(path);
  if (fd >= 0 && session.node_count < kMaxNodes) {
    session.nodes[session.node_count++] = fd;
  } else if (fd >= 0) {
    close(fd);
  }
  return 0;
}

int KeepGpuNode(Session& session, uint32_t gpu) {
  const GpuNode node = NodeOf(gpu);
  return KeepNode(session, node.path, TheMachine().major_gpu, node.minor, O_RDWR);
}

void CloseNodes(Session& session) {
  for (uint32_t i = 0; i < session.node_count; ++i) close(session.nodes[i]);
  session.node_count = 0;
  for (uint32_t& has_handle : session.has_handle)
    __atomic_store_n(&has_handle, 0, __ATOMIC_RELAXED);
}

void KeepHandleNodes(uint32_t gpu) {
  Session& session = TheSession();
  if (session.visibility == 0) return;
  if (__atomic_load_n(&session.has_handle[gpu], __ATOMIC_RELAXED) != 0) return;
  ScopedLock lock(&session.lock);
  if (!Initialised() || session.has_handle[gpu] != 0) return;
  __atomic_store_n(&session.has_handle[gpu], 1, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < kNodesOfAHandle; ++i) KeepGpuNode(session, gpu);
}

int OpenGpuNode(uint32_t gpu) {
  if (TheSession().visibility == 0) return -1;
  const GpuNode node = NodeOf(gpu);
  if (Grant(node.path, TheMachine().major_gpu, node.minor, O_RDWR) != 0) return -1;
  return OpenPath(node.path);
}

void MakeWakeDescriptors(Session& session) {
  if (session.has_wakes != 0) return;
  session.has_wakes = 1;
  for (uint32_t i = 0; i < kEventfds; ++i) (void)eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  for (int i = 0; i < 2; ++i) {
    int ends[2];
    // They are for the process to have, not for anybody to use.
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  }
}

}  // namespace partita::sim::nvml
