// What table_spy.cc, in the MPI's place, saw of one call's buffers.
#pragma once

extern "C" {

constexpr long spied_sent = 0x1111222233334444;      ///< what every buffer begins with before a call
constexpr long spied_received = 0x5555666677778888;  ///< what the spy writes to buffers that are not const

struct spied {
  int num_buffers;     ///< arguments that are buffers
  int num_on_device;   ///< of them, on the device
  int num_pinned;      ///< in pinned memory
  int num_other;       ///< with other contents than they had on the device when the operation went on
  int num_operations;  ///< that went on
};
const spied* table_spied(void);
}
