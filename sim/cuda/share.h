// What a context takes, and what is left of a device for a client of MPS: sizes and percentages as
// the control commands and the environment write them.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace partita::sim::cuda {

// Memory that a context takes beside its allocations. Seen on an H200: 526 MiB with all 132
// multiprocessors; of clients of MPS 144, 167, 218 and 274 MiB with 32, 38, 52 and 66 of them. The
// line through the first three is the model's, and it is taken for every board.
uint64_t ContextBytes(uint32_t multiprocessors, bool mps);
// Of the MPS server (data/captures/h200/mps.txt).
inline constexpr uint64_t kServerContextBytes = uint64_t{66} << 20;

// Allocations come in pages of 2 MiB.
uint64_t RoundToPages(uint64_t bytes);

// Multiprocessors come in pairs: 50 % of 132 are 66, 25 % are 32 (seen). At least one pair.
uint32_t SharedMultiprocessors(uint32_t all, double percentage);

// A number above 0 and up to 100; what follows the number does not matter ("50%", "60x").
bool ParsePercentage(const char* text, double* out);

// Bytes of "3G", "512M", "3g". A number alone counts MiB, and so does one with any other unit
// ("2048K" is 2 GiB); what is no number is 0: no limit. All of it as driver 580 reads it.
uint64_t ParseLimit(const char* text);
// As driver 580 reads a limit back: whole GiB from 1 GiB on ("1G" of 1500M), else MiB; "" of 0.
void WriteLimit(uint64_t bytes, char* out, size_t size);

// The limit of one device in CUDA_MPS_PINNED_DEVICE_MEM_LIMIT ("0=2G,GPU-…=1G"). False: none.
bool FindLimit(const char* list, uint32_t ordinal, const char* uuid, uint64_t* bytes);

}  // namespace partita::sim::cuda
