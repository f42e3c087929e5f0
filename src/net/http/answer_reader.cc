#include "net/http/answer_reader.h"

#include <algorithm>
#include <utility>

#include "base/characters.h"
#include "base/text.h"
#include "net/http/tokens.h"

namespace partita::net {
namespace {

using base::ErrorCode;
using base::MakeError;

base::Error NoAnswer(std::string_view why) {
  return MakeError(ErrorCode::kInvalid, "the answer is not HTTP/1.1: {}", why);
}

bool HasWord(const HttpHeaders& headers, std::string_view name, std::string_view word) {
  const auto found = headers.find(name);
  if (found == headers.end()) return false;
  for (const std::string_view piece : base::Split(found->second, ','))
    if (base::ToLower(base::Trim(piece)) == word) return true;
  return false;
}

}  // namespace

base::Result<void> AnswerReader::Take(std::string_view bytes) {
  begun_ = begun_ || !bytes.empty();
  while (!bytes.empty()) {
    switch (state_) {
      case State::kStatus:
      case State::kHeader:
      case State::kTrailer:
        TRY_VOID(TakeText(bytes, kMostHead - std::min(kMostHead, head_bytes_)));
        break;
      case State::kChunkSize: TRY_VOID(TakeText(bytes, kMostChunkLine)); break;
      case State::kChunkEnd: TRY_VOID(TakeText(bytes, 2)); break;
      case State::kLength:
      case State::kChunk:
      case State::kUntilClose: bytes = TakePart(bytes); break;
      case State::kWhole: surplus_ = true; return {};
    }
  }
  return {};
}

std::string_view AnswerReader::TakePart(std::string_view bytes) {
  if (state_ == State::kUntilClose) {
    body_ += bytes;
    return {};
  }
  const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  body_ += bytes.substr(0, count);
  left_ -= count;
  if (left_ == 0) state_ = state_ == State::kChunk ? State::kChunkEnd : State::kWhole;
  return bytes.substr(count);
}

base::Result<void> AnswerReader::TakeText(std::string_view& bytes, std::size_t most) {
  const std::size_t end = bytes.find('\n');
  const std::size_t count = end == std::string_view::npos ? bytes.size() : end + 1;
  const bool of_head = state_ != State::kChunkSize && state_ != State::kChunkEnd;
  if ((of_head ? 0 : line_.size()) + count > most) {
    if (state_ == State::kChunkEnd) return NoAnswer("a chunk is longer than its size");
    if (state_ == State::kChunkSize) return NoAnswer("the line of a chunk's size has no end");
    return MakeError(ErrorCode::kInvalid, "the answer's head has more than {} KiB",
                     kMostHead >> 10);
  }
  line_ += bytes.substr(0, count);
  bytes.remove_prefix(count);
  if (of_head) head_bytes_ += count;
  if (end == std::string_view::npos) return {};
  const std::string line = std::exchange(line_, {});
  if (!line.ends_with("\r\n")) return NoAnswer("a line ends without a carriage return");
  return ReadLine(std::string_view(line).substr(0, line.size() - 2));
}

base::Result<void> AnswerReader::ReadLine(std::string_view line) {
  switch (state_) {
    case State::kStatus: return ReadStatus(line);
    case State::kHeader: return line.empty() ? EndHead() : ReadHeader(line);
    case State::kChunkSize: return ReadChunkSize(line);
    case State::kChunkEnd:
      if (!line.empty()) return NoAnswer("a chunk is longer than its size");
      state_ = State::kChunkSize;
      return {};
    case State::kTrailer:
      // Nobody needs what trailers say.
      if (line.empty()) state_ = State::kWhole;
      return {};
    case State::kLength:
    case State::kChunk:
    case State::kUntilClose:
    case State::kWhole: break;
  }
  return MakeError(ErrorCode::kInternal, "a line where none is read");
}

base::Result<void> AnswerReader::ReadStatus(std::string_view line) {
  const bool one = line.starts_with("HTTP/1.1 "), zero = line.starts_with("HTTP/1.0 ");
  const std::string_view rest = line.substr(std::min<std::size_t>(line.size(), 9));
  const bool formed = (one || zero) && rest.size() >= 3 && base::IsDigit(rest[0]) &&
                      base::IsDigit(rest[1]) && base::IsDigit(rest[2]) &&
                      (rest.size() == 3 || rest[3] == ' ') && rest[0] >= '1' && rest[0] <= '5';
  if (!formed) return NoAnswer("it begins with " + base::Quoted(line));
  answer_ = {.status = (rest[0] - '0') * 100 + (rest[1] - '0') * 10 + (rest[2] - '0')};
  persistent_ = one;
  state_ = State::kHeader;
  return {};
}

base::Result<void> AnswerReader::ReadHeader(std::string_view line) {
  if (++header_lines_ > kMostHeaders)
    return MakeError(ErrorCode::kInvalid, "the answer has more than {} headers", kMostHeaders);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsHttpToken(line.substr(0, colon)))
    return NoAnswer(base::Quoted(line) + " is no header");
  const std::string_view value = base::Trim(line.substr(colon + 1));
  if (!IsHttpFieldValue(value)) return NoAnswer("a header has a control character");
  const std::string name = base::ToLower(line.substr(0, colon));
  const auto [place, fresh] = answer_.headers.emplace(name, value);
  if (!fresh) place->second.append(", ").append(value);
  return {};
}

