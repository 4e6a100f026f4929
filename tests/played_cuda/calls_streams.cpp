// Streams, events and kernels.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "tests/played_cuda/calls.hpp"
#include "tests/played_cuda/state.hpp"

namespace espalier::device::cuda {
namespace {

using played::Call;
using played::Entry;
using played::fault;
using played::Known;
using played::LoadedFunction;
using played::LoadedModule;
using played::Operation;
using played::state;
using played::stream_of;

// A launch with copies of its parameters.
class HeldLaunch final : public played::Launch {
 public:
  HeldLaunch(const Entry& entry, void** parameters) {
    for (std::size_t i = 0; i < entry.parameter_bytes.size(); ++i) {
      const auto* const from = static_cast<const std::byte*>(parameters[i]);
      parameters_.emplace_back(from, from + entry.parameter_bytes[i]);
    }
  }
  void run(const LoadedFunction& function, const Operation& operation) {
    operation_ = &operation;
    function.run(*this);
  }
  const std::byte* read(Address at, std::size_t bytes) const override {
    return state.streams.use(*operation_, at, bytes, false);
  }
  std::byte* write(Address at, std::size_t bytes) const override {
    return state.streams.use(*operation_, at, bytes, true);
  }

 private:
  const void* at(std::size_t index) const override { return parameters_.at(index).data(); }

