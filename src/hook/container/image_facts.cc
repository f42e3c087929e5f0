#include "hook/container/image_facts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <set>

#include "base/text.h"
#include "hook/container/image_file.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;

// Images have a dozen files of a few lines, and about a hundred names beside them. Whoever has more
// wants to keep us, or ldconfig, busy.
constexpr std::size_t kMostFiles = 256;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // of all files together
constexpr std::size_t kMostDirectories = 1024;
constexpr std::size_t kMostNames = 65536;  // that patterns are compared with

#if defined(__x86_64__)
constexpr std::string_view kTriplet = "x86_64-linux-gnu";
constexpr std::string_view kMuslArchitecture = "x86_64";
constexpr bool kHasX32 = true;
#elif defined(__aarch64__)
constexpr std::string_view kTriplet = "aarch64-linux-gnu";
constexpr std::string_view kMuslArchitecture = "aarch64";
constexpr bool kHasX32 = false;
#else
#error "which directories does this architecture's loader search?"
#endif

bool Contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// A missing file and a link to nothing are nothing; what is no regular file would keep ldconfig
// waiting.
base::Result<std::string> ReadIfThere(const base::RootDir& root, const std::string& path) {
  base::Result<std::string> text = ReadImageText(root, path, kMostBytes);
  if (text.ok() || text.error().code() == ErrorCode::kInvalid) return text;
  return std::string();
}

// As ldconfig reads its lines, which are C strings: "#" begins a comment, "include" takes patterns,
// "hwcap" is of old. A file that is included again is read again: ldconfig knows no end of a
// circle.
class LdConfReader {
 public:
  explicit LdConfReader(const base::RootDir& root) : root_(root) {}

  base::Result<std::vector<std::string>> Read() {
    files_.emplace_back(kLdConf);
    std::size_t bytes = 0;
    for (std::size_t count = 1; !files_.empty(); ++count) {
      if (count + files_.size() > kMostFiles + 1)
        return MakeError(ErrorCode::kInvalid, "{} includes more than {} files, or itself", kLdConf,
                         kMostFiles);
      const std::string file = std::move(files_.front());
      files_.pop_front();
      TRY(text, ReadIfThere(root_, file));
      bytes += text.size();
      if (bytes > kMostBytes)
        return MakeError(ErrorCode::kInvalid, "{} and what it includes have more than {} bytes",
                         kLdConf, kMostBytes);
      for (const std::string_view line : base::Split(text, '\n')) TRY_VOID(ReadLine(file, line));
    }
    return std::move(directories_);
  }

 private:
  base::Result<void> ReadLine(const std::string& file, std::string_view line) {
    constexpr std::string_view kSpaces = " \t\n\v\f\r";  // isspace
    constexpr std::string_view kBlanks = " \t";          // isblank
    line = line.substr(0, line.find('\0'));
    line = line.substr(0, line.find('#'));
    line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    if (line.empty() || word == "hwcap") return {};
    if (word == "include" && word.size() < line.size())
      return IncludeAll(file, line.substr(word.size()));
    std::string directory(base::Trim(line));
    while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
    if (!seen_.insert(directory).second) return {};
    if (seen_.size() > kMostDirectories)
      return MakeError(ErrorCode::kInvalid, "{} lists more than {} directories", kLdConf,
                       kMostDirectories);
    directories_.push_back(std::move(directory));
    return {};
  }

  base::Result<void> IncludeAll(const std::string& file, std::string_view patterns) {
    for (const std::string_view blank : base::Split(patterns, '\t')) {
      for (const std::string_view pattern : base::Split(blank, ' ')) {
        if (!pattern.empty()) TRY_VOID(Include(file, pattern));
      }
    }
    return {};
  }

  base::Result<void> Include(const std::string& file, std::string_view pattern) {
    if (pattern.find_first_of("[\\") != std::string_view::npos)
      return MakeError(ErrorCode::kInvalid,
                       "{} includes {}: only * and ? are understood in patterns", file,
                       base::Quoted(pattern));
    std::string whole(pattern);
    if (!pattern.starts_with('/')) whole = file.substr(0, file.rfind('/') + 1) + whole;
    // A pattern without matches costs something too.
    if (names_left_ > 0) --names_left_;
    base::Result<std::vector<std::string>> found = root_.GlobWithin(whole, names_left_);
    if (!found.ok() || names_left_ == 0)
      return MakeError(ErrorCode::kInvalid, "{}: {} is sought among more than {} names", file,
                       whole, kMostNames);
    for (std::string& each : *found) {
      if (files_.size() <= kMostFiles) files_.push_back(std::move(each));
    }
    return {};
  }

