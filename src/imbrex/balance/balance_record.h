#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include "imbrex/balance/balance_problem.h"

/// What load balancing knew at some steps of a run, in a file, to try strategies on afterwards (`imbrex
/// balance-replay`). The file is JSON lines: one object a line. A record begins with its head, which says how many
/// lines follow:
///
///     {"imbrex_balance": 1, "program": "jacobi3d", "step": 100, "gpus": 1, "pes": 2, "elements": 2, "dimensions": 3}
///     {"gpu": 0, "rate": 1.5, "memory_bytes": 80000000000, "background_seconds": 0.001}
///     {"pe": 0, "rank": 0, "node": 0, "gpu": 0}
///     {"pe": 1, "rank": 0, "node": 0, "gpu": 0, "rate": 0.9, "background_seconds": 0.002}
///     {"element": 0, "pe": 0, "host_seconds": 0.01, "gpu_seconds": 0.004, "device_bytes": 4096, "place": [0, 0, 0.5],
///      "exchanges": [[1, 65536]]}
///     {"element": 1, "pe": 1, "host_seconds": 0.02, "move_bytes": 8192, "pinned": true, "place": [1, 0, 0.5]}
///
/// (the element with its partners is one line in the file). All are numbered from 0, and in order. What is left out is
/// as in balance_problem.h; `exchanges` names partners with bytes per step both ways, each pair at one of the two.
/// Numbers are written so that reading gives the same bits. A file holds any number of records, one after the other.
namespace imbrex {

inline constexpr int balance_record_version = 1;  // must never change its meaning: files outlive builds

struct balance_record {
  std::string program;
  std::int64_t step = 0;
  balance_problem problem;
};

/// Writes the records of one file, each as soon as it is given.
class balance_record_writer {
 public:
  /// Replaces the file. Throws `config_error` when it cannot be written.
  explicit balance_record_writer(const std::string& file);
  ~balance_record_writer();
  balance_record_writer(const balance_record_writer&) = delete;
  balance_record_writer& operator=(const balance_record_writer&) = delete;
  /// Throws `usage_error` for a problem that is none, and `config_error` when it cannot be written.
  void write(const balance_record& record);

 private:
  void put(const std::string& text);

  std::string file_;
  std::unique_ptr<std::ofstream> out_;
};

/// Reads them, one after the other.
class balance_record_reader {
 public:
  /// Throws `config_error` for a file that cannot be read.
  explicit balance_record_reader(const std::string& file);
  ~balance_record_reader();
  balance_record_reader(const balance_record_reader&) = delete;
  balance_record_reader& operator=(const balance_record_reader&) = delete;

  /// The next record, checked by `check_problem`; none at the end of the file. Throws `config_error` that names file
  /// and line for one that is none, and for a file that ends before its record does.
  std::optional<balance_record> next();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace imbrex
