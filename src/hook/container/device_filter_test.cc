#include "hook/container/device_filter.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <gtest/gtest.h>

namespace partita::hook {
namespace {

constexpr std::uint32_t kMake = BPF_DEVCG_ACC_MKNOD, kRead = BPF_DEVCG_ACC_READ,
                        kWrite = BPF_DEVCG_ACC_WRITE;

struct AskedAccess {
  char type;
  std::uint32_t major, minor, access;
};

// What the few instructions do that such programs have. Nothing: one that is not known, a register
// that was never set, or a jump out of it, which the kernel would not load.
class Machine {
 public:
  Machine(std::span<const bpf_insn> program, const AskedAccess& access) : program_(program) {
    context_[0] =
        access.access << 16 | (access.type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR);
    context_[1] = access.major;
    context_[2] = access.minor;
    registers_[BPF_REG_1] = kContext;
  }

  std::optional<bool> Run() {
    for (std::size_t at = 0; at < program_.size(); ++at) {
      const bpf_insn& each = program_[at];
      if (each.code == (BPF_JMP | BPF_EXIT)) {
        if (!registers_[BPF_REG_0]) return std::nullopt;
        return *registers_[BPF_REG_0] != 0;
      }
      const std::optional<int> jump = Step(each);
      if (!jump) return std::nullopt;
      at += static_cast<std::size_t>(*jump);
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t kContext = 0xc0ffee;

  // How far to jump besides.
  std::optional<int> Step(const bpf_insn& each) {
    std::optional<std::uint64_t>& to = registers_[each.dst_reg];
    const std::optional<std::uint64_t> from = registers_[each.src_reg];
    const auto value = static_cast<std::uint64_t>(static_cast<std::int64_t>(each.imm));
    if (each.code == (BPF_LDX | BPF_MEM | BPF_W)) {
      if (from != kContext || each.off % 4 != 0 || each.off < 0 || each.off > 8)
        return std::nullopt;
      to = context_[each.off / 4];
      return 0;
    }
    const bool by_register = BPF_SRC(each.code) == BPF_X;
    if (by_register && !from) return std::nullopt;
    const std::uint64_t operand = by_register ? *from : value;
    if (each.code == (BPF_ALU64 | BPF_MOV | BPF_SRC(each.code))) {
      to = operand;
      return 0;
    }
    if (!to) return std::nullopt;
    const auto low = static_cast<std::uint32_t>(*to),
               low_operand = static_cast<std::uint32_t>(operand);
    switch (each.code & ~BPF_X) {
      case BPF_ALU64 | BPF_RSH: *to >>= operand; return 0;
      case BPF_ALU64 | BPF_AND: *to &= operand; return 0;
      case BPF_JMP32 | BPF_JNE: return low != low_operand ? each.off : 0;
      case BPF_JMP32 | BPF_JEQ: return low == low_operand ? each.off : 0;
      case BPF_JMP32 | BPF_JSET: return (low & low_operand) != 0 ? each.off : 0;
      case BPF_JMP | BPF_JNE: return *to != operand ? each.off : 0;
      default: return std::nullopt;
    }
  }

  std::span<const bpf_insn> program_;
  std::uint32_t context_[3];
  std::optional<std::uint64_t> registers_[16];
};

bpf_insn Made(unsigned code, unsigned to, unsigned from, int offset, int value) {
  bpf_insn made = {};
  made.code = static_cast<std::uint8_t>(code);
  made.dst_reg = static_cast<std::uint8_t>(to & 0xfU);
  made.src_reg = static_cast<std::uint8_t>(from & 0xfU);
  made.off = static_cast<std::int16_t>(offset);
  made.imm = value;
  return made;
}

// A runtime's: character device 1:3 and nothing else.
std::vector<bpf_insn> OnlyNull() {
  return {Made(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_4, BPF_REG_1, 4, 0),
          Made(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_5, BPF_REG_1, 8, 0),
          Made(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_4, 0, 3, 1),
          Made(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_5, 0, 2, 3),
          Made(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1),
          Made(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
          Made(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
          Made(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)};
}

TEST(DeviceRule, IsWrittenAsTheKernelReadsIt) {
  EXPECT_EQ(ToString(DeviceRule{'c', 195, 255, true, true, false}), "c 195:255 rw");
  EXPECT_EQ(ToString(DeviceRule{'b', 8, 0, true, false, true}), "b 8:0 rm");
  EXPECT_EQ(ToString(DeviceRule{'c', 136, 0, true, true, false, true}), "c 136:* rw");
}

bool Allows(const DeviceRule& rule, const AskedAccess& asked) {
  const std::uint32_t may =
      (rule.read ? kRead : 0) | (rule.write ? kWrite : 0) | (rule.make ? kMake : 0);
  return asked.type == rule.type && asked.major == rule.major &&
         (rule.any_minor || asked.minor == rule.minor) && (asked.access & ~may) == 0;
}

TEST(DeviceFilter, OldVerdictsStayAndOursAreAdded) {
  const DeviceRule rules[] = {{'c', 195, 0, true, true, false},
                              {'c', 511, 1, true, false, false},
                              {'c', 0x80000001, 0xffffffff, true, true, true},
                              {'c', 3, 0, true, false, false, true}};
  const std::vector<bpf_insn> old = OnlyNull();
  const std::vector<bpf_insn> filter = WithRules(old, rules);
  const std::uint32_t numbers[] = {0, 1, 3, 195, 511, 255, 0x80000001, 0xffffffff};
  for (const char type : {'c', 'b'}) {
    for (const std::uint32_t major : numbers) {
      for (const std::uint32_t minor : numbers) {
        for (std::uint32_t access = 0; access < 8; ++access) {
          const AskedAccess asked{type, major, minor, access};
          const bool wanted =
              *Machine(old, asked).Run() ||
              std::any_of(std::begin(rules), std::end(rules),
                          [&](const DeviceRule& rule) { return Allows(rule, asked); });
          const std::optional<bool> got = Machine(filter, asked).Run();
          ASSERT_TRUE(got.has_value());
          EXPECT_EQ(*got, wanted) << type << " " << major << ":" << minor << " " << access;
        }
      }
    }
  }
}

TEST(DeviceFilter, WithoutRulesItDecidesAsBefore) {
  const std::vector<bpf_insn> old = OnlyNull();
  EXPECT_EQ(Machine(WithRules(old, {}), {'c', 1, 3, kRead}).Run(), true);
  EXPECT_EQ(Machine(WithRules(old, {}), {'c', 1, 5, kRead}).Run(), false);
}

// Twice, as a container that is configured again.
TEST(DeviceFilter, CanBePutBeforeItself) {
  const DeviceRule first{'c', 195, 0, true, true, false}, second{'c', 195, 1, true, true, false};
  const auto filter = WithRules(WithRules(OnlyNull(), {&first, 1}), {&second, 1});
  EXPECT_EQ(Machine(filter, {'c', 195, 0, kRead | kWrite}).Run(), true);
  EXPECT_EQ(Machine(filter, {'c', 195, 1, kRead | kWrite}).Run(), true);
  EXPECT_EQ(Machine(filter, {'c', 195, 2, kRead}).Run(), false);
  EXPECT_EQ(Machine(filter, {'c', 195, 0, kMake}).Run(), false);
  EXPECT_EQ(Machine(filter, {'c', 1, 3, kWrite}).Run(), true);
}

}  // namespace
}  // namespace partita::hook