base::Result<void> AnswerReader::EndHead() {
  if (answer_.status >= 200) return ChooseBody();
  if (answer_.status == 101) return NoAnswer("it changes to another protocol, unasked");
  if (++interim_ > kMostInterim)
    return MakeError(ErrorCode::kInvalid, "more than {} answers came before the one that counts",
                     kMostInterim);
  state_ = State::kStatus;
  header_lines_ = 0;
  return {};
}

base::Result<void> AnswerReader::ChooseBody() {
  const HttpHeaders& headers = answer_.headers;
  persistent_ = persistent_ && !HasWord(headers, "connection", "close");
  const auto coding = headers.find("transfer-encoding");
  const auto length = headers.find("content-length");
  if (coding != headers.end() && length != headers.end())
    return NoAnswer("it has both a length and a transfer coding");
  if (length != headers.end()) {
    announced_ = base::ParseUnsigned(length->second);
    if (!announced_) return NoAnswer("its length is " + base::Quoted(length->second));
  }
  has_head_ = true;
  if (bodiless_ || answer_.status == 204 || answer_.status == 304) {
    state_ = State::kWhole;
  } else if (coding != headers.end()) {
    if (base::ToLower(coding->second) != "chunked")
      return NoAnswer("its transfer coding is " + base::Quoted(coding->second));
    head_bytes_ = 0;
    state_ = State::kChunkSize;
  } else if (announced_) {
    left_ = *announced_;
    state_ = left_ == 0 ? State::kWhole : State::kLength;
  } else {
    persistent_ = false;
    state_ = State::kUntilClose;
  }
  return {};
}

base::Result<void> AnswerReader::ReadChunkSize(std::string_view line) {
  const std::string_view digits = line.substr(0, line.find(';'));
  // Some servers put spaces between the size and what extends it.
  const auto size = base::ParseUnsigned(base::Trim(digits), 16);
  if (!size || digits.starts_with(' ') || digits.starts_with('\t'))
    return NoAnswer(base::Quoted(line) + " is no chunk's size");
  left_ = *size;
  state_ = left_ == 0 ? State::kTrailer : State::kChunk;
  return {};
}

base::Result<void> AnswerReader::End() {
  if (state_ == State::kUntilClose) state_ = State::kWhole;
  if (whole()) return {};
  if (!begun_) return base::Error(ErrorCode::kUnavailable, "the connection was closed");
  return MakeError(ErrorCode::kUnavailable, "the connection was closed in the middle of the {}",
                   has_head_ ? "answer" : "answer's head");
}

}  // namespace partita::net
