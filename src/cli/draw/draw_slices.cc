#include "cli/draw/draw_slices.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/draw/quantity.h"
#include "cli/draw/slice_layout.h"

namespace partita::cli {

namespace {

using model::ComputeInstance;
using model::GpuInstance;

struct Border {
  std::string_view left, tee, right;
};

// One GPU's row of slices while it is drawn.
class SliceRow {
 public:
  SliceRow(const model::Gpu& gpu, const SliceLayout& layout, int cell, const Look& look)
      : gpu_(gpu), layout_(layout), cell_(cell), utf8_(look.utf8), glyphs_(look.glyphs()) {}

  [[nodiscard]] Line Top() const {
    return Edge(
        {glyphs_.top_left, glyphs_.top_tee, glyphs_.top_right}, Ink::kStrong,
        [this](const GpuInstance& i) { return ProfileSpellings(Clean(i.profile_name, utf8_)); });
  }

  [[nodiscard]] Line Bottom(const SliceNote& note) const {
    return Edge({glyphs_.bottom_left, glyphs_.bottom_tee, glyphs_.bottom_right}, Ink::kPlain, note);
  }

  [[nodiscard]] Line Middle() const {
    Line line;
    const SlicePiece* before = nullptr;
    for (const SlicePiece& piece : layout_.pieces) {
      AddDivider(before, &piece, line);
      if (piece.instance != nullptr) {
        AddComputeInstances(*piece.instance, Inner(piece), line);
      } else {
        AddFree(piece, line);
      }
      before = &piece;
    }
    AddDivider(before, nullptr, line);
    return line;
  }

  // The memory of every instance that tells it, as a gauge in its box.
  [[nodiscard]] std::optional<Line> MemoryRow() const {
    const bool any =
        std::any_of(layout_.pieces.begin(), layout_.pieces.end(), [](const SlicePiece& piece) {
          return piece.instance != nullptr && piece.instance->memory.has_value();
        });
    if (!any) return std::nullopt;
    Line line;
    const SlicePiece* before = nullptr;
    for (const SlicePiece& piece : layout_.pieces) {
      AddDivider(before, &piece, line);
      const int end = line.width() + Inner(piece);
      if (piece.instance != nullptr && piece.instance->memory) {
        AddMemory(*piece.instance->memory, Inner(piece), line);
      }
      line.PadTo(end);
      before = &piece;
    }
    AddDivider(before, nullptr, line);
    return line;
  }

 private:
  [[nodiscard]] int Inner(const SlicePiece& piece) const {
    return static_cast<int>(piece.placement.size) * cell_ - 1;
  }

  [[nodiscard]] bool Held(const GpuInstance& instance) const {
    return std::any_of(gpu_.processes.begin(), gpu_.processes.end(),
                       [&](const model::Process& p) { return p.gpu_instance == instance.id; }) ||
           HeldByHidden(instance);
  }

  [[nodiscard]] bool HeldByHidden(const GpuInstance& instance) const {
    return std::any_of(gpu_.hidden_holders.begin(), gpu_.hidden_holders.end(),
                       [&](const auto& holder) { return holder.gpu_instance == instance.id; });
  }

  [[nodiscard]] Ink FrameInk(const SlicePiece* piece) const {
    if (piece == nullptr || piece->instance == nullptr) return Ink::kFaint;
    return Held(*piece->instance) ? Ink::kHeld : Ink::kIdle;
  }

  // A shared border takes the ink of the busier side.
  [[nodiscard]] Ink SharedInk(const SlicePiece* left, const SlicePiece* right) const {
    const Ink a = FrameInk(left);
    const Ink b = FrameInk(right);
    if (a == Ink::kHeld || b == Ink::kHeld) return Ink::kHeld;
    return a == Ink::kIdle || b == Ink::kIdle ? Ink::kIdle : Ink::kFaint;
  }

  void AddDivider(const SlicePiece* left, const SlicePiece* right, Line& line) const {
    const bool solid = (left != nullptr && left->instance != nullptr) ||
                       (right != nullptr && right->instance != nullptr);
    line.Add(solid ? glyphs_.down : glyphs_.down_free, SharedInk(left, right));
  }