  std::vector<std::vector<std::byte>> parameters_;
  const Operation* operation_ = nullptr;
};

LoadedModule& module_of(const char* call, Module handle) {
  for (const auto& one : state.modules.modules) {
    if (one.get() != handle) continue;
    if (one->unloaded) fault(call, "the module is unloaded");
    return *one;
  }
  fault(call, "there is no such module");
}

const LoadedFunction& function_of(const char* call, Function handle) {
  for (const auto& one : state.modules.functions) {
    if (one.get() != handle) continue;
    if (one->module->unloaded) fault(call, "the function's module is unloaded");
    return *one;
  }
  fault(call, "there is no such function");
}

}  // namespace

Code cuStreamCreate(Stream* stream, unsigned flags) {
  const Call call("cuStreamCreate");
  if (call.fails()) return call.code();
  const auto kind =
      flags == kStreamNonBlocking ? played::Stream::kNonBlocking : played::Stream::kBlocking;
  *stream = &state.streams.make_stream(state.current("cuStreamCreate"), kind);
  return kSuccess;
}

Code cuStreamDestroy_v2(Stream handle) {
  const Call call("cuStreamDestroy");
  if (call.fails()) return call.code();
  state.streams.stream("cuStreamDestroy", handle).destroyed = true;
  return kSuccess;
}

Code cuStreamSynchronize(Stream handle) {
  Call call("cuStreamSynchronize");
  if (call.fails()) return call.code();
  state.streams.finish(call.lock(), stream_of("cuStreamSynchronize", handle));
  return state.failures.lost();
}

Code cuStreamWaitEvent(Stream handle, Event event_handle, unsigned) {
  const Call call("cuStreamWaitEvent");
  if (call.fails()) return call.code();
  played::Stream& stream = stream_of("cuStreamWaitEvent", handle);
  played::Event& event = state.streams.event("cuStreamWaitEvent", event_handle);
  if (event.context->device != stream.context->device && !state.settings.peers) {
    fault("cuStreamWaitEvent", "the event is of a device that this one does not reach");
  }
  Operation wait;
  wait.call = "cuStreamWaitEvent";
  wait.waits_for = &event;
  wait.generation = event.recorded;
  stream.clock.merge(event.recorded_clock);
  state.streams.submit(stream, std::move(wait));
  return kSuccess;
}

// Programs' own handles come to the library, so a stranger is no fault here.
Code cuStreamGetCtx(Stream handle, Context* context) {
  const Call call("cuStreamGetCtx");
  if (call.fails()) return call.code();
  if (played::is_default(handle)) {
    *context = &state.current("cuStreamGetCtx");
    return kSuccess;
  }
  if (!state.streams.has_stream(handle)) return kInvalidHandle;
  *context = state.streams.stream("cuStreamGetCtx", handle).context;
  return kSuccess;
}

Code cuStreamWaitValue32_v2(Stream handle, Address at, std::uint32_t value, unsigned flags) {
  const Call call("cuStreamWaitValue32");
  if (call.fails()) return call.code();
  played::Stream& stream = stream_of("cuStreamWaitValue32", handle);
  if (state.memory.find(at).kind == Known::kNothing) {
    fault("cuStreamWaitValue32", "the flag is in memory that is not registered");
  }
  if (at % sizeof value != 0) return kInvalidValue;
  if (flags != kWaitGreaterEqual) fault("cuStreamWaitValue32", "this way to compare is not played");
  Operation wait;
  wait.call = "cuStreamWaitValue32";
  wait.host = {{static_cast<std::uintptr_t>(at), sizeof value}};
  wait.waits_on = static_cast<const std::uint32_t*>(pointer_of(at));
  wait.value = value;
  state.streams.submit(stream, std::move(wait));
  return kSuccess;
}

Code cuStreamWriteValue32_v2(Stream handle, Address at, std::uint32_t value, unsigned) {
  const Call call("cuStreamWriteValue32");
  if (call.fails()) return call.code();
  played::Stream& stream = stream_of("cuStreamWriteValue32", handle);
  if (state.memory.find(at).kind == Known::kNothing) {
    fault("cuStreamWriteValue32", "the flag is in memory that is not registered");
  }
  if (at % sizeof value != 0) return kInvalidValue;
  Operation write;
  write.call = "cuStreamWriteValue32";
  write.host = {{static_cast<std::uintptr_t>(at), sizeof value}};
  write.raises_flag = true;
  write.work = [at, value](const Operation& self) {
    auto* const flag =
        reinterpret_cast<std::uint32_t*>(state.streams.use(self, at, sizeof value, true));
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
  };
  state.streams.submit(stream, std::move(write));
  return kSuccess;
}

// Events ------------------------------------------------------------------------------------------

Code cuEventCreate(Event* event, unsigned) {
  const Call call("cuEventCreate");
  if (call.fails()) return call.code();
  *event = &state.streams.make_event(state.current("cuEventCreate"));
  return kSuccess;
}

Code cuEventDestroy_v2(Event handle) {
  const Call call("cuEventDestroy");
  if (call.fails()) return call.code();
  state.streams.event("cuEventDestroy", handle).destroyed = true;
  return kSuccess;
}

Code cuEventRecord(Event handle, Stream stream_handle) {
  const Call call("cuEventRecord");
  if (call.fails()) return call.code();
  played::Stream& stream = stream_of("cuEventRecord", stream_handle);
  if (!state.streams.has_event(handle)) return kInvalidHandle;  // A program's, as above.
  played::Event& event = state.streams.event("cuEventRecord", handle);
  if (event.context != stream.context) {
    fault("cuEventRecord", "the event is of another context than the stream");
  }
  Operation record;
  record.call = "cuEventRecord";
  record.records = &event;
  record.generation = ++event.recorded;
  state.streams.submit(stream, std::move(record));
  return kSuccess;
}

Code cuEventQuery(Event handle) {
  const Call call("cuEventQuery");
  if (call.fails()) return call.code();
  if (!state.streams.has_event(handle)) return kInvalidHandle;  // A program's, as above.
  played::Event& event = state.streams.event("cuEventQuery", handle);
  if (event.done < event.recorded) return kNotReady;
  state.streams.learned(event.recorded_clock);
  return kSuccess;
}

// Kernels -----------------------------------------------------------------------------------------

Code cuModuleLoadData(Module* module, const void* text) {
  const Call call("cuModuleLoadData");
  if (call.fails()) return call.code();
  auto made = std::make_unique<LoadedModule>();
  made->context = &state.current("cuModuleLoadData");
  if (!played::parse_ptx(static_cast<const char*>(text), made->entries)) return kInvalidPtx;
  *module = made.get();
  state.modules.modules.push_back(std::move(made));
  return kSuccess;
}

Code cuModuleUnload(Module handle) {
  Call call("cuModuleUnload");
  if (call.fails()) return call.code();
  LoadedModule& module = module_of("cuModuleUnload", handle);
  state.streams.finish(call.lock(), module.context);
  module.unloaded = true;
  return kSuccess;
}

Code cuModuleGetFunction(Function* function, Module handle, const char* name) {
  const Call call("cuModuleGetFunction");
  if (call.fails()) return call.code();
  LoadedModule& module = module_of("cuModuleGetFunction", handle);
  for (const Entry& entry : module.entries) {
    if (entry.name != name) continue;
    const played::KernelOfHost run = played::kernel_of_host(name);
    if (run == nullptr) fault("cuModuleGetFunction", fmt::format("{} is not played", name));
    state.modules.functions.push_back(
        std::make_unique<LoadedFunction>(LoadedFunction{&module, entry, run}));
    *function = state.modules.functions.back().get();
    return kSuccess;
  }
  return kNotFound;
}

Code cuLaunchKernel(Function handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned,
                    Stream stream_handle, void** parameters, void**) {
  constexpr unsigned kThreadsMax = 1024;
  const Call call("cuLaunchKernel");
  if (call.fails()) return call.code();
  played::Stream& stream = stream_of("cuLaunchKernel", stream_handle);
  const LoadedFunction& function = function_of("cuLaunchKernel", handle);
  if (function.module->context != stream.context) {
    fault("cuLaunchKernel", "the function is of another context than the stream");
  }
  if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x == 0 || block_x > kThreadsMax ||
      block_y != 1 || block_z != 1) {
    return kInvalidValue;
  }
  auto launch = std::make_shared<HeldLaunch>(function.entry, parameters);
  launch->name = function.entry.name;
  launch->blocks = grid_x;
  launch->threads = block_x;
  Operation run;
  run.call = "cuLaunchKernel";
  run.work = [launch, &function](const Operation& self) { launch->run(function, self); };
  state.streams.submit(stream, std::move(run));
  return kSuccess;
}

}  // namespace espalier::device::cuda
