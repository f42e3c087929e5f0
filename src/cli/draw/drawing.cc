#include "cli/draw/drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"

namespace partita::cli {

namespace {

constexpr Glyphs kUnicode = {
    .bar_open = "",
    .bar_close = "",
    .used = "█",
    .reserved = "▒",
    .unused = "░",
    .eighths = true,
    .rule = "─",
    .across = "─",
    .down = "│",
    .across_free = "┄",
    .down_free = "┊",
    .top_left = "┌",
    .top_tee = "┬",
    .top_right = "┐",
    .bottom_left = "└",
    .bottom_tee = "┴",
    .bottom_right = "┘",
    .down_inner = "╎",
    .held = "●",
    .idle = "○",
    .fault = "✗",
    .warning = "!",
    .advice = "→",
    .ellipsis = "…",
    .times = "×",
    .degrees = "°C",
    .dot = "·",
};

constexpr Glyphs kAscii = {
    .bar_open = "[",
    .bar_close = "]",
    .used = "#",
    .reserved = "=",
    .unused = ".",
    .eighths = false,
    .rule = "-",
    .across = "-",
    .down = "|",
    .across_free = ".",
    .down_free = ":",
    .top_left = "+",
    .top_tee = "+",
    .top_right = "+",
    .bottom_left = "+",
    .bottom_tee = "+",
    .bottom_right = "+",
    .down_inner = ":",
    .held = "*",
    .idle = "o",
    .fault = "X",
    .warning = "!",
    .advice = ">",
    .ellipsis = "~",
    .times = "x",
    .degrees = "C",
    .dot = "-",
};

// 256-colour neighbours of the Okabe-Ito palette, which stays distinct in the common kinds of
// colour blindness; none is so light or so dark that one kind of terminal background swallows it.
std::string_view Escape(Ink ink) {
  switch (ink) {
    case Ink::kPlain: return "";
    case Ink::kStrong: return "\x1b[1m";
    case Ink::kFaint: return "\x1b[38;5;245m";
    case Ink::kMemory:
    case Ink::kIdle: return "\x1b[38;5;74m";       // sky blue
    case Ink::kReserved: return "\x1b[38;5;175m";  // reddish purple
    case Ink::kLoad:
    case Ink::kHeld: return "\x1b[38;5;36m";      // bluish green
    case Ink::kWarning: return "\x1b[38;5;172m";  // orange
    case Ink::kFault: return "\x1b[1;38;5;166m";  // vermillion
  }
  return "";
}

struct Range {
  char32_t first, last;
};

// Characters that terminals draw two columns wide, by block: East Asian scripts and emoji.
constexpr std::array kWide = {
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},
    Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},
    Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF},
    Range{0x20000, 0x3FFFD},
};
// Marks that join the character before them.
constexpr std::array kNarrow = {
    Range{0x0300, 0x036F},
    Range{0x200B, 0x200D},
    Range{0x20D0, 0x20FF},
    Range{0xFE00, 0xFE0F},
};

template <std::size_t N>
bool Within(const std::array<Range, N>& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

int Columns(char32_t code) {
  if (code == base::kBroken || code < 0x300) return 1;
  if (Within(kNarrow, code)) return 0;
  return Within(kWide, code) ? 2 : 1;
}

// Bytes of the longest start of the text that is at most `width` columns wide.
std::size_t BytesWithin(std::string_view text, int width) {
  std::size_t bytes = 0;
  int columns = 0;
  while (bytes < text.size()) {
    const base::Character next = base::DecodeCharacter(text.substr(bytes));
    columns += Columns(next.code);
    if (columns > width) break;
    bytes += next.bytes;
  }
  return bytes;
}

}  // namespace

const Glyphs& Look::glyphs() const { return utf8 ? kUnicode : kAscii; }

int DisplayWidth(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const base::Character next = base::DecodeCharacter(text);
    columns += Columns(next.code);
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::string Clean(std::string_view text, bool utf8) {
  return base::Printable(text, "", utf8 ? base::Charset::kUtf8 : base::Charset::kAscii);
}

std::string Fit(std::string_view text, int width, const Glyphs& glyphs) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width <= 0) return "";
  return std::string(text.substr(0, BytesWithin(text, width - 1))) + std::string(glyphs.ellipsis);
}

std::string FitEnd(std::string_view text, int width, const Glyphs& glyphs) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width <= 0) return "";
  while (!text.empty() && DisplayWidth(text) > width - 1)
    text.remove_prefix(base::DecodeCharacter(text).bytes);
  return std::string(glyphs.ellipsis) + std::string(text);
}

std::string Repeat(std::string_view text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) repeated += text;
  return repeated;
}

