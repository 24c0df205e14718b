// A checksum that finds damage: XXH64 with seed 0, as specified by Collet (2012-2021, "xxHash fast digest algorithm", version
// 0.1.1). The result is the same on every machine.
#pragma once
#include "pulse.hpp"
#include <bit>
#include <cstdint>
#include <cstring>

namespace treelet {

class Checksum {
  public:
    // Returns the checksum of some bytes.
    static std::uint64_t of(const unsigned char *p, std::size_t n, Pulse &pulse) {
        const std::size_t length = n;
        std::uint64_t lane[4] = {p1 + p2, p2, 0, 0 - p1}, sum = p5;
        while (n >= stripe) {
            const std::size_t some = std::min(n, between) / stripe * stripe;
            for (const unsigned char *const end = p + some; p < end; p += stripe)
                for (int k = 0; k < 4; ++k) lane[k] = round(lane[k], word(p + 8 * k)); // the lanes do not wait for each other
            n -= some;
            pulse.add(some / 8);
        }
        if (length >= stripe) {
            sum = std::rotl(lane[0], 1) + std::rotl(lane[1], 7) + std::rotl(lane[2], 12) + std::rotl(lane[3], 18);
            for (const std::uint64_t value : lane) sum = (sum ^ round(0, value)) * p1 + p4;
        }
        sum += length;
        for (; n >= 8; p += 8, n -= 8) sum = std::rotl(sum ^ round(0, word(p)), 27) * p1 + p4;
        if (n >= 4) sum = std::rotl(sum ^ (little(p, 4) * p1), 23) * p2 + p3, p += 4, n -= 4;
        for (; n > 0; ++p, --n) sum = std::rotl(sum ^ (*p * p5), 11) * p1;
        sum = (sum ^ (sum >> 33)) * p2;
        sum = (sum ^ (sum >> 29)) * p3;
        return sum ^ (sum >> 32);
    }

  private:
    static constexpr std::uint64_t p1 = 0x9E3779B185EBCA87, p2 = 0xC2B2AE3D27D4EB4F, p3 = 0x165667B19E3779F9,
                                   p4 = 0x85EBCA77C2B2AE63, p5 = 0x27D4EB2F165667C5;
    static constexpr std::size_t stripe = 32, between = std::size_t{1} << 22; // bytes between two looks at the pulse

    static std::uint64_t round(std::uint64_t lane, std::uint64_t word) { return std::rotl(lane + word * p2, 31) * p1; }
    static std::uint64_t word(const unsigned char *p) {
        if constexpr (std::endian::native == std::endian::little) {
            std::uint64_t out;
            std::memcpy(&out, p, 8);
            return out;
        }
        return little(p, 8);
    }
    static std::uint64_t little(const unsigned char *p, int bytes) {
        std::uint64_t out = 0;
        for (int k = 0; k < bytes; ++k) out |= static_cast<std::uint64_t>(p[k]) << (8 * k);
        return out;
    }
};

} // namespace treelet
