#include "service/health/xid_policy.h"

#include <algorithm>
#include <array>

namespace partita::service::health {
namespace {

// NVIDIA's device plugin takes these for errors of applications (its README,
// DP_DISABLE_HEALTHCHECKS).
constexpr std::array<std::uint64_t, 6> kReferenceIgnores = {13, 31, 43, 45, 68, 109};
constexpr std::uint64_t kGkeFatal = 48;

// An error that is the program's fault, or nobody's, is over when the program is.
bool IsOfApplication(const XidRow& row) {
  return row.policy == XidPolicy::kEventApplication || row.policy == XidPolicy::kIgnore;
}

Proof ProofFor(const XidRow& row, XidPolicy policy) {
  switch (policy) {
    case XidPolicy::kIgnore:
    case XidPolicy::kEventApplication:
    case XidPolicy::kEventDevice: return Proof::kQuiet;
    case XidPolicy::kReset: return IsOfApplication(row) ? Proof::kApplication : Proof::kReset;
    case XidPolicy::kReboot: return Proof::kFoundAnew;
    case XidPolicy::kReplace: return Proof::kBoot;
  }
  return Proof::kBoot;
}

Effect EffectOf(XidPolicy policy) {
  switch (policy) {
    case XidPolicy::kIgnore:
    case XidPolicy::kEventApplication: return Effect::kNothing;
    case XidPolicy::kEventDevice: return Effect::kDegraded;
    case XidPolicy::kReset:
    case XidPolicy::kReboot:
    case XidPolicy::kReplace: return Effect::kUnhealthy;
  }
  return Effect::kUnhealthy;
}

Verdict By(const XidRow& row, XidPolicy policy) {
  return {.policy = policy, .effect = EffectOf(policy), .proof = ProofFor(row, policy)};
}

// Somebody wants the device taken out, and the table may know a stronger reason.
Verdict Fatal(const XidRow& row) { return By(row, std::max(row.policy, XidPolicy::kReset)); }

XidPolicy EventOf(const XidRow& row) {
  return IsOfApplication(row) ? XidPolicy::kEventApplication : XidPolicy::kEventDevice;
}

XidPolicy PolicyOf(config::XidPolicy wanted, const XidRow& row) {
  switch (wanted) {
    case config::XidPolicy::kIgnore: return XidPolicy::kIgnore;
    case config::XidPolicy::kEvent: return EventOf(row);
    case config::XidPolicy::kReset: return XidPolicy::kReset;
    case config::XidPolicy::kReboot: return XidPolicy::kReboot;
    case config::XidPolicy::kReplace: return XidPolicy::kReplace;
  }
  return XidPolicy::kIgnore;
}

Verdict ByPreset(Preset preset, std::uint64_t xid, const XidRow& row) {
  switch (preset) {
    case Preset::kReference: {
      const bool ignored = std::find(kReferenceIgnores.begin(), kReferenceIgnores.end(), xid) !=
                           kReferenceIgnores.end();
      return ignored ? By(row, XidPolicy::kEventApplication) : Fatal(row);
    }
    case Preset::kGke: return xid == kGkeFatal ? Fatal(row) : By(row, EventOf(row));
    case Preset::kCatalogue: break;
  }
  Verdict verdict = By(row, row.policy);
  if (row.idle) verdict.effect = Effect::kUnhealthyOnceIdle;
  verdict.by_table = true;
  return verdict;
}

}  // namespace

Verdict Judge(const XidOptions& options, std::uint64_t xid) {
  const XidRow& row = RowOf(xid);
  const auto rule = std::find_if(options.rules.rbegin(), options.rules.rend(),
                                 [&](const config::XidRule& each) { return each.xid == xid; });
  if (rule != options.rules.rend()) {
    Verdict verdict = By(row, PolicyOf(rule->policy, row));
    verdict.clear_after = rule->clear_after;
    return verdict;
  }
  if (const std::optional<bool> fatal = options.overrides.Fatal(xid))
    return *fatal ? Fatal(row) : By(row, XidPolicy::kIgnore);
  Verdict verdict = ByPreset(options.preset, xid, row);
  verdict.by_preset = true;
  return verdict;
}

std::string_view Advice(XidPolicy policy) {
  switch (policy) {
    case XidPolicy::kIgnore: return "nothing is to be done";
    case XidPolicy::kEventApplication: return "look at the program that ran there";
    case XidPolicy::kEventDevice: return "watch whether it comes again";
    case XidPolicy::kReset:
      return "stop what runs there, then reset the GPU (nvidia-smi -r); if it is not back 10 s "
             "later, the reset could not be seen: partita health clear";
    case XidPolicy::kReboot: return "drain the node, then reboot it";
    case XidPolicy::kReplace:
      return "take the GPU out of service and have the board inspected; a reboot shows whether it "
             "is over";
  }
  return "";
}

}  // namespace partita::service::health
