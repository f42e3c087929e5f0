#include "request/mode.h"

#include <gtest/gtest.h>

namespace partita::request {
namespace {

Request Named(std::vector<std::string> devices) {
  Request request;
  request.kind = Kind::kDevices;
  request.devices = std::move(devices);
  return request;
}

TEST(Mode, AutoGoesByTheNames) {
  EXPECT_EQ(*ResolveMode("auto", Named({"nvidia.com/gpu=0"}), false), Mode::kCdi);
  EXPECT_EQ(*ResolveMode("auto", Named({"nvidia.com/gpu=0"}), true), Mode::kCdi);
  // R8: mixed.
  EXPECT_EQ(*ResolveMode("auto", Named({"nvidia.com/gpu=0", "1"}), false), Mode::kJitCdi);
  EXPECT_EQ(*ResolveMode("auto", Named({"0"}), true), Mode::kLegacy);
  EXPECT_EQ(*ResolveMode("auto", Request(), false), Mode::kJitCdi);
}

TEST(Mode, WhatIsConfiguredIsTaken) {
  for (const Mode mode : {Mode::kCdi, Mode::kJitCdi, Mode::kLegacy}) {
    EXPECT_EQ(*ResolveMode(ToString(mode), Named({"0"}), false), mode);
    EXPECT_EQ(*ResolveMode(ToString(mode), Named({"nvidia.com/gpu=0"}), true), mode);
  }
}

TEST(Mode, OthersAreRefusedByName) {
  const auto csv = ResolveMode("csv", Named({"0"}), false);
  EXPECT_EQ(csv.error().ToString(), "unsupported mode \"csv\"");
  EXPECT_EQ(csv.error().code(), base::ErrorCode::kUnsupported);
  const auto unknown = ResolveMode("", Named({"0"}), false);
  EXPECT_EQ(unknown.error().ToString(), "invalid mode \"\"");
  EXPECT_EQ(unknown.error().hint(),
            "nvidia-container-runtime.mode can be auto, cdi, jit-cdi or legacy");
}

}  // namespace
}  // namespace partita::request
