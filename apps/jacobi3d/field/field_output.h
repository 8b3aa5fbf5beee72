#pragma once

#include <memory>
#include <string>
#include <vector>

#include "decomposition.h"

namespace jacobi {

/// A file that holds a whole field and is written in parts, at their right places, by whoever has them. Until `commit`
/// everything goes to a file beside it, so that a failure leaves an older one as it was. A path that is a symbolic link
/// stands for what that points to.
///
///   create     one caller in all, before the run: makes the temporary file; refuses what cannot be written
///   write      any thread of any rank, for each block once, after `create` has returned
///   commit     one caller, after all writes
///   abandon    one caller, instead of commit
///
/// All calls take only what every rank knows, so each rank makes its own object for the same path. The object does not
/// know which rank it is on, and its destructor does nothing.
class field_output {
 public:
  virtual ~field_output() = default;
  virtual void create() const = 0;  ///< throws usage_error with path, reason and remedy
  /// Rows of the block, `pitch` doubles apart. Throws error.
  virtual void write(block_position block, const double* rows, std::int64_t pitch) const = 0;
  virtual void commit() const = 0;  ///< throws error
  virtual void abandon() const noexcept = 0;
  virtual const std::string& path() const = 0;
  /// The files that there may be beside the output before commit. Throws usage_error where create does.
  virtual std::vector<std::string> parts() const = 0;
};

/// The format is told by the path's suffix: .npy, .vti or .pvti. Throws usage_error for another. `suffix` is what the
/// name of the file beside it has more; no file has that name.
std::unique_ptr<field_output> make_field_output(const std::string& path, const decomposition& blocks,
                                                const std::string& suffix = ".part");

/// Several outputs as one; the same rules.
class field_outputs {
 public:
  /// Who creates them chooses the suffix, by apps::free_suffix, and tells it to all that write.
  field_outputs(const std::vector<std::string>& paths, const decomposition& blocks, const std::string& suffix);
  /// All or none: if one cannot be created, those before it are abandoned.
  void create() const;
  void write(block_position block, const double* rows, std::int64_t pitch) const;
  void commit() const;
  void abandon() const noexcept;
  bool empty() const { return outputs_.empty(); }
  std::vector<std::string> parts() const;  ///< of all that can be created

 private:
  std::vector<std::unique_ptr<field_output>> outputs_;
};

}  // namespace jacobi