Line& Line::Add(std::string_view text, Ink ink) {
  if (text.empty()) return *this;
  width_ += DisplayWidth(text);
  if (!pieces_.empty() && pieces_.back().ink == ink) {
    pieces_.back().text += text;
  } else {
    pieces_.push_back({std::string(text), ink});
  }
  return *this;
}

Line& Line::Add(const Line& other) {
  for (const Piece& piece : other.pieces_) Add(piece.text, piece.ink);
  return *this;
}

Line& Line::PadTo(int column) {
  if (column > width_) Add(Repeat(" ", column - width_));
  return *this;
}

Line& Line::AddRight(std::string_view text, int width, Ink ink) {
  PadTo(width_ + width - DisplayWidth(text));
  return Add(text, ink);
}

std::string Line::ToString(bool colour) const {
  std::size_t count = pieces_.size();
  std::string_view last;
  // Spaces at the end, which may spread over several pieces, are not printed.
  for (; count > 0; --count) {
    last = pieces_[count - 1].text;
    const std::size_t end = last.find_last_not_of(' ');
    last = end == std::string_view::npos ? std::string_view() : last.substr(0, end + 1);
    if (!last.empty()) break;
  }
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view piece = i + 1 == count ? last : std::string_view(pieces_[i].text);
    const std::string_view escape = colour ? Escape(pieces_[i].ink) : "";
    text += escape;
    text += piece;
    if (!escape.empty()) text += "\x1b[0m";
  }
  return text;
}

std::string ToString(const Lines& lines, bool colour) {
  std::string text;
  for (const Line& line : lines) {
    text += line.ToString(colour);
    text += '\n';
  }
  return text;
}

Line Bar(const Share& share, int width, Ink ink, const Glyphs& glyphs) {
  static constexpr std::array<std::string_view, 8> kEighths = {"",  "▏", "▎", "▍",
                                                               "▌", "▋", "▊", "▉"};
  const int cells = width - DisplayWidth(glyphs.bar_open) - DisplayWidth(glyphs.bar_close);
  const int steps = glyphs.eighths ? 8 : 1;
  const int all = cells * steps;
  const auto part = [&](std::uint64_t amount) {
    if (share.total == 0) return 0;
    const double fraction = static_cast<double>(amount) / static_cast<double>(share.total);
    return static_cast<int>(std::clamp<long>(std::lround(fraction * all), 0, all));
  };
  int used = part(share.used);
  if (share.used > 0) used = std::max(used, 1);
  if (share.used + share.reserved < share.total) used = std::min(used, all - 1);
  const int full = used / steps;
  const int begun = used % steps > 0 ? 1 : 0;
  const int reserved = std::min((part(share.reserved) + steps / 2) / steps, cells - full - begun);
  Line bar;
  bar.Add(glyphs.bar_open, Ink::kFaint).Add(Repeat(glyphs.used, full), ink);
  if (begun > 0) bar.Add(kEighths[static_cast<std::size_t>(used % steps)], ink);
  bar.Add(Repeat(glyphs.reserved, reserved), Ink::kReserved);
  bar.Add(Repeat(glyphs.unused, cells - full - begun - reserved), Ink::kFaint);
  return bar.Add(glyphs.bar_close, Ink::kFaint);
}

void Append(Lines more, Lines& lines) {
  for (Line& line : more) lines.push_back(std::move(line));
}

Lines Wrapped(const Line& first, int indent, std::string_view text, Ink ink, const Look& look) {
  Lines lines;
  Line line = first;
  bool empty = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!empty && line.width() + 1 + DisplayWidth(word) > look.width) {
      lines.push_back(std::exchange(line, Line().PadTo(indent)));
      empty = true;
    }
    if (!empty) line.Add(" ", ink);
    line.Add(word, ink);
    empty = false;
  }
  lines.push_back(std::move(line));
  return lines;
}

Lines Flow(const Line& first, const std::vector<Line>& pieces, int gap, const Look& look) {
  const int indent = first.width();
  Lines lines;
  Line line = first;
  for (const Line& piece : pieces) {
    if (line.width() > indent) {
      if (line.width() + gap + piece.width() > look.width) {
        lines.push_back(std::exchange(line, Line().PadTo(indent)));
      } else {
        line.PadTo(line.width() + gap);
      }
    }
    line.Add(piece);
  }
  if (line.width() > indent) lines.push_back(std::move(line));
  return lines;
}

Lines Beside(const Lines& left, const Lines& right, int column) {
  Lines lines;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    Line line;
    if (i < left.size()) line.Add(left[i]);
    if (i < right.size()) line.PadTo(column).Add(right[i]);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace partita::cli
