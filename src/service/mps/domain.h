// An MPS domain: one control daemon, the devices that it serves, and what each of their clients may
// take. Values only; who starts daemons is agent/mps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ids.h"

namespace partita::service::mps {

struct Capability {
  int major = 0, minor = 0;
  auto operator<=>(const Capability&) const = default;
};

// How much of its GPU's compute a MIG device has: 3 of 7 slices. A whole GPU: 1 of 1.
struct ComputeShare {
  std::uint32_t slices = 1, of = 1;
  bool operator==(const ComputeShare&) const = default;
};

// A device that is shared.
struct Member {
  std::string uuid;       // "GPU-…", "MIG-…"
  model::PciAddress pci;  // of its GPU
  model::Bytes memory;
  bool mig = false;
  Capability capability;
  ComputeShare compute;
  bool operator==(const Member&) const = default;
};

// What one client may take of a device.
struct Limits {
  model::Mebibytes memory;
  model::Percent threads;
  bool operator==(const Limits&) const = default;
};

// What a daemon is started with. Two that are equal are the same daemon.
struct Domain {
  std::string name;                      // of its directory, and for people
  std::vector<Member> members;           // in the order of CUDA's ordinals there
  std::vector<model::Mebibytes> memory;  // the default limit of each member
  model::Percent threads{100};           // the default percentage, for all of them
  bool operator==(const Domain&) const = default;
};

// Shares of one size, of each device that has them.
struct Size {
  std::string name;  // "small"
  std::uint32_t replicas = 0;
  model::Bytes memory{};         // that one of them may take; 0: a percentage…
  model::Percent memory_part{};  // …of its device's
  model::Percent threads{};
  bool operator==(const Size&) const = default;
};

// By how much more than its equal part a share may take: with 1.5, of two shares each 75 %. Shares
// of sizes take what is written; by so much more than the device has they may be together.
struct Factors {
  double memory = 1.0, threads = 1.0;
  bool operator==(const Factors&) const = default;
};

// The clients that the hardware serves at once: 48 since compute capability 7.0, 16 before; a MIG
// device's part of that by its compute slices, at least one.
[[nodiscard]] std::uint32_t MostClients(const Member& member);

// All of a device.
[[nodiscard]] Limits WholeOf(const Member& member);
// One of `replicas` equal shares; at least 1 MiB and 1 %, at most the whole.
[[nodiscard]] Limits EqualShare(const Member& member,
                                std::uint32_t replicas,
                                const Factors& factors);
// One of a size; perhaps more than the device has.
[[nodiscard]] Limits SizedShare(const Member& member, const Size& size);
// Of a container with `count` shares of a device; at most the whole.
[[nodiscard]] Limits Times(const Limits& share, std::uint32_t count, const Limits& whole);

// "nvidia.com_gpu": a resource as a name of a directory.
[[nodiscard]] std::string NameOfResource(std::string_view resource);
// Whether a directory may be called so: nothing that leads elsewhere.
[[nodiscard]] bool IsDomainName(std::string_view name);

// Devices that are shared under one resource's name.
struct SharedDevices {
  std::string resource;        // "nvidia.com/gpu"
  bool one_share_each = true;  // a container gets one at most
  struct Device {
    Member member;
    std::uint32_t replicas = 0;    // of all sizes together
    std::vector<Size> sizes = {};  // none: equal shares
    bool operator==(const Device&) const = default;
  };
  std::vector<Device> devices;
  bool operator==(const SharedDevices&) const = default;
};

struct Domains {
  std::vector<Domain> domains;        // by name
  std::vector<std::string> left_out;  // uuids, in the order given
  std::vector<std::string> problems;  // why, one each
  bool operator==(const Domains&) const = default;
};

// A domain for each device where a container gets one share at most; else one for all whole GPUs of
// the resource, since a program talks to one daemon only. MIG devices always have one each: a
// program can use one of them only. Where a container may get several shares the defaults are the
// whole device, and a client's own variables lower the limits. Of sizes they are the most that one
// share may take: what a program has that takes its variables away.
[[nodiscard]] Domains MakeDomains(const std::vector<SharedDevices>& shared, const Factors& factors);

}  // namespace partita::service::mps
