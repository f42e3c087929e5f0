/* Stands for runc: writes down everything that it was given into <its own path>.record, and ends
 * with the status in <its own path>.status (0 where there is none). */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char** environ;

static void signals(FILE* record) {
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  if (status == NULL) exit(99);
  while (fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "Sig", 3) == 0 && strncmp(line, "SigQ", 4) != 0) fputs(line, record);
  fclose(status);
}

/* Before anything of ours is open. */
static void descriptors(char texts[64][PATH_MAX]) {
  char path[64];
  for (int fd = 0; fd < 64; ++fd) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, texts[fd], PATH_MAX - 1);
    texts[fd][length < 0 ? 0 : length] = 0;
  }
}

int main(int argc, char** argv) {
  static char texts[64][PATH_MAX];
  char path[PATH_MAX], directory[PATH_MAX];
  int status = 0;
  descriptors(texts);
  snprintf(path, sizeof path, "%s.status", argv[0]);
  FILE* wanted = fopen(path, "r");
  if (wanted != NULL && fscanf(wanted, "%d", &status) != 1) return 99;
  if (wanted != NULL) fclose(wanted);
  snprintf(path, sizeof path, "%s.record", argv[0]);
  mode_t mask = umask(022);
  FILE* record = fopen(path, "w");
  if (record == NULL) return 99;
  for (int i = 0; i < argc; ++i) fprintf(record, "argument %d: %s\n", i, argv[i]);
  for (char** entry = environ; *entry != NULL; ++entry)
    fprintf(record, "environment: %s\n", *entry);
  for (int fd = 0; fd < 64; ++fd)
    if (texts[fd][0] != 0) fprintf(record, "descriptor %d: %s\n", fd, texts[fd]);
  fprintf(record, "directory: %s\n", getcwd(directory, sizeof directory));
  fprintf(record, "umask: %03o\nprocess: %d\ngroup: %d\n", mask, getpid(), getpgrp());
  signals(record);
  fclose(record);
  return status;
}
