#include "service/cdi/library_facts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "cdi/elf.h"

namespace partita::service::cdi {

namespace {

using base::ErrorCode;
using base::Result;
using partita::cdi::Capability;

// The tables of libnvidia-container, nvc_info.c: what each capability brings into a container.
struct Purpose {
  std::string_view name;  // of a library without ".so…", or of a program
  Capability capability;
};
constexpr Purpose kPurposes[] = {
    {"nvidia-smi", Capability::kUtility},
    {"nvidia-debugdump", Capability::kUtility},
    {"nvidia-persistenced", Capability::kUtility},
    {"nv-fabricmanager", Capability::kUtility},
    {"nvidia-cuda-mps-control", Capability::kCompute},
    {"nvidia-cuda-mps-server", Capability::kCompute},
    {"libnvidia-ml", Capability::kUtility},
    {"libnvidia-cfg", Capability::kUtility},
    {"libnvidia-nscq", Capability::kUtility},
    {"libcuda", Capability::kCompute},
    {"libcudadebugger", Capability::kCompute},
    {"libnvidia-opencl", Capability::kCompute},
    {"libnvidia-gpucomp", Capability::kCompute},
    {"libnvidia-ptxjitcompiler", Capability::kCompute},
    {"libnvidia-fatbinaryloader", Capability::kCompute},
    {"libnvidia-allocator", Capability::kCompute},
    {"libnvidia-compiler", Capability::kCompute},
    {"libnvidia-pkcs11", Capability::kCompute},
    {"libnvidia-pkcs11-openssl3", Capability::kCompute},
    {"libnvidia-nvvm", Capability::kCompute},
    {"libnvidia-tileiras", Capability::kCompute},
    {"libvdpau_nvidia", Capability::kVideo},
    {"libnvidia-encode", Capability::kVideo},
    {"libnvidia-opticalflow", Capability::kVideo},
    {"libnvcuvid", Capability::kVideo},
    {"libnvidia-eglcore", Capability::kGraphics},
    {"libnvidia-glcore", Capability::kGraphics},
    {"libnvidia-tls", Capability::kGraphics},
    {"libnvidia-glsi", Capability::kGraphics},
    {"libnvidia-fbc", Capability::kGraphics},
    {"libnvidia-ifr", Capability::kGraphics},
    {"libnvidia-rtcore", Capability::kGraphics},
    {"libnvoptix", Capability::kGraphics},
    {"libGLX_nvidia", Capability::kGraphics},
    {"libEGL_nvidia", Capability::kGraphics},
    {"libGLESv2_nvidia", Capability::kGraphics},
    {"libGLESv1_CM_nvidia", Capability::kGraphics},
    {"libnvidia-glvkspirv", Capability::kGraphics},
    {"libnvidia-cbl", Capability::kGraphics},
    {"libnvidia-ngx", Capability::kNgx},
};

// A file's bytes without a copy of them: libraries of a driver have hundreds of megabytes, of which
// a few pages are looked at.
class Mapping {
 public:
  Mapping(void* start, std::size_t size) : start_(start), size_(size) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { munmap(start_, size_); }
  [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(start_), size_}; }

 private:
  void* start_;
  std::size_t size_;
};

// "libcuda.so.580.1" of the pattern "libcuda.so.*.*": a version of two numbers or more.
bool IsVersionOf(std::string_view name, std::string_view library) {
  return name.starts_with(library) && MatchesPattern(name.substr(library.size()), ".*.*");
}

bool IsLink(const DriverRoot& driver, std::string_view folder, std::string_view name) {
  // A SONAME is what somebody wrote into a file: only a name stays in the folder.
  if (name.empty() || name.find('/') != std::string_view::npos) return false;
  const Result<base::FileFacts> facts = driver.root().Look(base::JoinPath(folder, name));
  return facts.ok() && facts->IsLink();
}

// "libcuda.so" of "libcuda.so.1"; empty when there is no ".so" at the end of a part.
std::string_view WithoutVersion(std::string_view name) {
  for (;;) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return "";
    if (name.substr(dot) == ".so") return name;
    name = name.substr(0, dot);
  }
}

// Links that programs rely on although drivers do not always bring them: libcuda.so by those that
// load it by that name, libGLX_indirect for GLVND, and opticalflow, whose package forgets it.
void AddExpected(std::string_view folder, std::string_view name, std::vector<Link>& links) {
  const auto add = [&](std::string_view target, std::string_view link) {
    links.push_back({std::string(target), base::JoinPath(folder, link)});
  };
  if (IsVersionOf(name, "libcuda.so")) add("libcuda.so.1", "libcuda.so");
  if (IsVersionOf(name, "libGLX_nvidia.so")) add(name, "libGLX_indirect.so.0");
  if (IsVersionOf(name, "libnvidia-opticalflow.so"))
    add("libnvidia-opticalflow.so.1", "libnvidia-opticalflow.so");
}

}  // namespace

std::vector<Capability> CapabilitiesOf(std::string_view name) {
  const std::size_t end = name.find(".so");
  const std::string_view stem = name.substr(0, end);
  const auto* found = std::find_if(std::begin(kPurposes), std::end(kPurposes),
                                   [&](const Purpose& each) { return each.name == stem; });
  if (found == std::end(kPurposes)) return {};
  // What draws is needed to show it too.
  if (found->capability == Capability::kGraphics)
    return {Capability::kGraphics, Capability::kDisplay};
  return {found->capability};
}

Result<std::string> ReadSoname(const DriverRoot& driver, const std::string& path) {
  // Not blocking: a FIFO of this name would keep us.
  TRY(fd, driver.root().OpenAt(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat about {};
  if (fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0) {
    return base::MakeError(ErrorCode::kInvalid, "{}: not a library", driver.OnHost(path));
  }
  const auto size = static_cast<std::size_t>(about.st_size);
  void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (start == MAP_FAILED) return base::ErrnoError("map " + driver.OnHost(path));
  const Mapping mapping(start, size);
  TRY(sonames, partita::cdi::ReadSonames(mapping.bytes()), "{}", driver.OnHost(path));
  if (sonames.empty()) return std::string(NameOf(path));
  if (sonames.size() > 1) {
    return base::MakeError(ErrorCode::kInvalid, "{}: it has several SONAMEs: {}",
                           driver.OnHost(path), base::Join(sonames, ", "));
  }
  return sonames[0];
}

std::vector<Link> LinksFor(const DriverRoot& driver,
                           const std::string& path,
                           const std::string& soname) {
  std::vector<Link> links;
  const std::string_view folder = FolderOf(path), name = NameOf(path);
  AddExpected(folder, name, links);
  if (soname.empty() || !MatchesPattern(name, "*.*.*")) return links;
  if (soname != name && IsLink(driver, folder, soname))
    links.push_back({std::string(name), base::JoinPath(folder, soname)});
  const std::string_view plain = WithoutVersion(soname);
  if (plain != soname && IsLink(driver, folder, plain))
    links.push_back({soname, base::JoinPath(folder, plain)});
  return links;
}

}  // namespace partita::service::cdi
