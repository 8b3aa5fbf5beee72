#pragma once

/// Which sanitizer this translation unit is built with, for the few places that must behave otherwise under it.
namespace imbrex {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif
#else
inline constexpr bool address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif
#else
inline constexpr bool thread_sanitizer = false;
#endif

/// Whether the process has the address sanitizer, also by a program that is built with it while the library is not:
/// then memory comes from the system, piece by piece, where the sanitizer watches it.
bool is_watched_by_address_sanitizer() noexcept;

/// For tests whose sizes grow with their time: either of them.
inline constexpr bool any_sanitizer = address_sanitizer || thread_sanitizer;

}  // namespace imbrex