  template <typename Spellings>
  [[nodiscard]] Line Edge(const Border& border, Ink ink, Spellings spellings) const {
    Line line;
    const SlicePiece* before = nullptr;
    for (const SlicePiece& piece : layout_.pieces) {
      line.Add(before == nullptr ? border.left : border.tee, SharedInk(before, &piece));
      const int inner = Inner(piece);
      if (piece.instance == nullptr) {
        line.Add(Repeat(glyphs_.across_free, inner), Ink::kFaint);
      } else {
        AddLabel(spellings(*piece.instance), inner, ink, FrameInk(&piece), line);
      }
      before = &piece;
    }
    line.Add(border.right, FrameInk(before));
    return line;
  }

  // The first spelling that fits, on the border.
  void AddLabel(
      const std::vector<std::string>& spellings, int inner, Ink ink, Ink frame, Line& line) const {
    std::string label = spellings.back();
    for (const std::string& spelling : spellings) {
      if (DisplayWidth(spelling) <= inner) {
        label = spelling;
        break;
      }
    }
    label = Fit(label, inner, glyphs_);
    int rest = inner - DisplayWidth(label);
    if (rest > 0) {
      line.Add(" ");
      --rest;
    }
    line.Add(label, ink);
    if (rest > 0) {
      line.Add(" ");
      --rest;
    }
    line.Add(Repeat(glyphs_.across, rest), frame);
  }

  void AddMemory(const model::Memory& memory, int inner, Line& line) const {
    const Share share{memory.used.value(), memory.reserved.value(), memory.total.value()};
    const std::string text = fmt::format(" {} GiB", UsedOfTotal(memory));
    constexpr int kReadableBar = 8;
    const bool labelled = inner >= 2 + kReadableBar + DisplayWidth(text);
    const int bar = inner - (inner >= 5 ? 2 : 0) - (labelled ? DisplayWidth(text) : 0);
    if (inner >= 5) line.Add(" ");
    line.Add(Bar(share, bar, Ink::kMemory, glyphs_));
    if (labelled) line.Add(text, Ink::kFaint);
  }

  void AddFree(const SlicePiece& piece, Line& line) const {
    const int inner = Inner(piece);
    std::string label = piece.kind == PieceKind::kFree ? "free" : "no fit";
    if (DisplayWidth(label) > inner) label = piece.kind == PieceKind::kFree ? "" : "-";
    const int left = (inner - DisplayWidth(label)) / 2;
    line.Add(Repeat(" ", left)).Add(label, Ink::kFaint);
    line.Add(Repeat(" ", inner - left - DisplayWidth(label)));
  }

  void AddComputeInstances(const GpuInstance& instance, int inner, Line& line) const {
    if (instance.compute_instances.empty()) {
      const std::string label =
          Fit(inner >= 19 ? " no compute instance" : " no CI", inner, glyphs_);
      line.Add(label, Ink::kWarning).Add(Repeat(" ", inner - DisplayWidth(label)));
      return;
    }
    const auto slices = static_cast<int>(ComputeSlices(*gpu_.mig, instance));
    std::vector<const ComputeInstance*> order;
    for (const ComputeInstance& compute : instance.compute_instances) order.push_back(&compute);
    std::sort(order.begin(), order.end(), [](const ComputeInstance* a, const ComputeInstance* b) {
      return a->placement < b->placement;
    });
    const bool shares = RoomForShares(order, slices, inner);
    int at = 0;  // columns of the box that are drawn
    for (const ComputeInstance* compute : order) {
      const auto [begin, end] = Columns(*compute, slices, inner);
      // Compute slices between this one and the last belong to nobody.
      line.Add(Repeat(" ", begin - at));
      at = std::max(at, begin);
      int room = end - at;
      if (at > 0 && room > 0) {
        line.Add(glyphs_.down_inner, Ink::kFaint);
        --room;
      }
      AddComputeInstance(instance, *compute, shares, std::max(room, 0), line);
      at = std::max(at, end);
    }
    if (at > 0 && at < inner) {
      line.Add(glyphs_.down_inner, Ink::kFaint);
      line.Add(Repeat(" ", inner - at - 1));
    }
  }

