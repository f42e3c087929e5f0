#include <cstdio>
#include <string>

#include "sim/tool/commands.h"

namespace partita::sim::tool {

int Report(const base::Error& error) {
  std::fputs(base::ErrorText("partita-sim", error).c_str(), stderr);
  switch (error.code()) {
    case base::ErrorCode::kInvalid:
    case base::ErrorCode::kNotFound: return kInvalidInput;
    case base::ErrorCode::kBusy: return kBlocked;
    case base::ErrorCode::kUnavailable:
    case base::ErrorCode::kUnsupported:
    case base::ErrorCode::kDenied:
    case base::ErrorCode::kConflict:
    case base::ErrorCode::kTimeout:
    case base::ErrorCode::kIo:
    case base::ErrorCode::kInternal:
    case base::ErrorCode::kNoDriver:
    case base::ErrorCode::kNotApplied:
    case base::ErrorCode::kResetRequired: return kFailed;
  }
  return kFailed;
}

int Finish(const base::Result<void>& result) {
  return result.ok() ? kDone : Report(result.error());
}

int Print(const base::Invocation& invocation,
          const base::Value& document,
          const std::function<std::string(const base::Value&)>& text) {
  const auto format = base::ParseOutputFormat(invocation.Get("output").value_or("text"));
  if (!format.ok()) return Report(format.error());
  switch (*format) {
    case base::OutputFormat::kText: std::fputs(text(document).c_str(), stdout); break;
    case base::OutputFormat::kJson: std::fputs(base::ToJson(document).c_str(), stdout); break;
    case base::OutputFormat::kYaml: std::fputs(base::ToYaml(document).c_str(), stdout); break;
  }
  return kDone;
}

}  // namespace partita::sim::tool
