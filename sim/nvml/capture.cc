#include "sim/nvml/capture.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace partita::sim::nvml {
namespace {

[[noreturn]] void Fail(int line, const char* what) {
  std::fprintf(stderr, "capture line %d: %s\n", line, what);
  std::abort();
}

// The text between two marks that the probe's writer always puts there.
std::string_view TextBetween(std::string_view line,
                             std::string_view open,
                             std::string_view close,
                             int number) {
  const std::size_t begin = line.find(open);
  if (begin == std::string_view::npos) Fail(number, "a key is missing");
  line.remove_prefix(begin + open.size());
  const std::size_t end = line.find(close);
  if (end == std::string_view::npos) Fail(number, "a value does not end");
  return line.substr(0, end);
}

std::vector<long long> NumbersIn(std::string_view arguments) {
  std::vector<long long> numbers;
  while (!arguments.empty()) {
    const std::size_t end = arguments.find(", ");
    const std::string item(arguments.substr(0, end));
    if (!item.empty() && item[0] != '"') numbers.push_back(std::atoll(item.c_str()));
    arguments = end == std::string_view::npos ? "" : arguments.substr(end + 2);
  }
  return numbers;
}

}  // namespace

std::vector<Exchange> ReadCapture(const std::string& path) {
  std::ifstream file(path);
  if (!file) Fail(0, "the file cannot be opened");
  std::vector<Exchange> exchanges;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    Exchange exchange;
    exchange.line = ++number;
    exchange.call = TextBetween(line, "{\"call\": \"", "\", \"args\": ", number);
    exchange.numbers = NumbersIn(TextBetween(line, "\"args\": [", "], \"rc\": ", number));
    exchange.code = std::atoi(std::string(TextBetween(line, "], \"rc\": ", ",", number)).c_str());
    exchange.out = TextBetween(line, ", \"out\": ", ", \"us\": ", number);
    exchanges.push_back(std::move(exchange));
  }
  return exchanges;
}

}  // namespace partita::sim::nvml
