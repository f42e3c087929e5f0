// A library that a hostile image has loaded into the host's programs, if one lets it: it leaves a
// mark on the machine. Inside the container the same path is a file of the container, and harms
// nobody.
#include <fcntl.h>
#include <unistd.h>

__attribute__((constructor)) static void LeaveMark(void) {
  const int fd = open("/run/partita-evil", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
}
