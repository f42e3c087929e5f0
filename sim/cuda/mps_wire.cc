#include "sim/cuda/mps_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace partita::sim::mps {

const char* PipeDirectory() {
  const char* wanted = getenv("CUDA_MPS_PIPE_DIRECTORY");
  return wanted != nullptr && wanted[0] != '\0' ? wanted : kDefaultPipeDirectory;
}

int Connect(const char* directory, const char* socket_name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length =
      snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", directory, socket_name);
  if (length < 0 || static_cast<size_t>(length) >= sizeof address.sun_path) return -ENAMETOOLONG;
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  int connected = 0;
  do {
    connected = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (connected != 0 && errno == EINTR);
  if (connected == 0) return fd;
  const int error = errno;
  close(fd);
  return -error;
}

int Send(int socket, const void* message, size_t size, int descriptor) {
  iovec part{const_cast<void*>(message), size};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    header.msg_control = room;
    header.msg_controllen = sizeof room;
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  while (sendmsg(socket, &header, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

long Receive(int socket, void* message, size_t size, int flags, int* descriptor) {
  iovec part{message, size};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  header.msg_control = room;
  header.msg_controllen = sizeof room;
  ssize_t received = 0;
  do {
    received = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return errno == ECONNRESET ? 0 : -errno;
  int carried = -1;
  for (cmsghdr* part_of = CMSG_FIRSTHDR(&header); part_of != nullptr;
       part_of = CMSG_NXTHDR(&header, part_of)) {
    if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
    memcpy(&carried, CMSG_DATA(part_of), sizeof carried);
  }
  if (descriptor != nullptr) {
    *descriptor = carried;
  } else if (carried >= 0) {
    close(carried);
  }
  return static_cast<long>(received);
}

}  // namespace partita::sim::mps
