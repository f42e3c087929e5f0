// What the simulated MPS programs and libcuda say to each other over the sockets of the pipe
// directory. NVIDIA's protocol is not known; this one is our own, and whole messages (SEQPACKET).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sim/cuda/devices.h"
#include "sim/state/layout.h"

namespace partita::sim::mps {

inline constexpr char kDefaultPipeDirectory[] = "/tmp/nvidia-mps";
inline constexpr size_t kMostText = 65536;

enum class Kind : uint32_t {
  kCommand = 1,   // a person's: text follows
  kAnswer,        // text follows
  kClient,        // ClientHello, to the daemon and on to the server
  kClientAnswer,  // ClientAnswer, from the server
  kServer,        // a server says that it is there
  kReady,         // …and takes clients
  kNewClient,     // NewClient with the client's socket, daemon to server
  kRequest,       // the daemon's to a server: text follows, answered by kAnswer
  kLaunch,        // Notice: a client starts a kernel; code 700: it faults
  kNotice,        // Notice: the server's answer to kLaunch, or an error that ends the client's work
};

struct TextFrame {
  Kind kind;
  char text[kMostText];
};

struct ClientHello {
  Kind kind;
  uint32_t context;  // 0: the process itself, made by cuInit; then 1, 2, …
  cuda::DeviceRef device;
  uint64_t pid_ns;
  char name[64];
};

struct ClientAnswer {
  Kind kind;
  int32_t code;  // a CUresult
  uint32_t server_pid;
  double percentage;
  cuda::DeviceList devices;
  uint64_t limits[kMaxGpus];  // bytes; 0: none
};

struct NewClient {
  Kind kind;
  uint32_t pid;  // as the server sees it; 0: in a PID namespace that it does not see
  uint32_t uid;
  ClientHello hello;
};

struct Notice {
  Kind kind;
  int32_t code;
};

// CUDA_MPS_PIPE_DIRECTORY or the default.
const char* PipeDirectory();

// A descriptor, or -errno.
int Connect(const char* directory, const char* socket_name);

// 0 or an errno. A message may carry a descriptor; -1: none.
int Send(int socket, const void* message, size_t size, int descriptor = -1);
// The size of the message; 0: the other side is gone; -errno. `descriptor` may be null.
long Receive(int socket, void* message, size_t size, int flags, int* descriptor = nullptr);

}  // namespace partita::sim::mps
