#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace apps {

/// Where an output goes. A plain file, or one that is not there yet, is written beside its place and renamed to it when
/// it is whole, so that a failure leaves an older one as it was. Symbolic links are followed: what they point to is
/// replaced. A pipe or device, and a descriptor of this process (/dev/stdout), are written to as they are.
class output_place {
 public:
  /// Throws usage_error for a folder and for links in a circle.
  explicit output_place(const std::string& path);
  ~output_place();  ///< abandons what has not been committed
  output_place(output_place&& other) noexcept;
  output_place& operator=(output_place&&) = delete;

  const std::string& path() const { return path_; }      ///< that the user knows
  const std::string& target() const { return target_; }  ///< that behind all symbolic links
  bool is_plain() const { return is_plain_; }            ///< to be replaced, by another file of that name

  /// Finds out whether open() would do, and leaves nothing. Does not wait for the reader of a pipe.
  void check() const;
  /// A new descriptor, the caller's. Throws usage_error with path, reason and remedy.
  int open();
  /// Gives it its name, once the descriptor is closed. Throws error.
  void commit();

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  int open_beside();

  std::string path_, target_, beside_;  ///< the last one: while there is a file of that name that open() has made
  bool is_plain_ = true;
  int own_descriptor_ = -1;  ///< that the path names
};

/// Throws usage_error where `path` cannot be written; an empty path is none. Before the run that would be lost.
void check_output(const std::string& path);
/// An output, and the option that names it.
struct named_output {
  const char* option;
  std::string path;  ///< empty: there is none
};
/// Throws usage_error where two of them are one file, of which only the last would be left.
void check_outputs_differ(const std::vector<named_output>& all);
/// Writes `text` as a whole; an empty path is none. Throws usage_error where it cannot be opened, error where it is not
/// taken.
void write_output(const std::string& path, std::string_view text);

/// What can be put behind each of `paths` so that no file has that name.
std::string free_suffix(const std::vector<std::string>& paths);

}  // namespace apps
