#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <utility>

/// Files of HDF5, opened and closed. One thread of the process at a time (`file_turn`).
namespace imbrex::hdf5_fields {

/// Something of HDF5's that is closed at the end.
class handle {
 public:
  handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~handle() {
    if (id_ >= 0) close_(id_);
  }
  handle(handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  handle& operator=(handle&&) = delete;
  operator hid_t() const { return id_; }
  bool is_valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// HDF5 prints what went wrong unless told not to; it is said by what is thrown.
class quiet {
 public:
  quiet();
  ~quiet();
  quiet(const quiet&) = delete;
  quiet& operator=(const quiet&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// Throws `usage_error`: "cannot `what` `file`: " and the innermost reason that HDF5 has.
[[noreturn]] void fail(const std::string& what, const std::string& file);
handle checked(handle h, const std::string& what, const std::string& file);

/// Whose a file is: what is damaged of the runtime's own is made anew.
enum class file_of { users, runtime };

/// A file that is written to, of which all room is there before HDF5 begins: a library that finds no more in the middle
/// can neither go on nor close the file.
class written_file {
 public:
  /// `room`: as many bytes as will come. Throws `usage_error` naming file and reason.
  written_file(const std::string& path, file_of whose, std::uint64_t room);
  operator hid_t() const { return file_; }
  /// All is in the file. Throws where it is not.
  void finish();

 private:
  std::string path_;
  handle file_;
};

/// Not valid where there is none, or it is damaged.
handle try_to_read(const std::string& path);
/// Throws `usage_error` there.
handle open_for_reading(const std::string& path);

/// Whether a link of that name is there, of which each group on the way is.
bool exists(hid_t file, const std::string& name);

}  // namespace imbrex::hdf5_fields
