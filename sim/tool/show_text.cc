#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "sim/tool/show_document.h"
#include "sim/tool/table.h"
#include "sim/tool/words.h"

namespace partita::sim::tool {
namespace {

using base::Value;

// A member as a table's cell: strings bare, null as "-".
std::string ShownCell(const Value& map, std::string_view key) {
  const Value* value = map.Find(key);
  if (value == nullptr || value->IsNull()) return "-";
  return value->kind() == Value::Kind::kString ? value->AsString() : base::ToJsonLine(*value);
}

bool IsTrue(const Value& map, std::string_view key) {
  const Value* value = map.Find(key);
  return value != nullptr && value->kind() == Value::Kind::kBool && value->AsBool();
}

std::string MigCell(const Value& gpu) {
  const Value& mig = *gpu.Find("mig");
  if (mig.IsNull()) return "-";
  const bool current = IsTrue(mig, "current"), pending = IsTrue(mig, "pending");
  if (current == pending) return current ? "on" : "off";
  return pending ? "off, on after reset" : "on, off after reset";
}

std::string HealthCell(const Value& gpu) {
  if (IsTrue(gpu, "lost")) return "lost";
  if (IsTrue(gpu, "reset_required")) return "reset required";
  const std::string action = ShownCell(gpu, "recovery_action");
  return action == "none" ? "ok" : "asks for " + action;
}

std::string InstanceLines(const Value& gpu) {
  std::vector<std::vector<std::string>> rows;
  const Value& mig = *gpu.Find("mig");
  if (mig.IsNull()) return "";
  for (const Value& instance : mig.Find("instances")->items()) {
    const std::string place =
        fmt::format("at {}:{}", ShownCell(instance, "start"), ShownCell(instance, "size"));
    const std::string gi = "     GI " + ShownCell(instance, "id");
    const std::vector<Value>& computes = instance.Find("compute_instances")->items();
    if (computes.empty()) rows.push_back({gi, ShownCell(instance, "profile"), place, "no CI"});
    for (const Value& compute : computes) {
      rows.push_back({gi, ShownCell(instance, "profile"), place, "CI " + ShownCell(compute, "id"),
                      ShownCell(compute, "profile"), ShownCell(compute, "uuid")});
    }
  }
  return Table(rows);
}

// The table with each GPU's instances below its own row.
std::string GpuText(const Value& document) {
  std::vector<std::vector<std::string>> rows = {
      {"GPU", "PCI", "NAME", "MIG", "DRIVER", "HEALTH", "UUID"}};
  const std::vector<Value>& gpus = document.Find("gpus")->items();
  for (const Value& gpu : gpus) {
    rows.push_back({fmt::format("{:>3}", ShownCell(gpu, "index")), ShownCell(gpu, "pci"),
                    ShownCell(gpu, "name"), MigCell(gpu), ShownCell(gpu, "pci_driver"),
                    HealthCell(gpu), ShownCell(gpu, "uuid")});
  }
  const std::string table = Table(rows);
  std::string text;
  std::size_t line = 0, at = 0;
  while (at < table.size()) {
    const std::size_t end = table.find('\n', at) + 1;
    text += table.substr(at, end - at);
    if (line > 0) text += InstanceLines(gpus[line - 1]);
    ++line;
    at = end;
  }
  return text;
}

std::string Place(const Value& workload) {
  std::string place = ShownCell(workload, "gpu");
  if (ShownCell(workload, "gpu_instance") != "-")
    place += "/gi" + ShownCell(workload, "gpu_instance");
  if (ShownCell(workload, "compute_instance") != "-")
    place += "/ci" + ShownCell(workload, "compute_instance");
  return place;
}

std::string Effect(const Value& fault) {
  std::string text = ShownCell(fault, "effect");
  if (fault.Find("code") != nullptr) text += " " + ShownCell(fault, "code");
  if (fault.Find("delay_ms") != nullptr) text += " " + ShownCell(fault, "delay_ms") + " ms";
  if (ShownCell(fault, "remaining_calls") != "-") {
    text += ", " + ShownCell(fault, "remaining_calls") + " more times";
  }
  return text;
}

}  // namespace

std::string ClockText(const Value& document) {
  return fmt::format("{} {}\n", ShownCell(document, "now"),
                     IsTrue(document, "frozen") ? "(frozen)" : "(running)");
}

std::string WorkloadsText(const Value& document) {
  const std::vector<Value>& workloads = document.Find("workloads")->items();
  if (workloads.empty()) return "no workload\n";
  std::vector<std::vector<std::string>> rows = {
      {"ID", "GPU", "PID", "KIND", "MEMORY", "UTIL", "NAME"}};
  for (const Value& workload : workloads) {
    rows.push_back({ShownCell(workload, "id"), Place(workload), ShownCell(workload, "pid"),
                    ShownCell(workload, "kind"),
                    FormatBytes(workload.Find("memory_bytes")->AsUnsigned()),
                    ShownCell(workload, "utilization") + "%", ShownCell(workload, "name")});
  }
  return Table(rows);
}

std::string FaultsText(const Value& document) {
  const std::vector<Value>& faults = document.Find("faults")->items();
  if (faults.empty()) return "no fault\n";
  std::vector<std::vector<std::string>> rows = {{"ID", "FAULT", "GPU", "CALL", "EFFECT"}};
  for (const Value& fault : faults) {
    rows.push_back({ShownCell(fault, "id"), ShownCell(fault, "kind"), ShownCell(fault, "gpu"),
                    ShownCell(fault, "function"), Effect(fault)});
  }
  return Table(rows);
}

std::string NodeText(const Value& document) {
  const Value& driver = *document.Find("driver");
  std::string text =
      fmt::format("node {}  driver {} ({})  CUDA {}  boot {}  clock {}",
                  ShownCell(document, "node"), ShownCell(driver, "version"),
                  IsTrue(driver, "loaded") ? "loaded" : "not loaded", ShownCell(driver, "cuda"),
                  ShownCell(*document.Find("boot"), "count"), ClockText(*document.Find("clock")));
  text += "\n" + GpuText(document);
  if (!document.Find("workloads")->items().empty()) text += "\n" + WorkloadsText(document);
  if (!document.Find("faults")->items().empty()) text += "\n" + FaultsText(document);
  return text;
}

}  // namespace partita::sim::tool
