// Says what a container may open and what the driver shows it. Static: it needs nothing of the
// image, and nothing of what was injected.
//   probe nodes MAJOR:MINOR…  every NVIDIA node below /dev with the error of opening it; then each
//   of these numbers,
//                             where no node has it, by a node made for the purpose
//   probe proc                every path below /proc/driver/nvidia, and whether programs may make
//   nodes
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static dev_t seen[1024];
static int seen_count;

static const char* Word(int error) {
  switch (error) {
    case 0: return "opened";
    case EACCES: return "EACCES";
    case ENODEV: return "ENODEV";
    case ENOENT: return "ENOENT";
    case ENXIO: return "ENXIO";
    case EPERM: return "EPERM";
    default: return strerror(error);
  }
}

// Capability nodes are for reading only.
static int OpenError(const char* path, mode_t mode) {
  const int fd =
      open(path, ((mode & 0222) != 0 ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const int error = fd >= 0 ? 0 : errno;
  if (fd >= 0) close(fd);
  return error;
}

static int ByName(const struct dirent** a, const struct dirent** b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static void TellNodes(const char* folder, const char* begin) {
  struct dirent** names;
  const int count = scandir(folder, &names, NULL, ByName);
  for (int i = 0; i < count; ++i) {
    const char* name = names[i]->d_name;
    char path[4096];
    struct stat facts;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (name[0] == '.' || strncmp(name, begin, strlen(begin)) != 0 || lstat(path, &facts) != 0)
      continue;
    if (S_ISDIR(facts.st_mode)) {
      TellNodes(path, "");
    } else if (S_ISCHR(facts.st_mode)) {
      const char* word = Word(OpenError(path, facts.st_mode));
      printf("node %s %u:%u %s\n", path, major(facts.st_rdev), minor(facts.st_rdev), word);
      if (seen_count < 1024) seen[seen_count++] = facts.st_rdev;
    } else {
      printf("node %s is no node\n", path);
    }
  }
}

static int IsSeen(dev_t number) {
  for (int i = 0; i < seen_count; ++i) {
    if (seen[i] == number) return 1;
  }
  return 0;
}

static void TellOther(const char* numbers) {
  unsigned number_major, number_minor;
  const char* path = "/dev/partita-probe";
  if (sscanf(numbers, "%u:%u", &number_major, &number_minor) != 2) exit(2);
  if (IsSeen(makedev(number_major, number_minor))) return;
  if (mknod(path, S_IFCHR | 0666, makedev(number_major, number_minor)) != 0) {
    printf("other %s cannot be made: %s\n", numbers, strerror(errno));
    return;
  }
  printf("other %s %s\n", numbers, Word(OpenError(path, 0666)));
  unlink(path);
}

static void TellTree(const char* folder) {
  struct dirent** names;
  const int count = scandir(folder, &names, NULL, ByName);
  for (int i = 0; i < count; ++i) {
    char path[4096];
    if (strcmp(names[i]->d_name, ".") == 0 || strcmp(names[i]->d_name, "..") == 0) continue;
    snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
    printf("proc %s\n", path);
    TellTree(path);
  }
}

static void TellModify(void) {
  char line[4096];
  FILE* file = fopen("/proc/driver/nvidia/params", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "ModifyDeviceFiles:", 18) == 0) printf("params %s", line);
  }
}

int main(int count, char** words) {
  if (count >= 2 && strcmp(words[1], "nodes") == 0) {
    TellNodes("/dev", "nvidia");
    for (int i = 2; i < count; ++i) TellOther(words[i]);
  } else if (count == 2 && strcmp(words[1], "proc") == 0) {
    TellTree("/proc/driver/nvidia");
    TellModify();
  } else {
    return 2;
  }
  return 0;
}