  // The columns of a box that a compute instance covers, to scale.
  static std::pair<int, int> Columns(const ComputeInstance& compute, int slices, int inner) {
    const std::uint64_t start = compute.placement.start;
    return {Column(start, slices, inner), Column(start + compute.placement.size, slices, inner)};
  }

  // Whether "2c" fits in every compute instance of a divided box: all show it or none.
  static bool RoomForShares(const std::vector<const ComputeInstance*>& order,
                            int slices,
                            int inner) {
    return std::all_of(order.begin(), order.end(), [&](const ComputeInstance* compute) {
      const auto [begin, end] = Columns(*compute, slices, inner);
      const int labelled = begin > 0 ? 12 : 11;  // [divider] CI 0 1c, marker, their spaces
      return static_cast<int>(compute->slice_count) < slices && end - begin >= labelled;
    });
  }

  // Where a compute slice begins in a box; beyond the last it is the box's end.
  static int Column(std::uint64_t slice, int slices, int inner) {
    if (slice >= static_cast<std::uint64_t>(slices)) return inner;
    return static_cast<int>(slice) * inner / slices;
  }

  void AddComputeInstance(const GpuInstance& instance,
                          const ComputeInstance& compute,
                          bool with_share,
                          int room,
                          Line& line) const {
    std::uint64_t memory = 0;
    bool held = HeldByHidden(instance);
    for (const model::Process& process : gpu_.processes) {
      if (!Holds(process, instance, compute)) continue;
      held = true;
      if (process.memory) memory += process.memory->value();
    }
    const std::string_view marker = held ? glyphs_.held : glyphs_.idle;
    const Ink ink = held ? Ink::kHeld : Ink::kIdle;
    std::string left = fmt::format(" CI {}", compute.id);
    if (with_share) left += fmt::format(" {}c", compute.slice_count);
    std::string right = fmt::format("{} ", marker);
    const std::string with_memory = fmt::format("{} {} ", marker, WithUnit(model::Bytes(memory)));
    if (memory > 0 && room > DisplayWidth(left) + DisplayWidth(with_memory)) right = with_memory;
    if (room <= DisplayWidth(left) + 2) right = marker;
    left = Fit(left, room - DisplayWidth(right), glyphs_);
    right = Fit(right, room, glyphs_);
    line.Add(left).Add(Repeat(" ", room - DisplayWidth(left) - DisplayWidth(right)));
    line.Add(right, ink);
  }

  const model::Gpu& gpu_;
  const SliceLayout& layout_;
  int cell_;
  bool utf8_;
  const Glyphs& glyphs_;
};

}  // namespace

Lines DrawSlices(const model::Gpu& gpu, int indent, const Look& look) {
  return DrawSlices(gpu, indent, look, [](const GpuInstance& instance) {
    return std::vector<std::string>{fmt::format("GI {}", instance.id)};
  });
}

Lines DrawSlices(const model::Gpu& gpu, int indent, const Look& look, const SliceNote& note) {
  if (!gpu.mig || !gpu.mig->enabled) return {};
  const SliceLayout layout = LayOutSlices(*gpu.mig);
  const Line margin = Line().PadTo(indent);
  Lines lines;
  const int cell =
      layout.slices > 0 ? (look.width - indent - 1) / static_cast<int>(layout.slices) : 0;
  if (cell >= 3) {
    const SliceRow row(gpu, layout, cell, look);
    lines.push_back(Line(margin).Add(row.Top()));
    lines.push_back(Line(margin).Add(row.Middle()));
    if (const std::optional<Line> memory = row.MemoryRow()) {
      lines.push_back(Line(margin).Add(*memory));
    }
    lines.push_back(Line(margin).Add(row.Bottom(note)));
  }
  for (const GpuInstance* instance : layout.misplaced) {
    const Line mark = Line(margin).Add(look.glyphs().warning, Ink::kWarning).Add(" ");
    const std::string text = fmt::format(
        "GI {} {}: slices {} to {} overlap another instance or lie outside the GPU", instance->id,
        Clean(instance->profile_name, look.utf8), instance->placement.start,
        std::uint64_t{instance->placement.start} + instance->placement.size);
    Append(Wrapped(mark, mark.width(), text, Ink::kWarning, look), lines);
  }
  return lines;
}

}  // namespace partita::cli
