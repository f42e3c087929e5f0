#include "cli/mig/layouts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/draw/slice_layout.h"
#include "cli/draw/table.h"
#include "cli/exit_status.h"
#include "cli/mig/commands.h"
#include "cli/mig/node.h"
#include "cli/report_error.h"
#include "model/mig/planner.h"

namespace partita::cli {

namespace {

using base::Value;
using model::MigGeometry;
using model::MigLayout;
using model::ProfileCounts;

// A set of instances, wherever they are.
struct InstanceSet {
  ProfileCounts counts;
  MigLayout best;           // of the layouts that hold it
  std::size_t layouts = 0;  // how many there are
  bool maximal = true;      // no other set contains it
};

struct LayoutList {
  std::size_t layouts = 0, maximal_layouts = 0;
  std::vector<InstanceSet> sets;  // those with the largest instances first
};

bool Contains(const ProfileCounts& larger, const ProfileCounts& smaller) {
  if (larger == smaller) return false;
  for (std::size_t i = 0; i < larger.size(); ++i) {
    if (smaller[i] > larger[i]) return false;
  }
  return true;
}

LayoutList ListLayouts(const MigGeometry& geometry) {
  const model::MigPlanner planner(geometry);
  LayoutList list;
  list.layouts = planner.layouts().size();
  list.maximal_layouts = model::MaximalLayouts(geometry).size();
  std::map<ProfileCounts, InstanceSet> sets;
  // Layouts come best first, so that the first of a set is its best.
  for (const MigLayout& layout : planner.layouts()) {
    const ProfileCounts counts = model::CountProfiles(geometry, layout);
    InstanceSet& set = sets.try_emplace(counts, InstanceSet{counts, layout}).first->second;
    ++set.layouts;
  }
  for (auto& [counts, set] : sets) {
    set.maximal = std::none_of(sets.begin(), sets.end(), [&counts = counts](const auto& other) {
      return Contains(other.first, counts);
    });
    list.sets.push_back(set);
  }
  const std::vector<std::size_t> order = model::LargestFirst(geometry);
  std::sort(list.sets.begin(), list.sets.end(), [&](const InstanceSet& a, const InstanceSet& b) {
    for (const std::size_t profile : order) {
      if (a.counts[profile] != b.counts[profile]) return a.counts[profile] > b.counts[profile];
    }
    return false;
  });
  return list;
}

// `│3g             │2g     │1g │1g │`: slices to scale, free ones with a dot.
std::string Strip(const MigGeometry& geometry, const MigLayout& layout, const Look& look) {
  // The rest of the row needs so much for the longest name.
  constexpr int kBeside = 26;
  const int row = std::max(static_cast<int>(geometry.memory_slices), 1);
  const int cell = std::clamp((look.width - kBeside) / row, 2, 4);
  const Glyphs& glyphs = look.glyphs();
  std::string strip;
  std::uint32_t slice = 0;
  const auto add = [&](std::string_view text, std::uint32_t slices) {
    strip += glyphs.down;
    const int inner = static_cast<int>(slices) * cell - 1;
    const std::string label = Fit(text, inner, glyphs);
    strip += label + Repeat(" ", inner - DisplayWidth(label));
    slice += slices;
  };
  for (const model::PlacedInstance& instance : layout) {
    while (slice < instance.start) add(glyphs.dot, 1);
    const std::vector<std::string> spellings =
        ProfileSpellings(geometry.profiles[instance.profile].name);
    const std::uint32_t size = model::FindPlacement(geometry, instance)->size;
    const int inner = static_cast<int>(size) * cell - 1;
    const auto fitting = std::find_if(spellings.begin(), spellings.end(), [&](const auto& text) {
      return DisplayWidth(text) <= inner;
    });
    add(fitting == spellings.end() ? spellings.back() : *fitting, size);
  }
  while (slice < geometry.memory_slices) add(glyphs.dot, 1);
  return strip + std::string(glyphs.down);
}

std::uint64_t FreeSlices(const MigGeometry& geometry, const MigLayout& layout) {
  std::uint64_t taken = 0;
  for (const model::PlacedInstance& instance : layout) {
    taken += model::FindPlacement(geometry, instance)->size;
  }
  return geometry.memory_slices - taken;
}

Value CountsValue(const MigGeometry& geometry, const ProfileCounts& counts) {
  Value map = Value::Map();
  for (const std::size_t profile : model::LargestFirst(geometry)) {
    if (counts[profile] > 0) map.Set(geometry.profiles[profile].name, counts[profile]);
  }
  return map;
}

Value SetValue(const MigGeometry& geometry, const InstanceSet& set) {
  Value instances = Value::List();
  for (const model::PlacedInstance& instance : set.best) {
    instances.Add(Value::Map()
                      .Set("profile", geometry.profiles[instance.profile].name)
                      .Set("start", instance.start)
                      .Set("size", model::FindPlacement(geometry, instance)->size));
  }
  return Value::Map()
      .Set("counts", CountsValue(geometry, set.counts))
      .Set("maximal", set.maximal)
      .Set("layouts", set.layouts)
      .Set("instances", std::move(instances))
      .Set("freeMemorySlices", FreeSlices(geometry, set.best))
      .Set("room", CountsValue(geometry, model::RemainingRoom(geometry, set.best)));
}

}  // namespace

Lines DrawMigLayouts(const model::Inventory& node, bool all, const Look& look) {
  Lines lines;
  for (const GpuKind& kind : MigKinds(node)) {
    if (!lines.empty()) lines.emplace_back();
    const MigGeometry& geometry = kind.geometry;
    const LayoutList list = ListLayouts(geometry);
    lines.push_back(KindHeading(node, kind, look));
    const auto maximal = std::count_if(list.sets.begin(), list.sets.end(),
                                       [](const InstanceSet& set) { return set.maximal; });
    const std::string summary =
        fmt::format("{} layouts, {} of them full; {} sets of instances, {} that no other contains",
                    list.layouts, list.maximal_layouts, list.sets.size(), maximal);
    Append(Wrapped(Line().PadTo(kIndent), kIndent, summary, Ink::kFaint, look), lines);
    std::vector<std::vector<std::string>> rows = {
        {"at", "ways", all ? "holds, and room for" : "holds"}};
    for (const InstanceSet& set : list.sets) {
      if (!all && !set.maximal) continue;
      std::string holds = Clean(model::ToString(geometry, set.counts), look.utf8);
      if (all && !set.maximal) {
        const ProfileCounts room = model::RemainingRoom(geometry, set.best);
        holds += fmt::format("; room for {}", Clean(model::ToString(geometry, room), look.utf8));
      }
      rows.push_back({Strip(geometry, set.best, look), fmt::format("{}", set.layouts), holds});
    }
    Append(DrawTable(rows, "lrl", kIndent, look), lines);
  }
  Append(DrawNotCapable(node, look), lines);
  return lines;
}

Value MigLayoutsDocument(const model::Inventory& node, bool all) {
  Value kinds = Value::List();
  for (const GpuKind& kind : MigKinds(node)) {
    const LayoutList list = ListLayouts(kind.geometry);
    Value sets = Value::List();
    for (const InstanceSet& set : list.sets) {
      if (all || set.maximal) sets.Add(SetValue(kind.geometry, set));
    }
    kinds.Add(Value::Map()
                  .Set("product", node.gpus[kind.gpus.front()].name)
                  .Set("gpus", GpuList(node, kind.gpus))
                  .Set("memorySlices", kind.geometry.memory_slices)
                  .Set("layouts", list.layouts)
                  .Set("fullLayouts", list.maximal_layouts)
                  .Set("sets", std::move(sets)));
  }
  return Value::Map()
      .Set("apiVersion", "partita.dev/mig/v1")
      .Set("kind", "MigLayouts")
      .Set("kinds", std::move(kinds));
}

namespace {

struct LayoutsOptions : MigOptions {
  bool all = false;  // sets that leave room too
};

base::Result<LayoutsOptions> ReadLayoutsOptions(const base::Invocation& invocation) {
  TRY(common, ReadMigOptions(invocation));
  return LayoutsOptions{std::move(common), invocation.Has("all")};
}

}  // namespace

int RunMigLayouts(const base::Invocation& invocation) {
  const base::Result<LayoutsOptions> options = ReadLayoutsOptions(invocation);
  if (!options.ok()) return ReportError(options.error());
  return WithMigNode(*options, [&](const model::Inventory& node) {
    Print(*options, MigLayoutsDocument(node, options->all),
          [&](const Look& look) { return DrawMigLayouts(node, options->all, look); });
    return kExitDone;
  });
}

}  // namespace partita::cli
