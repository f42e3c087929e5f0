// What an image's loader is like. Everything here was written by whoever made the image.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/root_dir.h"

namespace partita::hook {

inline constexpr char kLdConf[] = "/etc/ld.so.conf";
inline constexpr char kLdConfDirectory[] = "/etc/ld.so.conf.d";

struct ImageFacts {
  bool debian_like = false;  // has /etc/debian_version
  bool musl = false;         // has /etc/alpine-release
  bool has_lib32 = false;    // has /usr/lib32
  bool has_ld_conf = false;
  std::vector<std::string> listed;  // directories in ld.so.conf and what it includes, in order
  std::vector<std::string> musl_path;
};

// kInvalid: a file that ldconfig would read is a FIFO or the like, too large, or there are too many
// of them: it would wait or work for ever.
[[nodiscard]] base::Result<ImageFacts> ReadImageFacts(const base::RootDir& root);

// A FIFO that ldconfig would open where it looks, and in these directories; else empty.
[[nodiscard]] std::string FindFifo(const base::RootDir& root,
                                   std::span<const std::string> directories);

// Where the distribution's loader looks by itself.
[[nodiscard]] std::vector<std::string> SystemDirectories(bool debian_like);
// Where a package of the distribution would put the driver's libraries.
[[nodiscard]] std::string LibraryDirectory(const ImageFacts& image);
[[nodiscard]] std::string LibraryDirectory32(const ImageFacts& image);
// /etc/ld-musl-x86_64.path
[[nodiscard]] std::string MuslPathFile();

// What is to be written so that the loader finds the folders.
struct LoaderFiles {
  bool make_ld_conf = false;
  std::vector<std::string> folders;  // before all others
  std::vector<std::string> system;   // after all others
  std::vector<std::string> musl;     // more lines of the path file
  bool operator==(const LoaderFiles&) const = default;
};
[[nodiscard]] LoaderFiles PlanLoaderFiles(const ImageFacts& image,
                                          std::span<const std::string> folders);

}  // namespace partita::hook
