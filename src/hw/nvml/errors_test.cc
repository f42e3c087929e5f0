#include "hw/nvml/errors.h"

#include <gtest/gtest.h>

#include "hw/nvml/abi.h"

namespace partita::hw::nvml {
namespace {

TEST(NvmlError, KeepsFunctionTextAndNativeCode) {
  const base::Error error = NvmlError("nvmlDeviceGetName", NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(error.code(), base::ErrorCode::kUnavailable);
  EXPECT_EQ(error.ToString(), "nvmlDeviceGetName: GPU is lost (NVML 15)");
  EXPECT_EQ(error.native(), (base::NativeCode{base::NativeKind::kNvml, 15}));
  EXPECT_NE(error.hint(), "");
}

TEST(NvmlError, CallsCodesThatItDoesNotKnowUnknown) {
  EXPECT_EQ(NvmlError("nvmlX", 4711).ToString(), "nvmlX: Unknown Error (NVML 4711)");
}

TEST(NvmlError, MapsWhatCallersActOn) {
  const auto code = [](int native) { return NvmlError("f", native).code(); };
  EXPECT_EQ(code(NVML_ERROR_NOT_SUPPORTED), base::ErrorCode::kUnsupported);
  EXPECT_EQ(code(NVML_ERROR_NO_PERMISSION), base::ErrorCode::kDenied);
  EXPECT_EQ(code(NVML_ERROR_NOT_FOUND), base::ErrorCode::kNotFound);
  EXPECT_EQ(code(NVML_ERROR_IN_USE), base::ErrorCode::kBusy);
  EXPECT_EQ(code(NVML_ERROR_INSUFFICIENT_RESOURCES), base::ErrorCode::kConflict);
  EXPECT_EQ(code(NVML_ERROR_DRIVER_NOT_LOADED), base::ErrorCode::kUnavailable);
}

TEST(NvmlError, TellsWhatIsAbsentAndWhatEndsASession) {
  for (const int lost : {NVML_ERROR_UNINITIALIZED, NVML_ERROR_DRIVER_NOT_LOADED,
                         NVML_ERROR_LIB_RM_VERSION_MISMATCH}) {
    EXPECT_TRUE(MeansSessionLost(lost)) << lost;
    EXPECT_FALSE(MeansAbsent(lost)) << lost;
  }
  for (const int absent :
       {NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_FUNCTION_NOT_FOUND, NVML_ERROR_DEPRECATED}) {
    EXPECT_TRUE(MeansAbsent(absent)) << absent;
    EXPECT_FALSE(MeansSessionLost(absent)) << absent;
  }
  for (const int neither : {NVML_ERROR_GPU_IS_LOST, NVML_ERROR_IN_USE, NVML_ERROR_UNKNOWN}) {
    EXPECT_FALSE(MeansAbsent(neither)) << neither;
    EXPECT_FALSE(MeansSessionLost(neither)) << neither;
  }
  EXPECT_TRUE(MeansSessionLost(NvmlError("f", NVML_ERROR_UNINITIALIZED)));
  EXPECT_FALSE(MeansSessionLost(NvmlError("f", NVML_ERROR_UNKNOWN)));
  EXPECT_FALSE(MeansSessionLost(base::Error(base::ErrorCode::kInternal, "no code of NVML's")));
}

}  // namespace
}  // namespace partita::hw::nvml
