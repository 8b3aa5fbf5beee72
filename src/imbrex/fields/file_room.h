#pragma once

#include <cstdint>
#include <string>

namespace imbrex {

/// Takes room on the disk for `bytes` more at the end of a file, whose size stays; it is made, empty, where it is not
/// there. A library that comes to no end of a write then has none to fear. Throws `usage_error` naming the file and the
/// reason where there is no room, or no right to write. Of file systems that cannot reserve it, what is free is asked.
void reserve_room(const std::string& path, std::uint64_t bytes);
/// The same of a file that is open.
void reserve_room(int fd, const std::string& path, std::uint64_t bytes);
/// Gives back what has not been used of it.
void give_back_room(int fd);

}  // namespace imbrex
