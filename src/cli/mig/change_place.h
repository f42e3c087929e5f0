// Where a change is carried out: in the agent of this machine where one answers, else in this
// process. Both end and tell the same.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/control/control_client.h"
#include "base/result.h"
#include "base/value.h"
#include "model/inventory.h"
#include "model/mig/plan.h"
#include "service/inventory/reader.h"
#include "service/mig/boot.h"
#include "service/mig/procedure.h"
#include "service/mig/remote_order.h"

namespace partita::cli {

// One thread. StopOnSignals was called: a signal ends the change, wherever it runs.
class ChangePlace {
 public:
  using Agree = std::function<service::mig::Agreement(const model::Inventory& node,
                                                      const model::PinnedParts& pinned)>;

  explicit ChangePlace(service::inventory::ReaderOptions reader) : reader_(std::move(reader)) {}

  // An agent that is there and does not help is an error, and never passed by: two that plan for
  // one node would undo each other. Empty `agree`: everything is agreed to.
  [[nodiscard]] service::mig::ChangeEnd Run(const service::mig::RemoteOrder& order,
                                            const Agree& agree,
                                            const service::mig::TellNews& tell);
  [[nodiscard]] service::mig::BootEnd Boot(const service::mig::BootChoice& choice,
                                           const service::mig::TellNews& tell);

  // Of the driver, between two runs here.
  void Release();

 private:
  [[nodiscard]] service::mig::ChangeEnd RunHere(const service::mig::RemoteOrder& order,
                                                const Agree& agree,
                                                const service::mig::TellNews& tell);
  [[nodiscard]] base::Result<service::mig::ChangeGuards> Guards() const;
  service::inventory::ReaderOptions reader_;
  std::unique_ptr<service::mig::ChangeProcedure> procedure_;  // once it was needed
};

// The instances that somebody was given, by the agent of this machine, or as it wrote it down where
// it does not run; none where only root may ask it.
[[nodiscard]] base::Result<model::PinnedParts> AskPinned(
    const service::inventory::ReaderOptions& reader, const model::Inventory& node);

}  // namespace partita::cli
