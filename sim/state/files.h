// Small file operations for code that may only use libc, with symbols old enough for any image.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace partita::sim {

struct FileIdentity {
  uint64_t device, inode, size;
  uint64_t node;        // device number of a device node
  uint64_t changed_ns;  // since 1970: contents, links or rights; of a directory, its entries
  uint32_t mode;        // type and permissions
};

// fstat and lstat by system call: glibc's functions of these names need GLIBC_2.33.
int IdentifyFile(int fd, FileIdentity* out);
int IdentifyPath(const char* path, FileIdentity* out);  // does not follow links

// All return 0 or an errno. Directories and files that are as wanted already are left alone.
int MakeDirectory(const char* path, uint32_t mode);
int MakeDirectoryPath(const char* path, uint32_t mode);  // and its parents
// Replaces by rename within the directory, so that a reader sees the old text or the new one.
int PutFile(const char* path, const char* bytes, size_t size, uint32_t mode);
// Rewrites in place: for files that are bind-mounted one by one, where a rename would be invisible.
int PutFileInPlace(const char* path, const char* bytes, size_t size, uint32_t mode);
int PutCharacterDevice(const char* path, uint32_t major, uint32_t minor, uint32_t mode);
int RemoveFile(const char* path);       // absent is fine
int RemoveDirectory(const char* path);  // empty; absent is fine

}  // namespace partita::sim
