#include "imbrex/fields/hdf5_file.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/fields/file_room.h"

namespace imbrex::hdf5_fields {

quiet::quiet() {
  H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

quiet::~quiet() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

namespace {

std::string reason() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned n, const H5E_error2_t* e, void* to) -> herr_t {
        if (n == 0 && e->desc != nullptr) *static_cast<std::string*>(to) = e->desc;
        return 0;
      },
      &text);
  return text.empty() ? "HDF5 gives no reason" : text;
}

/// Without locks, which shared file systems often have not: nobody else writes to these files.
handle file_access() {
  handle access(H5Pcreate(H5P_FILE_ACCESS), &H5Pclose);
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access, false, true);
#endif
  return access;
}

int descriptor_of(hid_t file) {
  void* fd = nullptr;
  return H5Fget_vfd_handle(file, H5P_DEFAULT, &fd) >= 0 && fd != nullptr ? *static_cast<int*>(fd) : -1;
}

void make_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw usage_error(fmt::format("cannot make the folder {}: {}", folder.string(), failed.message()));
}

handle open_existing(const std::string& path) {
  return {H5Fopen(path.c_str(), H5F_ACC_RDWR, file_access()), &H5Fclose};
}

handle open_or_make(const std::string& path, file_of whose, std::uint64_t room) {
  make_folder_of(path);
  std::error_code none;
  if (std::filesystem::exists(path, none)) {
    const bool is_hdf5 = H5Fis_hdf5(path.c_str()) > 0;
    if (is_hdf5) reserve_room(path, room);
    handle file = is_hdf5 ? open_existing(path) : handle(-1, &H5Fclose);
    if (file.is_valid()) return file;
    if (whose == file_of::users && !is_hdf5)
      throw usage_error(fmt::format(
          "cannot write fields to {}: it is there and is no HDF5 file; remove it, or name another file", path));
    if (whose == file_of::users)
      fail("write to", fmt::format("{}, which is damaged; remove it, or name another file", path));
    std::filesystem::remove(path, none);
  }
  reserve_room(path, room);
  std::filesystem::remove(path, none);
  handle file = checked({H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, file_access()), &H5Fclose}, "make", path);
  if (const int fd = descriptor_of(file); fd >= 0) reserve_room(fd, path, room);
  return file;
}

}  // namespace

void fail(const std::string& what, const std::string& file) {
  throw usage_error(fmt::format("cannot {} {}: {}", what, file, reason()));
}

handle checked(handle h, const std::string& what, const std::string& file) {
  if (!h.is_valid()) fail(what, file);
  return h;
}

written_file::written_file(const std::string& path, file_of whose, std::uint64_t room)
    : path_(path), file_(open_or_make(path, whose, room)) {}

void written_file::finish() {
  if (H5Fflush(file_, H5F_SCOPE_LOCAL) < 0) fail("write to", path_);
  if (const int fd = descriptor_of(file_); fd >= 0) give_back_room(fd);
}

handle try_to_read(const std::string& path) {
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, file_access()), &H5Fclose};
}

handle open_for_reading(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none))
    throw usage_error(fmt::format("cannot read {}: there is no such file", path));
  return checked(try_to_read(path), "read", path);
}

bool exists(hid_t file, const std::string& name) {
  for (std::size_t slash = name.find('/', 1);; slash = name.find('/', slash + 1)) {
    if (H5Lexists(file, name.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
    if (slash == std::string::npos) return true;
  }
}

}  // namespace imbrex::hdf5_fields
