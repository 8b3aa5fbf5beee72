#pragma once

#include <string>
#include <vector>

namespace imbrex {

class chare_pe;
class stream;
struct element_base;

/// Why an element cannot be handed over to another PE of the process now.
enum class binding {
  none,
  streams,  ///< something is queued or under way in its streams
  ties,     ///< it has futures or exposed memory
  wait,     ///< a coroutine waits for something that knows this PE only, such as a device
  channel,  ///< it has a channel to another process, and may read the memory of that one's GPUs
  objects,  ///< this PE has coherent objects, and it may hold some: it would have to be serialised
};

/// Whether elements that leave this PE are serialised even within their process: it has coherent objects, or several
/// GPUs, whose memory only `serialize` knows of.
bool serialises_moves(const chare_pe& pe);
/// Whether nothing is under way in streams that it made itself, apart from `streams()`.
bool own_streams_are_idle(const element_base& e);
/// Those streams.
std::vector<stream*> own_streams(const element_base& e);

/// What binds `e`, which lives on `pe`.
binding binding_of(const chare_pe& pe, const element_base& e);
/// "its streams are busy": for reports.
std::string text(binding b);

}  // namespace imbrex
