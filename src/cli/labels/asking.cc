#include "cli/labels/asking.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/commands.h"

namespace partita::cli {

using base::Value;

Asking::Asking(kube::Access access, const std::string& name)
    : client_(kube::NewClient(*loop_,
                              "api",
                              std::move(access),
                              kube::SystemRandom(),
                              fmt::format("{}/{}", name, Version()))) {}

base::Result<Value> Asking::Ask(
    const std::function<void(kube::Client&, kube::Client::Answer)>& ask) {
  std::optional<base::Result<Value>> answered;
  ask(*client_, [&](base::Result<Value> object) {
    answered = std::move(object);
    loop_->Stop();
  });
  loop_->Run();
  return *std::move(answered);
}

base::Result<Value> Asking::Get(const std::string& path) {
  return Ask([&](kube::Client& client, kube::Client::Answer answer) {
    client.Get(path, std::move(answer));
  });
}

}  // namespace partita::cli
