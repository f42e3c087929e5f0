// What is wrong with a document, all of it, in the order of the file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/document.h"

namespace partita::config {

class Problems {
 public:
  static constexpr std::size_t kMaxShown = 20;

  // The document must outlive this.
  explicit Problems(const Document& document)
      : Problems(document.text(), document.file_name(), document.quoting()) {}
  // For problems of a text that is no document: both must outlive this.
  Problems(std::string_view text, std::string_view file_name, Quoting quoting = Quoting::kLines)
      : text_(text), file_name_(file_name), quoting_(quoting) {}

  // `message` says what is wrong, `hint` what to do; the hint stands behind the carets.
  void Add(const Node& node, std::string message, std::string hint = "");

  // As config::Describe, as far as it may be told: for messages.
  [[nodiscard]] std::string Describe(const Node& node) const;

  [[nodiscard]] bool empty() const { return problems_.empty(); }
  [[nodiscard]] std::size_t size() const { return problems_.size(); }

  // Each as
  //
  //   /etc/partita/mig.yaml:7:9: unknown MIG profile "1g.18bg" for H200 (141 GB)
  //       7 |         1g.18bg: 7
  //         |         ^^^^^^^ did you mean "1g.18gb"?
  //
  // and, beyond the first twenty, how many more. Empty when there are none. Where nothing is
  // quoted, the first line alone, with the hint behind a semicolon.
  [[nodiscard]] std::string Render() const;

  // The same, each by itself and without the newline at its end.
  [[nodiscard]] std::vector<std::string> RenderEach() const;

  // Success when empty, else kInvalid with the rendering as the message.
  [[nodiscard]] base::Result<void> ToResult() const;

 private:
  struct Problem {
    int line, column, length;
    std::string message, hint;
  };
  [[nodiscard]] std::vector<const Problem*> Sorted() const;
  [[nodiscard]] std::string RenderOne(const Problem& problem) const;

  std::string_view text_;
  std::string_view file_name_;
  Quoting quoting_;
  std::vector<Problem> problems_;
};

}  // namespace partita::config
