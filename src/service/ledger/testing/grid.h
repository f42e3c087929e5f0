// GPUs as cells with owners: what the random test holds the ledger against. It knows slices and
// nothing of the ledger.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace partita::service::ledger::testing {

inline constexpr std::size_t kGpus = 3;
inline constexpr std::size_t kSlices = 8;

// Some of a GPU: memory slices, and of their compute slices some.
struct Area {
  std::size_t gpu = 0;
  std::size_t first = 0, memory = kSlices;           // memory slices
  std::size_t compute_first = 0, compute = kSlices;  // within them
  std::string made = "whole";  // what the slices are made into: two of a kind share, others meet
  std::string sharing = {};    // empty: alone
  std::size_t share = 0;
};

// Who is where. One memory slice is made into one thing at a time.
class Grid {
 public:
  [[nodiscard]] bool Fits(const Area& area) const {
    for (std::size_t m = area.first; m < area.first + area.memory; ++m) {
      const Slice& slice = gpus_[area.gpu][m];
      if (slice.users != 0 && slice.made != area.made) return false;
      for (std::size_t c = area.compute_first; c < area.compute_first + area.compute; ++c) {
        const Cell& cell = slice.cells[c];
        if (cell.owners.empty()) continue;
        if (area.sharing.empty() || cell.sharing != area.sharing) return false;
        if (cell.owners.contains(area.share)) return false;
      }
    }
    return true;
  }
  void Add(const Area& area, const std::string& owner) {
    Each(area, [&](Slice& slice, Cell& cell) {
      EXPECT_TRUE(cell.owners.emplace(area.share, owner).second) << "an atom given twice";
      slice.made = area.made;
      cell.sharing = area.sharing;
      ++slice.users;
    });
  }
  void Remove(const Area& area) {
    Each(area, [&](Slice& slice, Cell& cell) {
      EXPECT_EQ(cell.owners.erase(area.share), 1U) << "an atom was lost";
      --slice.users;
    });
  }

 private:
  struct Cell {
    std::string sharing;
    std::map<std::size_t, std::string> owners;  // by share
  };
  struct Slice {
    std::string made;
    std::size_t users = 0;
    std::array<Cell, kSlices> cells;
  };
  template <typename Visit>
  void Each(const Area& area, Visit visit) {
    for (std::size_t m = area.first; m < area.first + area.memory; ++m)
      for (std::size_t c = area.compute_first; c < area.compute_first + area.compute; ++c)
        visit(gpus_[area.gpu][m], gpus_[area.gpu][m].cells[c]);
  }
  std::array<std::array<Slice, kSlices>, kGpus> gpus_;
};

inline bool SlicesMeet(const Area& a, const Area& b) {
  return a.gpu == b.gpu && a.first < b.first + b.memory && b.first < a.first + a.memory;
}

}  // namespace partita::service::ledger::testing
