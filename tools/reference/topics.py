"""What the reference tells of, by topic: headers, and of a header with machinery in it only some names."""

import dataclasses

# Headers that programs include; what they include themselves is the public interface too.
DOORS = ["imbrex/imbrex.h", "imbrex/interop.h", "imbrex/fields.h", "imbrex/task_graph.h", "imbrex/tuner.h", "imbrex/clock.h"]


@dataclasses.dataclass
class Topic:
    page: str
    title: str
    beginning: str
    headers: dict  # name: None for all of it, or the names


def _all(*headers):
    return {"imbrex/" + h: None for h in headers}


TOPICS = [
    Topic("chares", "Chares and arrays",
          "What a program is made of, and the job it runs in: [the programming model](../programming.md).",
          {**_all("runtime/runtime.h", "object/chare.h", "object/proxy.h", "object/entry/index.h", "object/entry/map.h", "object/entry/shown_name.h",
                  "runtime/readonly.h"), "imbrex/base/ids.h": None}),
    Topic("entries", "Entry methods and waits",
          "What may be awaited, and what travels: a coroutine that waits leaves its PE to others.",
          {**_all("async/task.h", "object/entry/when.h"), "imbrex/object/entry/slot_queue.h": None,
           **_all("async/when_all.h", "async/when_any.h", "object/callback.h", "object/entry/slot.h", "async/completion.h"),
           "imbrex/async/work.h": ["priority", "priorities"],
           **_all("base/serialize.h", "base/polymorphic.h", "pe/exception_types.h", "object/state/element_state.h"),
           "imbrex/object/moving/restart.h": ["entry_list"], "imbrex/pe/message_bundles.h": ["entries"]}),
    Topic("reductions", "Reductions",
          "Operations, and where results go. Chares contribute by `chare::contribute`, `allreduce` and `barrier` "
          "([chares](chares.md)); broadcasts are the proxies'.", _all("object/reduction.h")),
    Topic("channels", "Channels, halos, memory of others",
          "Paths between chares that are made once, and data that is put and got.",
          {**_all("object/channel.h", "comm/data/channel_send.h", "object/halo/halo.h", "object/halo/neighbours.h",
                  "object/halo/halo_path.h", "object/data/device_view.h", "object/one_sided.h", "object/hetero_pointer.h")}),
    Topic("devices", "Devices, streams, buffers",
          "Where kernels run and bytes live. The host device is one like any other.",
          {**_all("device/device.h", "device/memory_kind.h", "device/buffer.h", "device/stream.h", "device/stream_set.h",
                  "device/event.h", "device/graph.h", "device/copy.h", "device/run_ahead.h", "device/kernel_cost.h",
                  "device/completion_mode.h", "device/foreign_memory.h", "device/interop/cuda_native.h",
                  "device/interop/opencl_native.h")}),
    Topic("kernels", "Kernels",
          "How kernels are launched. The macros that they are written with are in [kernels](../kernels.md).",
          {**_all("device/kernel/launch_shape.h", "device/kernel/half.h"),
           "imbrex/device/kernel/kernel_dialect.h": ["IX_INLINE_KERNEL", "IX_INLINE_KERNEL_BELOW"],
           "imbrex/device/kernel/kernel.h": ["kernel", "kernel_source", "kernel_argument", "launch", "check_launch", "run_on_cpu"],
           **_all("device/kernel/text/text_kernels.h"),
           **_all("device/cuda/cuda_launch.h", "device/cuda/kernel_batch.h", "device/cuda/group_parts.h"),
           "imbrex/device/opencl/opencl_stream.h": ["opencl_stream"], "imbrex/device/opencl/opencl_argument.h": None}),
    Topic("rounds", "Rounds and steps on GPUs",
          "Iterations that are repeated as one graph, several steps for each pass over memory, and steps that stay in registers.",
          {**_all("object/repeat/repeat.h"), "imbrex/object/repeat/round_judge.h": ["until"],
           **_all("device/rounds/round_value.h", "object/repeat/resident_star.h", "device/star/star_grid.h",
                  "device/star/star_halos.h", "device/star/star_on_host.h", "device/star/cuda_star_steps.h",
                  "device/star/cuda_star_halos.h"),
           "imbrex/device/star/resident/cuda_star_resident.h": None,
           "imbrex/device/star/resident/resident_rounds.h": ["resident_rounds"]}),
    Topic("tasks", "Objects and tasks",
          "Coherent data, and tasks that follow from what they read and write: [tasks](../tasks.md).",
          {**_all("hetero/submission/hetero_object.h", "hetero/submission/hetero_grid.h", "hetero/submission/submit.h", "hetero/submission/untyped_task.h",
                  "hetero/submission/untyped_reduction.h", "hetero/submission/own_operation.h",
                  "hetero/submission/task_argument.h", "hetero/submission/task_function.h",
                  "hetero/submission/task_result.h", "hetero/submission/reduction.h",
                  "hetero/submission/element_operation.h", "hetero/submission/tile_view.h", "hetero/tasks/hetero_task.h",
                  "hetero/tasks/hetero_view.h", "hetero/tasks/domain_wait.h", "hetero/access_mode.h", "hetero/task_bundle.h",
                  "hetero/hetero_options.h", "hetero/graph/task_name.h", "hetero/lane.h"),
           **_all("hetero/submission/process_domain.h", "hetero/tasks/hetero_domain.h", "hetero/placement/placement.h")}),
    Topic("graphs", "Windows and graphs of tasks",
          "Tasks that are recorded once and replayed, and one graph over all ranks.",
          _all("hetero/windows/task_window.h", "object/distribution/task_graph.h", "object/distribution/distributed.h",
               "object/distribution/graph_reduction.h", "object/distribution/untyped_graph_task.h",
               "object/distribution/values.h", "object/distribution/barrier.h",
               "runtime/run_graph.h")),
    Topic("checkpoints", "Checkpoints",
          "State that outlives the job: [checkpoints](../checkpoints.md). `runtime::checkpoint` is with the [chares](chares.md).",
          {**_all("checkpoint/live/checkpoint.h", "checkpoint/snapshot_error.h", "checkpoint/snapshot_reader.h",
                  "checkpoint/snapshot_writer.h", "checkpoint/partial_checkpoint.h", "checkpoint/manifest.h"),
           "imbrex/checkpoint/record_index.h": ["record_view"]}),
    Topic("balancing", "Balancing",
          "Elements that move to where there is time for them: [balancing](../balancing.md).",
          _all("balance/live/balance.h", "object/move_point.h", "balance/live/balance_summary.h",
               "balance/balance_strategy.h", "balance/balance_problem.h", "balance/balance_plan.h",
               "balance/strategies/strategies.h")),
    Topic("time", "Time and traces",
          "Clocks that hold in [virtual time](../virtual-time.md) too, and marks in a trace.",
          {**_all("base/clock.h", "async/pe_clock.h", "async/trace_range.h")}),
    Topic("fields", "Fields in files", "What other programs read: [fields](../fields.md).",
          _all("fields/field_box.h", "fields/write_field.h", "fields/read_field.h")),
    Topic("tuning", "Tuning", "Parameters that a program measures while it runs.",
          _all("tuning/tuner.h", "tuning/tuning_point.h")),
    Topic("errors", "Errors and options",
          "The error family, with remedies in [errors](../guide/errors.md); [options](../guide/options.md) as programs see them.",
          {**_all("base/error.h", "runtime/options/options.h", "base/config.h", "base/log.h",
                  "checkpoint/checkpoint_options.h"), "imbrex/balance/balance_options.h": None}),
]
