// PID namespaces with processes in them that are killed and started again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"

namespace partita::torture {

// Worker i lives in cell i % cells; cell 0 is the namespace of the caller. Every worker is a child
// of the caller. Killing a cell's first process makes the kernel kill everything in it at once.
class Cells {
 public:
  using Body = std::function<int(std::uint32_t worker)>;
  Cells(std::uint32_t cells, std::uint32_t workers, Body body);
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;
  ~Cells();

  void KillWorker(std::uint32_t worker);
  void KillCell(std::uint32_t cell);  // not cell 0

  struct Death {
    std::uint32_t worker;
    int status;  // as waitpid gives it
  };
  // Collects the dead without waiting.
  std::vector<Death> Reap();
  // Starts what is not running: everything, the first time.
  base::Result<void> Revive();
  [[nodiscard]] std::uint32_t running() const;

 private:
  struct Cell {
    pid_t first = -1;  // pid 1 of the namespace
    int pid_namespace = -1, mount_namespace = -1;
  };
  base::Result<void> StartCell(Cell* cell);
  base::Result<void> StartWorker(std::uint32_t worker);

  std::vector<Cell> cells_;
  std::vector<pid_t> workers_;  // -1: not running
  Body body_;
  int own_namespace_ = -1;
};

}  // namespace partita::torture
