#include "base/characters.h"

namespace partita::base {

Character DecodeCharacter(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  std::size_t length = 0;
  char32_t code = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    code = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    code = lead & 0x0F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    code = lead & 0x07;
  }
  if (length == 0 || text.size() < length) return {kBroken, 1};
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return {kBroken, 1};
    code = (code << 6) | (byte & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (overlong || surrogate || code > 0x10FFFF) return {kBroken, 1};
  return {code, length};
}

void PutUtf8(std::string& text, char32_t code) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  const auto put_rest = [&](unsigned shift) { put(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put_rest(0);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put_rest(6);
    put_rest(0);
  } else {
    put(0xF0 | code >> 18);
    put_rest(12);
    put_rest(6);
    put_rest(0);
  }
}

std::string_view CutAtCharacter(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  // A character has four bytes at most: further back none begins that reaches across the end.
  for (std::size_t back = 1; back < 4 && back <= most; ++back) {
    if (DecodeCharacter(text.substr(most - back)).bytes > back) return text.substr(0, most - back);
  }
  return text.substr(0, most);
}

bool IsUnprintable(char32_t code) {
  return code == kBroken || code < 0x20 || (code >= 0x7F && code < 0xA0) ||
         (code >= 0x200E && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

bool HasUnprintable(std::string_view text) {
  while (!text.empty()) {
    const Character next = DecodeCharacter(text);
    if (IsUnprintable(next.code)) return true;
    text.remove_prefix(next.bytes);
  }
  return false;
}

std::string Printable(std::string_view text, std::string_view kept, Charset charset) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    const Character next = DecodeCharacter(text);
    const bool foreign = charset == Charset::kAscii && next.code >= 0x80;
    const bool harmless = !IsUnprintable(next.code) && !foreign;
    if (harmless || kept.find(text[0]) != std::string_view::npos)
      printable += text.substr(0, next.bytes);
    else
      printable += '?';
    text.remove_prefix(next.bytes);
  }
  return printable;
}

}  // namespace partita::base
