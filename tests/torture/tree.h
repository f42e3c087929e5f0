// A directory tree as a value: the files that a node's driver shows.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace partita::torture {

struct Entry {
  mode_t mode = 0;      // type and permissions
  dev_t device = 0;     // of a device node
  std::string content;  // of a file; the target of a link
  bool operator==(const Entry&) const = default;
};

using Tree = std::map<std::string, Entry>;  // by path relative to the root

// The parts of a node's root that its driver draws.
inline const std::vector<std::string> kDriverTrees = {"dev", "proc"};

// Reads `parts` of `root` without following links. What vanishes while it is read is left out.
Tree ReadTree(const std::string& root, const std::vector<std::string>& parts);

// Turns the files on disk, which are `disk`, into `wanted`; false (with errno) when it cannot.
bool RestoreTree(const std::string& root, const Tree& disk, const Tree& wanted);

// Says whether anything below a root was created, removed or written since the last question.
class TreeWatch {
 public:
  TreeWatch(std::string root, std::vector<std::string> parts);
  TreeWatch(const TreeWatch&) = delete;
  TreeWatch& operator=(const TreeWatch&) = delete;
  ~TreeWatch();
  bool Changed();

 private:
  void Add(const std::string& path);
  void AddAll();
  std::string root_;
  std::vector<std::string> parts_;
  int fd_;
};

}  // namespace partita::torture
