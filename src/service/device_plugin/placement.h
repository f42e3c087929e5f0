// Which GPUs belong together, by how well they reach each other. Plain numbers: who they are is
// known elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace partita::service::device_plugin {

// The free GPUs, by index. Scores are of pairs and the same both ways.
class Closeness {
 public:
  explicit Closeness(std::size_t count) : count_(count), scores_(count * count), numa_(count) {}

  [[nodiscard]] std::size_t count() const { return count_; }
  void SetScore(std::size_t a, std::size_t b, std::int32_t score) {
    scores_[a * count_ + b] = scores_[b * count_ + a] = score;
  }
  [[nodiscard]] std::int32_t Score(std::size_t a, std::size_t b) const {
    return scores_[a * count_ + b];
  }
  void SetNuma(std::size_t gpu, std::optional<int> node) { numa_[gpu] = node; }
  [[nodiscard]] const std::optional<int>& Numa(std::size_t gpu) const { return numa_[gpu]; }

 private:
  std::size_t count_;
  std::vector<std::int32_t> scores_;
  std::vector<std::optional<int>> numa_;
};

// So many GPUs are placed exactly; the best known node has sixteen.
inline constexpr std::size_t kExactUpTo = 16;
// And beyond that a search ends after so many steps, however many GPUs there are.
inline constexpr std::size_t kMostSteps = 2'000'000;

struct Placed {
  std::vector<std::size_t> gpus;  // ascending
  std::size_t steps = 0;          // looks at a group or an exchange: what it cost
};

// `size` of the GPUs, `required` (ascending, distinct) among them. The caller sees to it that there
// are as many, 0 < size <= count, and that no more are required. The best by this order:
//  1. The sum that is reached when all free GPUs are divided into groups of `size`, what does not
//     fill a group being one of its own: NVIDIA's allocator goes by it, so that one pod's gain is
//     not the loss of all later ones.
//  2. The score of the group itself.
//  3. The fewest NUMA nodes: what is spared for later pods comes behind what this one has.
//  4. What the GPUs that are left score among themselves.
//  5. The lowest indexes.
[[nodiscard]] Placed Place(const Closeness& gpus,
                           const std::vector<std::size_t>& required,
                           std::size_t size);

}  // namespace partita::service::device_plugin
