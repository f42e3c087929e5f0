// The driver's library, opened at run time: one build serves machines with and without a GPU.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "hw/nvml/api.h"
#include "hw/nvml/library_search.h"

namespace partita::hw::nvml {

class Library {
 public:
  // The error names every path that was tried and why it did not do.
  static base::Result<std::shared_ptr<const Library>> Open(const LibrarySearch& search);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  [[nodiscard]] const Api& api() const { return api_; }
  [[nodiscard]] const std::string& path() const { return path_; }  // where the loader found it

 private:
  explicit Library(void* handle);

  void* handle_;
  std::string path_;
  Api api_;
};

}  // namespace partita::hw::nvml
