#include "hook/container/image_facts.h"

#include <algorithm>
#include <deque>

#include "base/text.h"

namespace partita::hook {
namespace {

using base::ErrorCode;
using base::MakeError;

constexpr std::size_t kMostFiles = 256;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

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
  base::Result<std::string> text = root.Read(path, kMostBytes);
  if (text.ok() || text.error().code() == ErrorCode::kInvalid) return text;
  return std::string();
}

// As ldconfig reads its lines: "#" begins a comment, "include" takes patterns, "hwcap" is of old. A
// file that is included again is read again: ldconfig knows no end of a circle.
class LdConfReader {
 public:
  explicit LdConfReader(const base::RootDir& root) : root_(root) {}

  base::Result<std::vector<std::string>> Read() {
    files_.emplace_back(kLdConf);
    for (std::size_t count = 1; !files_.empty(); ++count) {
      if (count > kMostFiles)
        return MakeError(ErrorCode::kInvalid, "{} includes more than {} files, or itself", kLdConf,
                         kMostFiles);
      const std::string file = std::move(files_.front());
      files_.pop_front();
      TRY(text, ReadIfThere(root_, file));
      for (const std::string_view line : base::SplitLines(text)) ReadLine(file, line);
    }
    return std::move(directories_);
  }

 private:
  void ReadLine(const std::string& file, std::string_view line) {
    line = base::Trim(line.substr(0, line.find('#')));
    const std::vector<std::string_view> words = base::SplitWords(line);
    if (words.empty() || words[0] == "hwcap") return;
    if (words[0] == "include") {
      for (std::size_t i = 1; i < words.size(); ++i) Include(file, words[i]);
      return;
    }
    std::string directory(line);
    while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
    if (!Contains(directories_, directory)) directories_.push_back(std::move(directory));
  }

  // Patterns above the last component would let an image make us list all of itself; nobody writes
  // them.
  void Include(const std::string& file, std::string_view pattern) {
    std::string whole(pattern);
    if (!pattern.starts_with('/')) whole = file.substr(0, file.rfind('/') + 1) + whole;
    const std::size_t wild = whole.find_first_of("*?");
    if (wild != std::string::npos && whole.find('/', wild) != std::string::npos) return;
    for (std::string& found : root_.Glob(whole)) {
      if (files_.size() <= kMostFiles) files_.push_back(std::move(found));
    }
  }

  const base::RootDir& root_;
  std::deque<std::string> files_;
  std::vector<std::string> directories_;
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
