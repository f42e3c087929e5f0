#include "sim/state/test_node.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/load/catalog.h"
#include "sim/load/node_file.h"

namespace partita::sim {
namespace {

void Require(bool condition, std::string_view what) {
  if (condition) return;
  std::fprintf(stderr, "test node: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace

Loaded LoadProfile(std::string_view profile) {
  const load::Catalog catalog = load::Catalog::BuiltIn();
  const load::DataFile* file = catalog.FindNode(profile);
  Require(file != nullptr, "no such profile in data/nodes");
  auto node = load::LoadNode(*file, catalog, "");
  Require(node.ok(), "the profile does not load");
  return {std::move(node->machine), std::move(node->slot)};
}

NodeDirectory::NodeDirectory(std::string_view profile) : loaded_(LoadProfile(profile)) {
  std::string pattern = (std::filesystem::temp_directory_path() / "partita-state-XXXXXX").string();
  Require(mkdtemp(pattern.data()) != nullptr, "no directory");
  root_ = pattern;
  for (const char* directory : {"/sim", "/proc", "/dev"}) {
    std::filesystem::create_directories(root_ + directory);
  }
  std::ofstream(holders()).close();
  Require(Create(state().c_str(), *loaded_.machine, *loaded_.slot) == 0, "no state file");
  Require(Store::Open(state().c_str(), Access::kReadWrite, &store_) == 0,
          "the state does not open");
}

NodeDirectory::~NodeDirectory() {
  store_.Close();
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

void NodeDirectory::Change(const std::function<void(Slot&)>& change) {
  Transaction transaction;
  Require(Transaction::Begin(store_, &transaction) == 0, "the state cannot be changed");
  change(transaction.slot());
  transaction.Commit();
}

Slot NodeDirectory::Snapshot() const {
  Slot slot{};
  store_.Snapshot(&slot);
  return slot;
}

std::string NodeDirectory::Text(const std::string& path) const {
  std::ifstream file(root_ + "/" + path);
  if (!file) return "(absent)";
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool NodeDirectory::Has(const std::string& path) const {
  return std::filesystem::exists(std::filesystem::symlink_status(root_ + "/" + path));
}

pid_t InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  Require(child >= 0, "fork failed");
  if (child == 0) _exit(body());
  return child;
}

int StatusOf(pid_t child) {
  int status = 0;
  Require(waitpid(child, &status, 0) == child, "waitpid failed");
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace partita::sim
