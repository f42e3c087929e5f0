#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/value.h"
#include "cli/exit_status.h"
#include "cli/labels/asking.h"
#include "cli/labels/commands.h"
#include "cli/report_error.h"
#include "kube/client.h"
#include "kube/watch_lines.h"
#include "service/labels/clearing.h"
#include "service/labels/outputs.h"

namespace partita::cli {
namespace {

using base::ErrorCode;
using base::Value;
using service::labels::Clearing;
using service::labels::Taint;

constexpr std::string_view kNodesPath = "/api/v1/nodes";
// The client reads 16 MiB, and a Node has some tens of KiB.
constexpr int kNodesAtOnce = 200;
// Somebody else may write the Node at the same time, but not for ever.
constexpr int kTaintTries = 10;

std::string PathOf(const std::string& node) {
  return fmt::format("{}/{}", kNodesPath, kube::PercentEncoded(node));
}

// A Node, and what of ours is on it.
struct NodeMeant {
  std::string name;
  Clearing ours;
};

// Of every Node that is meant, as it is now. A Node itself is large, and of large clusters they are
// more than one answer may have.
base::Result<std::vector<NodeMeant>> NodesMeant(Asking& asking,
                                                const std::vector<std::string>& names,
                                                const std::optional<Taint>& taint) {
  std::vector<NodeMeant> nodes;
  const auto add = [&](const Value& node) {
    nodes.push_back({kube::NameOf(node).name, service::labels::WhatIsOurs(node, taint)});
  };
  for (const std::string& name : names) {
    TRY(node, asking.Get(PathOf(name)));
    add(node);
  }
  if (!names.empty()) return nodes;
  std::string rest;
  do {
    TRY(list, asking.Get(fmt::format("{}?limit={}{}", kNodesPath, kNodesAtOnce,
                                     rest.empty() ? "" : "&continue=" + rest)));
    const Value* items = list.Find("items");
    if (items != nullptr && items->kind() == Value::Kind::kList)
      for (const Value& node : items->items()) add(node);
    rest = kube::PercentEncoded(kube::MetadataOf(list, "continue"));
  } while (!rest.empty());
  return nodes;
}

// The list is sent whole, for the version that it was read from.
base::Result<void> RemoveTaint(Asking& asking, const std::string& name, const Taint& taint) {
  for (int tries = 1;; ++tries) {
    TRY(node, asking.Get(PathOf(name)));
    const std::optional<Value> patch = service::labels::TaintsPatch(node, {.remove = taint});
    if (!patch) return {};
    const base::Result<Value> patched = asking.Ask([&](kube::Client& client,
                                                       kube::Client::Answer answer) {
      client.Patch(fmt::format("{}?fieldManager={}", PathOf(name), service::labels::kFieldManager),
                   kube::PatchKind::kMerge, *patch, std::move(answer));
    });
    if (patched.ok()) return {};
    if (patched.error().code() != ErrorCode::kConflict || tries == kTaintTries)
      return patched.error();
  }
}

base::Result<void> Clear(Asking& asking, const NodeMeant& node) {
  const auto& [name, ours] = node;
  if (ours.taint) TRY_VOID(RemoveTaint(asking, name, *ours.taint), "its taint stays");
  if (!ours.labels.empty() || !ours.annotations.empty()) {
    const base::Result<Value> applied =
        asking.Ask([&](kube::Client& client, kube::Client::Answer answer) {
          client.Apply(PathOf(node.name), std::string(service::labels::kFieldManager), true,
                       service::labels::ToNodeApply({}, {}, node.name), std::move(answer));
        });
    if (!applied.ok()) return base::Error(applied.error()).Within("its labels stay");
  }
  if (ours.conditions.empty()) return {};
  const base::Result<Value> patched =
      asking.Ask([&](kube::Client& client, kube::Client::Answer answer) {
        client.Patch(PathOf(node.name) + "/status", kube::PatchKind::kStrategic,
                     service::labels::WithoutConditions(node.ours.conditions), std::move(answer));
      });
  if (!patched.ok()) return base::Error(patched.error()).Within("its conditions stay");
  return {};
}

// What was asked for, understood.
struct ClearOrder {
  std::vector<std::string> nodes;  // empty: all
  std::optional<Taint> taint;
  bool dry_run = false;
};
base::Result<ClearOrder> ReadClearOrder(const base::Invocation& invocation) {
  ClearOrder order{invocation.arguments(), std::nullopt, invocation.Has("dry-run")};
  if (order.nodes.empty() != invocation.Has("all"))
    return base::Error(ErrorCode::kInvalid,
                       order.nodes.empty() ? "no node is named" : "--all and nodes by name")
        .WithHint("name nodes, or all of them with --all");
  if (const std::optional<std::string> word = invocation.Get("taint")) {
    TRY(taint, service::labels::ReadTaintWord(*word), "--taint");
    order.taint = std::move(taint);
  }
  return order;
}

}  // namespace

int RunLabelsClear(const base::Invocation& invocation) {
  const base::Result<ClearOrder> order = ReadClearOrder(invocation);
  if (!order.ok()) return ReportError(order.error());
  base::Result<kube::Access> access =
      kube::FindAccess(invocation.Get("kubeconfig").value_or(""), kube::ProcessEnvironment());
  if (!access.ok()) return ReportError(access.error());
  Asking asking(*std::move(access), "partita-labels-clear");
  const base::Result<std::vector<NodeMeant>> nodes = NodesMeant(asking, order->nodes, order->taint);
  if (!nodes.ok()) return ReportError(nodes.error());
  int status = kExitDone;
  for (const NodeMeant& node : *nodes) {
    const base::Result<void> cleared = order->dry_run ? base::Result<void>() : Clear(asking, node);
    if (!cleared.ok()) {
      ReportError(base::Error(cleared.error()).Within(node.name));
      status = kExitError;
      continue;
    }
    fmt::print("{}: {}{}\n", base::Printable(node.name), base::Printable(ToString(node.ours)),
               node.ours.empty() ? " of partita's"
               : order->dry_run  ? " would go"
                                 : " removed");
  }
  return status;
}

base::Command LabelsClearCommand() {
  return {
      .name = "clear",
      .summary = "Take partita's labels off nodes once no agent is left",
      .description =
          "For after `helm uninstall`, from any machine with a kubeconfig. Of each node the labels "
          "and annotations go that the field manager partita-labels has, and conditions below "
          "partita.dev/; a key that somebody else has written too stays his. A taint goes where "
          "--taint names it and partita has written the node's taints.\n\n"
          "Where an agent still runs it writes all of them again: remove it first. A NodeFeature "
          "object goes with the DaemonSet that owns it; files on nodes stay.\n\n"
          "The account needs nodes list and patch, and nodes/status patch; where a node is named, "
          "or "
          "with --taint, nodes get too.",
      .options = {{.name = "all", .help = "every node of the cluster"},
                  {.name = "taint",
                   .value_name = "KEY=VALUE:EFFECT",
                   .help = "also this taint, as an agent was configured to put it"},
                  {.name = "kubeconfig",
                   .value_name = "FILE",
                   .help =
                       "how the API server is reached; else $KUBECONFIG, else the pod's account"},
                  {.name = "dry-run", .help = "say what would go, and change nothing"}},
      .arguments = {{.name = "NODE",
                     .help = "a node by its name in Kubernetes",
                     .required = false,
                     .repeatable = true}},
      .examples = {{"partita labels clear --all --kubeconfig ~/.kube/config", "of a whole cluster"},
                   {"partita labels clear gpu-1 --dry-run", "what is partita's there"},
                   {"partita labels clear --all --taint nvidia.com/gpu=present:NoSchedule",
                    "with the taint of taints.enabled"}},
      .run = RunLabelsClear};
}

}  // namespace partita::cli
