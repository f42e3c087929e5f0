#include "service/mig/boot_selection.h"

#include <gtest/gtest.h>

namespace partita::service::mig {
namespace {

const BootSelection kOnes{"/etc/mig.yaml", "", "all-1g.5gb"};

TEST(BootSelection, ReplacesTheReferencesOwnAndKeepsTheRest) {
  EXPECT_EQ(WithSelection("[Unit]\nAfter=x.service\n"
                          "[Service]\nEnvironment=\"MIG_PARTED_CONFIG_FILE=/old.yaml\"\n"
                          "Environment=\"MIG_PARTED_HOOKS_FILE=/hooks.yaml\"\n"
                          "Environment=MIG_PARTED_SELECTED_CONFIG=all-disabled\n"
                          "Environment=\"OTHER=1\"\nTimeoutStartSec=60\n",
                          kOnes),
            "[Unit]\nAfter=x.service\n[Service]\n"
            "Environment=\"MIG_PARTED_HOOKS_FILE=/hooks.yaml\"\n"
            "Environment=\"OTHER=1\"\nTimeoutStartSec=60\n"
            "Environment=\"MIG_PARTED_CONFIG_FILE=/etc/mig.yaml\"\n"
            "Environment=\"MIG_PARTED_SELECTED_CONFIG=all-1g.5gb\"\n");
}

TEST(BootSelection, OpensItsSectionAgainBehindAnother) {
  EXPECT_EQ(WithSelection("[Service]\n[Install]\n", {"", "", "a"}),
            "[Service]\n[Install]\n[Service]\nEnvironment=\"MIG_PARTED_SELECTED_CONFIG=a\"\n");
  EXPECT_EQ(WithSelection("", {"", "", "a"}),
            "[Service]\nEnvironment=\"MIG_PARTED_SELECTED_CONFIG=a\"\n");
}

TEST(BootSelection, KeepsALineThatSetsMoreAndWinsOverIt) {
  const std::string line = "Environment=MIG_PARTED_SELECTED_CONFIG=x OTHER=1\n";
  EXPECT_EQ(WithSelection("[Service]\n" + line, {"", "", "a"}),
            "[Service]\n" + line + "Environment=\"MIG_PARTED_SELECTED_CONFIG=a\"\n");
}

TEST(BootSelection, IsEmptyWhereWhatWasAppliedLastCounts) {
  EXPECT_EQ(WithSelection("[Service]\nEnvironment=\"MIG_PARTED_SELECTED_CONFIG=x\"\n", {}),
            "[Service]\nEnvironment=\"MIG_PARTED_SELECTED_CONFIG=\"\n");
}

TEST(BootSelection, WritesWhatSystemdReadsBack) {
  EXPECT_EQ(WithSelection("[Service]\n", {"/a%b", "", "a\"b\\c"}),
            "[Service]\nEnvironment=\"MIG_PARTED_CONFIG_FILE=/a%%b\"\n"
            "Environment=\"MIG_PARTED_SELECTED_CONFIG=a\\\"b\\\\c\"\n");
}

// Whoever may edit a configuration must not write lines of a unit.
TEST(BootSelection, EscapesWhatWouldEndALine) {
  EXPECT_EQ(WithSelection("[Service]\n", {"/a\nb", "/h\x1b\xc2\x85", "a\"\nExecStartPre=/bin/x\r"}),
            "[Service]\nEnvironment=\"MIG_PARTED_CONFIG_FILE=/a\\x0ab\"\n"
            "Environment=\"MIG_PARTED_HOOKS_FILE=/h\\x1b\\xc2\\x85\"\n"
            "Environment=\"MIG_PARTED_SELECTED_CONFIG=a\\\"\\x0aExecStartPre=/bin/x\\x0d\"\n");
}

TEST(BootSelection, ChangesNothingASecondTime) {
  const std::string once = WithSelection("[Service]\nNice=1\n", kOnes);
  EXPECT_EQ(WithSelection(once, kOnes), once);
}

TEST(BootSelection, LeavesLinesThatContinueWhole) {
  EXPECT_EQ(WithSelection("[Service]\nEnvironment=MIG_PARTED_SELECTED_CONFIG=old\\\n B=2\n",
                          {"", "", "new"}),
            "[Service]\nEnvironment=MIG_PARTED_SELECTED_CONFIG=old\\\n B=2\n"
            "Environment=\"MIG_PARTED_SELECTED_CONFIG=new\"\n");
  EXPECT_EQ(WithSelection("[Service]\nEnvironment=A=1 \\", {"", "", "new"}),
            "[Service]\nEnvironment=A=1 \\\n\nEnvironment=\"MIG_PARTED_SELECTED_CONFIG=new\"\n");
}

}  // namespace
}  // namespace partita::service::mig