  const base::RootDir& root_;
  std::deque<std::string> files_;
  std::vector<std::string> directories_;
  std::set<std::string> seen_;
  std::size_t names_left_ = kMostNames;
};

}  // namespace

base::Result<ImageFacts> ReadImageFacts(const base::RootDir& root) {
  ImageFacts image;
  image.debian_like = root.Look("/etc/debian_version").ok();
  image.musl = root.Look("/etc/alpine-release").ok();
  image.has_lib32 = root.Look("/usr/lib32").ok();
  image.has_ld_conf = root.Look(kLdConf).ok();
  TRY(listed, LdConfReader(root).Read());
  image.listed = std::move(listed);
  if (image.musl) {
    TRY(text, ReadIfThere(root, MuslPathFile()));
    for (const std::string_view line : base::SplitLines(text)) {
      for (const std::string_view path : base::Split(line, ':')) image.musl_path.emplace_back(path);
    }
  }
  return image;
}

std::string FindFifo(const base::RootDir& root, std::span<const std::string> directories) {
  std::vector<std::string> all(directories.begin(), directories.end());
  const base::Result<ImageFacts> image = ReadImageFacts(root);
  if (image.ok()) all.insert(all.end(), image->listed.begin(), image->listed.end());
  for (const bool debian_like : {true, false}) {
    for (const std::string& each : SystemDirectories(debian_like)) all.push_back(each);
  }
  std::vector<std::string> files{"/var/cache/ldconfig/aux-cache"};
  std::size_t names_left = kMostNames;
  for (const std::string& directory : all) {
    for (const char* pattern : {"/lib*.so*", "/ld-*"}) {
      const auto found = root.GlobWithin(directory + pattern, names_left);
      if (found.ok()) files.insert(files.end(), found->begin(), found->end());
    }
  }
  for (const std::string& file : files) {
    const base::Result<base::UniqueFd> there = root.OpenAt(file, O_PATH);
    struct stat about = {};
    if (there.ok() && fstat(there->get(), &about) == 0 && S_ISFIFO(about.st_mode)) return file;
  }
  return "";
}

std::vector<std::string> SystemDirectories(bool debian_like) {
  if (debian_like)
    return {fmt::format("/lib/{}", kTriplet), fmt::format("/usr/lib/{}", kTriplet), "/lib",
            "/usr/lib"};
  std::vector<std::string> directories{"/lib", "/usr/lib", "/lib64", "/usr/lib64"};
  if (kHasX32) directories.insert(directories.end(), {"/libx32", "/usr/libx32"});
  return directories;
}

std::string LibraryDirectory(const ImageFacts& image) {
  return image.debian_like ? fmt::format("/usr/lib/{}", kTriplet) : "/usr/lib64";
}

std::string LibraryDirectory32(const ImageFacts& image) {
  if (image.debian_like) return "/usr/lib/i386-linux-gnu";
  return image.has_lib32 ? "/usr/lib32" : "/usr/lib";
}

std::string MuslPathFile() { return fmt::format("/etc/ld-musl-{}.path", kMuslArchitecture); }

LoaderFiles PlanLoaderFiles(const ImageFacts& image, std::span<const std::string> folders) {
  LoaderFiles files;
  files.make_ld_conf = !image.has_ld_conf;
  const std::vector<std::string> system = SystemDirectories(image.debian_like);
  for (const std::string& folder : folders) {
    if (!Contains(image.listed, folder) && !Contains(system, folder) &&
        !Contains(files.folders, folder))
      files.folders.push_back(folder);
  }
  const auto listed = [&](const std::string& each) { return Contains(image.listed, each); };
  if (!std::all_of(system.begin(), system.end(), listed)) files.system = system;
  if (!image.musl) return files;
  for (const auto& wanted : {files.folders, system}) {
    for (const std::string& each : wanted) {
      if (!Contains(image.musl_path, each)) files.musl.push_back(each);
    }
  }
  return files;
}

}  // namespace partita::hook
