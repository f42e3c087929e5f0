#include "sim/tool/driver_exports.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"

namespace partita::sim::tool {
namespace {

constexpr std::string_view kV3 = "nvmlDeviceGetComputeRunningProcesses_v3";

bool Lacks(std::string_view version, std::string_view symbol) {
  const auto lacking = LackingSymbols(version);
  return std::count(lacking.begin(), lacking.end(), symbol) == 1;
}

TEST(DriverExports, ComeGoAndComeBack) {
  EXPECT_TRUE(Lacks("470.256.02", kV3));
  EXPECT_FALSE(Lacks("510.39.01", kV3));
  EXPECT_FALSE(Lacks("535.86.10", kV3));
  EXPECT_TRUE(Lacks("535.98", kV3));
  EXPECT_FALSE(Lacks("535.104.05", kV3));
  EXPECT_FALSE(Lacks("550.54.14", kV3));
  EXPECT_TRUE(Lacks("470.256.02", "nvmlDeviceGetMemoryInfo_v2"));
  EXPECT_FALSE(Lacks("535.104.05", "nvmlDeviceGetMemoryInfo_v2"));
  EXPECT_TRUE(Lacks("550.54.14", "nvmlSystemEventSetWait"));
  EXPECT_FALSE(Lacks("575.57.08", "nvmlSystemEventSetWait"));
  EXPECT_TRUE(LackingSymbols("580.159.04").empty());
}

TEST(DriverExports, AreGoneForTheLoader) {
  const auto whole = base::ReadFile(PARTITA_SIM_LIBRARY, std::size_t{1} << 30);
  ASSERT_TRUE(whole.ok());
  const auto without = WithoutSymbols(*whole, {kV3, "nvmlInit_v2"});
  ASSERT_TRUE(without.ok()) << without.error().ToString();
  char path[] = "/tmp/partita-exports.XXXXXX";
  const std::string directory = mkdtemp(path);
  const std::string file = directory + "/libnvidia-ml.so.1";
  ASSERT_TRUE(base::WriteFile(file, *without, 0755).ok());
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(dlsym(library, std::string(kV3).c_str()), nullptr);
  EXPECT_EQ(dlsym(library, "nvmlInit_v2"), nullptr);
  EXPECT_NE(dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v2"), nullptr);
  dlclose(library);
  EXPECT_TRUE(base::RemoveTree(directory).ok());
}

TEST(DriverExports, MustBeThere) {
  EXPECT_FALSE(WithoutSymbols("no library", {}).ok());
  const auto whole = base::ReadFile(PARTITA_SIM_LIBRARY, std::size_t{1} << 30);
  ASSERT_TRUE(whole.ok());
  EXPECT_FALSE(WithoutSymbols(*whole, {"nvmlNoSuchCall"}).ok());
}

}  // namespace
}  // namespace partita::sim::tool
