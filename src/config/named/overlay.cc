#include "config/named/overlay.h"

#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "config/document.h"

namespace partita::config {
namespace {

constexpr std::string_view kEnding = ".yaml";

std::vector<std::string> OverlayNames(const std::string& folder) {
  std::vector<std::string> names;
  const base::Result<std::vector<std::string>> files = ConfigNames(folder);
  if (!files.ok()) return names;
  for (const std::string& file : *files)
    if (file.ends_with(kEnding)) names.push_back(file.substr(0, file.size() - kEnding.size()));
  return names;
}

}  // namespace

std::string OverlayFolder(const std::string& config_file) {
  return base::JoinPath(std::filesystem::path(config_file).parent_path().string(), "overlays");
}

base::Result<Overlay> ReadOverlay(const std::string& config_file, const std::string& name) {
  const std::string folder = OverlayFolder(config_file);
  const std::string path = base::JoinPath(folder, fmt::format("{}{}", name, kEnding));
  base::Result<std::string> text = base::ReadRegularFile(path, Document::kMaxBytes);
  if (text.ok()) return Overlay{name, *std::move(text), path};
  const std::vector<std::string> names = OverlayNames(folder);
  const std::string near = base::DidYouMean(name, names);
  return std::move(text)
      .error()
      .Within(fmt::format("node label {}={}", kOverlayLabel, name))
      .WithHint(!near.empty()   ? fmt::format("did you mean {}?", base::Quoted(near))
                : names.empty() ? "make the file, or take the label off"
                                : "there are: " + base::Join(names, ", "));
}

}  // namespace partita::config
