#include "model/selector.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::model {
namespace {

// "NVIDIA A100-SXM4-40GB" and "nvidia-a100-sxm4-40gb" are one product.
std::string Folded(std::string_view name) {
  std::string folded = base::ToLower(name);
  std::replace(folded.begin(), folded.end(), ' ', '-');
  return folded;
}

bool MatchesProduct(std::string_view wanted, std::string_view name) {
  const std::string whole = Folded(name);
  const std::string word = Folded(wanted);
  if (whole == word) return true;
  const std::optional<std::string_view> bare = base::WithoutPrefix(whole, "nvidia-");
  return bare && *bare == word;
}

}  // namespace

base::Result<GpuSelector> GpuSelector::Parse(std::string_view text) {
  const std::string_view word = base::Trim(text);
  if (word.empty()) {
    return base::MakeError(base::ErrorCode::kInvalid, "an empty GPU selector")
        .WithHint("give an index, a UUID, a PCI address or a product name");
  }
  if (const auto index = base::ParseUnsigned(word); index && *index <= 0xFFFFFFFF)
    return GpuSelector(GpuIndex(static_cast<std::uint32_t>(*index)));
  if (base::WithoutPrefix(word, "GPU-")) return GpuSelector(GpuUuid(std::string(word)));
  if (base::WithoutPrefix(word, "MIG-")) {
    return base::MakeError(base::ErrorCode::kInvalid, "{} is a MIG device, not a GPU",
                           base::Quoted(word))
        .WithHint("select its GPU by index, UUID or PCI address");
  }
  if (word.find(':') != std::string_view::npos) {
    TRY(address, PciAddress::Parse(word));
    return GpuSelector(address);
  }
  return GpuSelector(ProductName(std::string(word)));
}

bool GpuSelector::Matches(const Gpu& gpu) const {
  struct Match {
    const Gpu& gpu;
    bool operator()(GpuIndex index) const { return gpu.index == index; }
    bool operator()(const GpuUuid& uuid) const { return gpu.uuid == uuid; }
    bool operator()(const PciAddress& pci) const { return gpu.pci == pci; }
    bool operator()(const ProductName& product) const {
      return MatchesProduct(product.value(), gpu.name);
    }
  };
  return std::visit(Match{gpu}, choice_);
}

std::string GpuSelector::ToString() const {
  struct Print {
    std::string operator()(GpuIndex index) const { return fmt::format("GPU {}", index); }
    std::string operator()(const GpuUuid& uuid) const { return uuid.value(); }
    std::string operator()(const PciAddress& pci) const { return pci.ToString(); }
    std::string operator()(const ProductName& product) const {
      return fmt::format("product {}", product);
    }
  };
  return std::visit(Print{}, choice_);
}

}  // namespace partita::model
