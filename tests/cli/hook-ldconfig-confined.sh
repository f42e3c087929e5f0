#!/usr/bin/env bash
# ldconfig runs from a sealed copy in memory, in namespaces of its own with the container as its root, without the
# kernel's files, an environment, network, or a way to execute something; it does not wait for the disk. Debian's script beside ldconfig.real is not
# taken, one with a loader neither (CVE-2024-0135 to -0137). Its own failure is the hook's.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
cat >"$work/spy.c" <<'C'
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <dirent.h>
#include <unistd.h>
extern char** environ;
static int Entries(const char* path) {
  DIR* directory = opendir(path);
  int count = 0;
  while (directory && readdir(directory)) ++count;
  if (directory) closedir(directory);
  return directory ? count - 2 : -1;
}
int main(int argc, char** argv) {
  FILE* out = fopen("/etc/spied", "w");
  char* none[] = {NULL};
  for (int i = 0; i < argc; ++i) fprintf(out, "%s ", argv[i]);
  fprintf(out, "\nenvironment %d pid %d\n", environ[0] != NULL, getpid());
  fprintf(out, "proc %d sys %d dev %d host %d\n", Entries("/proc"), Entries("/sys"), Entries("/dev"), access("/work", F_OK) == 0);
  for (int fd = 0; fd < 64; ++fd)
    if (fd != 1 && fd != 2 && fd != fileno(out) && fcntl(fd, F_GETFD) >= 0) fprintf(out, "open %d\n", fd);
  errno = 0, execve("/bin/image", none, none);
  fprintf(out, "exec %s\n", strerror(errno));
  errno = 0, socket(AF_INET, SOCK_STREAM, 0);
  fprintf(out, "socket %s\n", strerror(errno));
  errno = 0, mount("x", "/etc", "tmpfs", 0, NULL);
  fprintf(out, "mount %s\n", strerror(errno));
  errno = 0, mknod("/etc/node", S_IFCHR | 0666, 0x103);
  fprintf(out, "mknod %s\n", strerror(errno));
  errno = 0, chroot("/");
  fprintf(out, "chroot %s\n", strerror(errno));
  errno = 0, chown("/etc/spied", 1, 1);
  fprintf(out, "chown %s\n", strerror(errno));
  // Of no file at all: whoever does not sync does not notice.
  fprintf(out, "sync %d %d\n", fsync(-1), fdatasync(-1));
  fclose(out);
  fprintf(stderr, "the spy ends\n");
  return access("/etc/fail", F_OK) == 0 ? 3 : 0;
}
C
gcc -static -O1 -w -o "$work/spy.real" "$work/spy.c"
printf '#!/bin/sh\necho "the script ran" >&2\nexit 9\n' >"$work/spy"
chmod +x "$work/spy"
mkdir -p "$rootfs"/{proc,sys,dev,bin}
echo 1 >"$rootfs/proc/from-the-image"
mknod "$rootfs/dev/null" c 1 3
cp "$work/spy.real" "$rootfs/bin/image"

SECRET=1 run 0 hook update-ldcache --ldconfig-path "@$work/spy"
diff - "$rootfs/etc/spied" >&2 <<'TEXT' || fail "it sees or may do something else"
ldconfig -f /etc/ld.so.conf -C /etc/ld.so.cache 
environment 0 pid 1
proc 0 sys 0 dev 0 host 0
exec Operation not permitted
socket Operation not permitted
mount Operation not permitted
mknod Operation not permitted
chroot Operation not permitted
chown Operation not permitted
sync 0 0
TEXT
touch "$rootfs/etc/fail"
run 1 hook update-ldcache --ldconfig-path "$work/spy"
complains "update-ldcache: ldconfig ended with status 3: the spy ends"

rm "$work/spy.real" "$rootfs/etc/fail" "$rootfs/etc/spied"
gcc -O1 -w -o "$work/spy" "$work/spy.c"
run 0 hook update-ldcache --ldconfig-path "$work/spy"
complains "warning: $work/spy is no static program: it would be run by the image's loader" "its cache is not"
[ ! -e "$rootfs/etc/spied" ] || fail "it was run"
