#include "service/mig/wanted_text.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/problems.h"
#include "model/mig/wanted.h"

namespace partita::service::mig {

namespace {

config::Node PlaceOf(int column, std::string_view text) {
  config::Node node;
  node.column = column;
  node.length = std::max(1, static_cast<int>(base::CountCharacters(text)));
  return node;
}

// "id:19" is a name; what follows the last colon of anything else is a count.
std::size_t CountColon(std::string_view piece) {
  const std::size_t colon = piece.rfind(':');
  return colon != std::string_view::npos && piece.substr(0, colon) == "id" ? std::string_view::npos
                                                                           : colon;
}

void ReadEntry(std::string_view piece,
               int column,
               config::Problems& problems,
               std::vector<WantedText::Entry>& entries) {
  const std::size_t colon = CountColon(piece);
  const std::string_view name = piece.substr(0, colon);
  if (name.empty()) {
    problems.Add(PlaceOf(column, piece), "a profile is missing",
                 "write PROFILE:COUNT, as 1g.5gb:7; several with commas");
    return;
  }
  std::uint64_t count = 1;
  if (colon != std::string_view::npos) {
    const std::string_view digits = piece.substr(colon + 1);
    const std::optional<std::uint64_t> number = base::ParseUnsigned(digits);
    if (!number || *number > std::numeric_limits<std::uint32_t>::max()) {
      const int at = column + static_cast<int>(base::CountCharacters(piece.substr(0, colon + 1)));
      problems.Add(PlaceOf(at, digits), fmt::format("{} is no count", base::Quoted(digits)),
                   "a whole number, as in 1g.5gb:7");
      return;
    }
    count = *number;
  }
  entries.push_back({std::string(name), static_cast<std::uint32_t>(count), column});
}

}  // namespace

base::Result<WantedText> WantedText::Parse(std::string text) {
  WantedText wanted;
  wanted.text = std::move(text);
  if (wanted.text == "off" || wanted.text == "none") {
    wanted.enabled = wanted.text == "none";
    return wanted;
  }
  config::Problems problems(wanted.text, kWantOption);
  int column = 1;
  for (const std::string_view piece : base::Split(wanted.text, ',')) {
    ReadEntry(piece, column, problems, wanted.entries);
    column += static_cast<int>(base::CountCharacters(piece)) + 1;
  }
  TRY_VOID(problems.ToResult());
  return wanted;
}

base::Result<model::GpuGoal> ResolveWanted(const WantedText& wanted, const model::Gpu& gpu) {
  model::GpuGoal goal;
  goal.mig_enabled = wanted.enabled;
  const model::MigGeometry geometry = model::MigGeometry::From(*gpu.mig);
  config::Problems problems(wanted.text, kWantOption);
  for (const WantedText::Entry& entry : wanted.entries) {
    const auto device = [&]() -> base::Result<model::WantedDevice> {
      TRY(request, model::ProfileRequest::Parse(entry.profile));
      return model::Resolve(geometry, request);
    }();
    if (!device.ok()) {
      problems.Add(PlaceOf(entry.column, entry.profile),
                   fmt::format("{}: {}", gpu.name, device.error().message()),
                   device.error().hint());
    } else if (entry.count > 0) {
      model::AddDevices(goal.devices, *device, entry.count);
    }
  }
  TRY_VOID(problems.ToResult());
  return goal;
}

}  // namespace partita::service::mig
