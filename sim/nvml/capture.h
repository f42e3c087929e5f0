// The recorded conversation with a real library (data/captures/h200/nvml-probe.jsonl).
#pragma once

#include <string>
#include <vector>

namespace partita::sim::nvml {

// One question and its answer.
struct Exchange {
  int line = 0;
  std::string call;                // "nvmlDeviceGetName", or what the probe called its own check
  std::vector<long long> numbers;  // the numbers among its arguments, in order
  int code = 0;
  std::string out;  // as JSON
};

// Ends the test program when the file does not read as expected.
std::vector<Exchange> ReadCapture(const std::string& path);

}  // namespace partita::sim::nvml
