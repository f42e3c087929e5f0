// Text for a terminal: lines of inked pieces whose width on the screen is known.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace partita::cli {

// What a piece of text means. Colour repeats it; it is never the only sign.
enum class Ink : std::uint8_t {
  kPlain,
  kStrong,    // names and numbers that the eye should find first
  kFaint,     // frames, labels, units
  kMemory,    // memory in use
  kReserved,  // memory that the driver keeps
  kLoad,
  kHeld,  // a slice with a process in it
  kIdle,  // a slice without one
  kWarning,
  kFault,
};

// The characters to draw with. Each is one column wide.
struct Glyphs {
  std::string_view bar_open, bar_close;  // around a bar; empty where blocks need no frame
  std::string_view used, reserved, unused;
  bool eighths;                             // whether the last cell of a bar can be filled in part
  std::string_view rule;                    // of headings
  std::string_view across, down;            // borders of boxes
  std::string_view across_free, down_free;  // borders of free slices
  std::string_view top_left, top_tee, top_right;
  std::string_view bottom_left, bottom_tee, bottom_right;
  std::string_view down_inner;  // between compute instances
  std::string_view held, idle;  // markers of slices
  std::string_view fault, warning, advice;
  std::string_view ellipsis, times, degrees, dot;
};

// How the terminal wants it.
struct Look {
  int width = 80;
  bool colour = false;
  bool utf8 = true;

  [[nodiscard]] const Glyphs& glyphs() const;
};

// Where what belongs to a heading begins.
inline constexpr int kIndent = 3;

// Columns on the screen. Control characters and broken UTF-8 count as one each: see Clean.
[[nodiscard]] int DisplayWidth(std::string_view text);

// Safe to print: control characters (a process chooses its own name) become '?', and so does what
// the terminal's character set lacks.
[[nodiscard]] std::string Clean(std::string_view text, bool utf8);

// At most `width` columns; what is cut shows as an ellipsis at the end, or at the start for texts
// whose end tells more.
[[nodiscard]] std::string Fit(std::string_view text, int width, const Glyphs& glyphs);
[[nodiscard]] std::string FitEnd(std::string_view text, int width, const Glyphs& glyphs);

// A bar of `width` columns, filled in proportion: `used`, then `reserved`, of `total`. Something in
// use is never drawn as nothing, nor something free as full.
struct Share {
  std::uint64_t used = 0, reserved = 0, total = 0;
};

// `text` `count` times.
[[nodiscard]] std::string Repeat(std::string_view text, int count);

class Line {
 public:
  Line& Add(std::string_view text, Ink ink = Ink::kPlain);
  Line& Add(const Line& other);
  // Spaces up to the column; nothing when the line is longer.
  Line& PadTo(int column);
  // The text at the end of `width` columns.
  Line& AddRight(std::string_view text, int width, Ink ink = Ink::kPlain);

  [[nodiscard]] int width() const { return width_; }
  // Without the spaces at the end, without a newline.
  [[nodiscard]] std::string ToString(bool colour) const;

 private:
  struct Piece {
    std::string text;
    Ink ink;
  };
  std::vector<Piece> pieces_;
  int width_ = 0;
};

[[nodiscard]] Line Bar(const Share& share, int width, Ink ink, const Glyphs& glyphs);

using Lines = std::vector<Line>;

[[nodiscard]] std::string ToString(const Lines& lines, bool colour);

void Append(Lines more, Lines& lines);

// The text broken at spaces: the first line behind `first`, the others behind `indent` spaces.
[[nodiscard]] Lines Wrapped(
    const Line& first, int indent, std::string_view text, Ink ink, const Look& look);

// Pieces side by side, `gap` spaces apart, as many to a line as fit; every line but the first
// begins where the pieces of the first do.
[[nodiscard]] Lines Flow(const Line& first,
                         const std::vector<Line>& pieces,
                         int gap,
                         const Look& look);

// Two blocks beside each other, the second beginning at `column`.
[[nodiscard]] Lines Beside(const Lines& left, const Lines& right, int column);

}  // namespace partita::cli
