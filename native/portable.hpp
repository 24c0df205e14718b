// Functions that compilers spell in different ways.
#pragma once
#include <cstdint>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace treelet {

// All 128 bits of a product.
struct Wide {
    std::uint64_t high, low;
    friend constexpr bool operator==(const Wide &, const Wide &) = default;
};

// Computes the product from halves of 32 bits, for compilers without a better way. Also the
// definition of the function below.
constexpr Wide product_by_halves(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t half = 0xFFFFFFFFull;
    const std::uint64_t low = (a & half) * (b & half), left = (a >> 32) * (b & half), right = (a & half) * (b >> 32);
    const std::uint64_t middle = (low >> 32) + (left & half) + (right & half);
    return {(a >> 32) * (b >> 32) + (left >> 32) + (right >> 32) + (middle >> 32), (middle << 32) | (low & half)};
}

#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 Unsigned128; // standard C++ has no such type
constexpr Wide wide_product(std::uint64_t a, std::uint64_t b) {
    const Unsigned128 wide = static_cast<Unsigned128>(a) * b;
    return {static_cast<std::uint64_t>(wide >> 64), static_cast<std::uint64_t>(wide)};
}
static_assert(wide_product(~0ull, ~0ull) == product_by_halves(~0ull, ~0ull));
static_assert(wide_product(0x9E3779B97F4A7C15ull, 0xD6E8FEB86659FD93ull) ==
              product_by_halves(0x9E3779B97F4A7C15ull, 0xD6E8FEB86659FD93ull));
static_assert(wide_product(0xFFFFFFFFull, ~0ull << 31) == product_by_halves(0xFFFFFFFFull, ~0ull << 31));
#elif defined(_MSC_VER) && defined(_M_X64)
inline Wide wide_product(std::uint64_t a, std::uint64_t b) {
    Wide made;
    made.low = _umul128(a, b, &made.high);
    return made;
}
#elif defined(_MSC_VER) && defined(_M_ARM64)
inline Wide wide_product(std::uint64_t a, std::uint64_t b) { return {__umulh(a, b), a * b}; }
#else
constexpr Wide wide_product(std::uint64_t a, std::uint64_t b) { return product_by_halves(a, b); }
#endif

// Hints that memory at this address will be written soon. It may do nothing.
inline void prefetch(const void *place) {
#if defined(__GNUC__)
    __builtin_prefetch(place, 1);
#else
    (void)place;
#endif
}

} // namespace treelet
