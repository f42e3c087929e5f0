// The specifications of a machine: which devices can be asked for by name.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/spec.h"

namespace partita::cdi {

// What people write and what programs generate; the second wins.
inline constexpr std::array<std::string_view, 2> kSpecDirectories = {"/etc/cdi", "/var/run/cdi"};

// What was in the directories when they were read. Moved, it leaves its specifications where they
// are: what Find gave stays valid.
class Registry {
 public:
  // Files that end in .json or .yaml; a directory that is absent is none. One file that cannot be
  // used, or a directory that cannot be read, is a problem, and the others are read all the same.
  [[nodiscard]] static Registry Read(std::span<const std::string> directories);

  struct File {
    std::string path;
    Spec spec;
    std::size_t directory;  // which of those that were read; the last wins
  };
  [[nodiscard]] const std::deque<File>& files() const { return files_; }

  struct Problem {
    std::string path;
    base::Error error;  // names the path too
  };
  // Also devices that two files of one directory define: neither counts.
  [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }

  // Qualified, sorted by byte.
  [[nodiscard]] std::vector<std::string> Names() const;

  struct Found {
    const Spec* spec;
    const Device* device;
  };
  // In the order of the names. kNotFound with every name that leads to no device.
  [[nodiscard]] base::Result<std::vector<Found>> Find(std::span<const std::string> names) const;

 private:
  void ReadDirectory(const std::string& directory, std::size_t number);
  void ReadSpec(const std::string& path, std::size_t directory);
  void Index();

  std::deque<File> files_;
  std::vector<Problem> problems_;
  std::map<std::string, Found, std::less<>> devices_;
};

}  // namespace partita::cdi
