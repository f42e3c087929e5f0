#include "hook/container/device_filter.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include <fmt/format.h>

#include "base/unique_fd.h"

namespace partita::hook {
namespace {

using base::ErrnoError;
using base::ErrorCode;
using base::MakeError;
using base::UniqueFd;

bpf_insn Instruction(unsigned code, unsigned to, unsigned from, int offset, std::int32_t value) {
  bpf_insn made = {};
  made.code = static_cast<std::uint8_t>(code);
  made.dst_reg = static_cast<std::uint8_t>(to & 0xfU);
  made.src_reg = static_cast<std::uint8_t>(from & 0xfU);
  made.off = static_cast<std::int16_t>(offset);
  made.imm = value;
  return made;
}

bpf_insn LoadContext(unsigned to, std::size_t offset) {
  return Instruction(BPF_LDX | BPF_MEM | BPF_W, to, BPF_REG_1, static_cast<int>(offset), 0);
}
bpf_insn Compute(unsigned operation, unsigned to, std::int32_t value) {
  return Instruction(BPF_ALU64 | operation | BPF_K, to, 0, 0, value);
}
bpf_insn JumpIf(unsigned condition, unsigned of, std::uint32_t value, int over) {
  return Instruction(BPF_JMP32 | condition | BPF_K, of, 0, over, static_cast<std::int32_t>(value));
}

constexpr unsigned kType = BPF_REG_2, kAccess = BPF_REG_3, kMajor = BPF_REG_4, kMinor = BPF_REG_5;

std::uint32_t NotAllowed(const DeviceRule& rule) {
  std::uint32_t refused = 0;
  if (!rule.make) refused |= BPF_DEVCG_ACC_MKNOD;
  if (!rule.read) refused |= BPF_DEVCG_ACC_READ;
  if (!rule.write) refused |= BPF_DEVCG_ACC_WRITE;
  return refused;
}

int Bpf(bpf_cmd command, bpf_attr& attributes) {
  return static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

std::uint64_t Address(const void* pointer) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

struct Attached {
  std::vector<std::uint32_t> programs;  // ids
  std::uint32_t flags = 0;
};

base::Result<Attached> Query(int cgroup) {
  Attached attached;
  attached.programs.resize(64);
  bpf_attr attributes = {};
  attributes.query.target_fd = static_cast<std::uint32_t>(cgroup);
  attributes.query.attach_type = BPF_CGROUP_DEVICE;
  attributes.query.prog_ids = Address(attached.programs.data());
  attributes.query.prog_cnt = static_cast<std::uint32_t>(attached.programs.size());
  if (Bpf(BPF_PROG_QUERY, attributes) != 0)
    return ErrnoError("list the device programs of the container's cgroup");
  attached.programs.resize(attributes.query.prog_cnt);
  attached.flags = attributes.query.attach_flags;
  return attached;
}

struct Program {
  UniqueFd fd;
  std::vector<bpf_insn> instructions;
  bool gpl = false;
};

base::Result<bpf_prog_info> ReadFacts(int program, bpf_prog_info facts) {
  bpf_attr attributes = {};
  attributes.info.bpf_fd = static_cast<std::uint32_t>(program);
  attributes.info.info_len = sizeof facts;
  attributes.info.info = Address(&facts);
  if (Bpf(BPF_OBJ_GET_INFO_BY_FD, attributes) != 0)
    return ErrnoError("read the device program of the container's cgroup");
  return facts;
}

base::Result<Program> ReadDeviceProgram(std::uint32_t id) {
  bpf_attr attributes = {};
  attributes.prog_id = id;
  Program program;
  program.fd.Reset(Bpf(BPF_PROG_GET_FD_BY_ID, attributes));
  if (!program.fd.valid()) return ErrnoError("open the device program of the container's cgroup");
  TRY(sizes, ReadFacts(program.fd.get(), {}));
  if (sizes.nr_map_ids != 0)
    return MakeError(ErrorCode::kUnsupported,
                     "the device program {} of the container's cgroup uses maps, and cannot be "
                     "copied",
                     id);
  program.instructions.resize(sizes.xlated_prog_len / sizeof(bpf_insn));
  bpf_prog_info wanted = {};
  wanted.xlated_prog_len = sizes.xlated_prog_len;
  wanted.xlated_prog_insns = Address(program.instructions.data());
  TRY(read, ReadFacts(program.fd.get(), wanted));
  // The kernel hides it from whoever may not see addresses, and says so by this alone.
  if (read.xlated_prog_insns == 0 || read.xlated_prog_len != sizes.xlated_prog_len)
    return MakeError(ErrorCode::kDenied, "the kernel does not show the device program {}", id);
  program.gpl = read.gpl_compatible != 0;
  return program;
}

base::Result<UniqueFd> LoadDeviceProgram(const std::vector<bpf_insn>& instructions, bool gpl) {
  const char* license = gpl ? "GPL" : "Apache-2.0";
  bpf_attr attributes = {};
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attributes.insns = Address(instructions.data());
  attributes.insn_cnt = static_cast<std::uint32_t>(instructions.size());
  attributes.license = Address(license);
  UniqueFd program(Bpf(BPF_PROG_LOAD, attributes));
  if (!program.valid()) return ErrnoError("load a device program with the container's devices");
  return program;
}

int AttachProgram(int cgroup, int program, std::uint32_t flags, int instead_of) {
  bpf_attr attributes = {};
  attributes.target_fd = static_cast<std::uint32_t>(cgroup);
  attributes.attach_bpf_fd = static_cast<std::uint32_t>(program);
  attributes.attach_type = BPF_CGROUP_DEVICE;
  attributes.attach_flags = flags;
  if (instead_of >= 0) {
    attributes.attach_flags |= BPF_F_REPLACE;
    attributes.replace_bpf_fd = static_cast<std::uint32_t>(instead_of);
  }
  return Bpf(BPF_PROG_ATTACH, attributes);
}

int DetachProgram(int cgroup, int program) {
  bpf_attr attributes = {};
  attributes.target_fd = static_cast<std::uint32_t>(cgroup);
  attributes.attach_bpf_fd = static_cast<std::uint32_t>(program);
  attributes.attach_type = BPF_CGROUP_DEVICE;
  return Bpf(BPF_PROG_DETACH, attributes);
}

// One that is alone is replaced by being attached over.
base::Result<void> Exchange(int cgroup, std::uint32_t flags, const Program& old, int with) {
  const bool several = (flags & BPF_F_ALLOW_MULTI) != 0;
  if (AttachProgram(cgroup, with, flags, several ? old.fd.get() : -1) == 0) return {};
  if (!several || errno != EINVAL) return ErrnoError("replace the container's device program");
  // Before 5.6. Between the two only what both allow is allowed: never more than before.
  if (AttachProgram(cgroup, with, flags, -1) != 0 || DetachProgram(cgroup, old.fd.get()) != 0)
    return ErrnoError("replace the container's device program");
  return {};
}

// Kernels before 5.11 count programs as locked memory. Where it cannot be raised it may be enough.
void RaiseLockedMemory() {
  const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
  [[maybe_unused]] const int raised = setrlimit(RLIMIT_MEMLOCK, &all);
}

}  // namespace

std::string ToString(const DeviceRule& rule) {
  return fmt::format("{} {}:{} {}{}{}", rule.type, rule.major,
                     rule.any_minor ? "*" : fmt::to_string(rule.minor), rule.read ? "r" : "",
                     rule.write ? "w" : "", rule.make ? "m" : "");
}

std::vector<bpf_insn> WithRules(std::span<const bpf_insn> program,
                                std::span<const DeviceRule> rules) {
  // The kind of device is in the lower half of the first word, the access in the upper.
  std::vector<bpf_insn> made{LoadContext(kType, offsetof(bpf_cgroup_dev_ctx, access_type)),
                             Instruction(BPF_ALU64 | BPF_MOV | BPF_X, kAccess, kType, 0, 0),
                             Compute(BPF_RSH, kAccess, 16),
                             Compute(BPF_AND, kType, 0xffff),
                             LoadContext(kMajor, offsetof(bpf_cgroup_dev_ctx, major)),
                             LoadContext(kMinor, offsetof(bpf_cgroup_dev_ctx, minor))};
  for (const DeviceRule& rule : rules) {
    const std::uint32_t type = rule.type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR;
    const int minor = rule.any_minor ? 0 : 1;
    made.push_back(JumpIf(BPF_JNE, kType, type, 4 + minor));
    made.push_back(JumpIf(BPF_JNE, kMajor, rule.major, 3 + minor));
    if (!rule.any_minor) made.push_back(JumpIf(BPF_JNE, kMinor, rule.minor, 3));
    made.push_back(JumpIf(BPF_JSET, kAccess, NotAllowed(rule), 2));
    made.push_back(Compute(BPF_MOV, BPF_REG_0, 1));
    made.push_back(Instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
  }
  made.insert(made.end(), program.begin(), program.end());
  return made;
}

base::Result<void> AllowOnlyByFilter(int cgroup, std::span<const DeviceRule> rules) {
  const std::vector<bpf_insn> refuse = {Compute(BPF_MOV, BPF_REG_0, 0),
                                        Instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)};
  RaiseLockedMemory();
  TRY(program, LoadDeviceProgram(WithRules(refuse, rules), false));
  if (AttachProgram(cgroup, program.get(), BPF_F_ALLOW_MULTI, -1) != 0)
    return ErrnoError("attach a device program to a cgroup");
  return {};
}

base::Result<void> AllowByFilter(int cgroup, std::span<const DeviceRule> rules) {
  if (rules.empty()) return {};
  TRY(attached, Query(cgroup));
  RaiseLockedMemory();
  struct Exchanged {
    Program old;
    UniqueFd made;
  };
  std::vector<Exchanged> all;
  for (const std::uint32_t id : attached.programs) {
    TRY(old, ReadDeviceProgram(id));
    TRY(made, LoadDeviceProgram(WithRules(old.instructions, rules), old.gpl));
    all.push_back({std::move(old), std::move(made)});
  }
  for (const Exchanged& each : all)
    TRY_VOID(Exchange(cgroup, attached.flags, each.old, each.made.get()));
  return {};
}

}  // namespace partita::hook
