#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/program_drivers.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/report/rendered_device.hpp"
#include "reconciler/report/table.hpp"
#include "specs/compile/explain.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

// One device as text: for the terminal, or each in its own file.
struct RenderedFile {
  std::string suffix;  // ".txt", ".frr.conf": appended to the device's name
  std::string text;
};

std::vector<RenderedFile> native_files(const OpenedCluster& cluster, DeviceIndex device,
                                       const NativeDevice& native) {
  std::vector<RenderedFile> out;
  out.push_back({".sh", report_text(native_device_text(cluster, device, native))});
  for (const NativeDevice::File& file : native.files)
    out.push_back({"." + file.name, report_text(native_file_text(cluster, device, file))});
  return out;
}

class Renderer {
 public:
  Renderer(const OpenedCluster& cluster, const Console& console, const std::vector<DeviceIndex>& devices,
           bool native)
      : cluster_(cluster), console_(console) {
    if (native) native_.emplace(cluster, drivers_, devices);
    if (!native && !console.is_text())
      envelope_ = console.whole(of_cluster(cluster, {{"kind", "RenderedDevice"}}));
  }

  Result<std::vector<RenderedFile>> of(DeviceIndex device, const Terminal& terminal) const {
    if (native_) {
      TRY(const NativeDevice native, native_->of(device));
      return native_files(cluster_, device, native);
    }
    if (console_.is_text())
      return std::vector<RenderedFile>{
          {".txt", report_text(rendered_device_text(cluster_, device, terminal))}};
    nlohmann::json document = rendered_device_json(cluster_, device);
    document.update(envelope_);
    if (console_.output == OutputFormat::yaml)
      return std::vector<RenderedFile>{{".yaml", yaml_text(document)}};
    return std::vector<RenderedFile>{{".json", json_text(document, 2)}};
  }

 private:
  const OpenedCluster& cluster_;
  const Console& console_;
  nlohmann::json envelope_ = nlohmann::json::object();  // the same for all devices, so that git runs once
  const DriverTable drivers_ = driver_table();
  std::optional<NativeDevices> native_;
};

Result<std::size_t> write_all(const OpenedCluster& cluster, const Renderer& renderer,
                              const std::vector<DeviceIndex>& devices, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return Error{ErrorKind::refused, "--out: " + folder + ": " + failed.message()};
  std::size_t written = 0;
  for (const DeviceIndex device : devices) {
    const std::string& name = cluster.compiled.topology.devices[device].name;
    Result<std::vector<RenderedFile>> files = renderer.of(device, Terminal{});
    if (!files) return wrap(name, std::move(files.error()));
    for (const RenderedFile& file : *files) {
      TRY(const std::string path, file_in(folder, name + file.suffix));
      TRY_DONE(replace_file(path, file.text));
      ++written;
    }
  }
  return written;
}

int render_all(const OpenedCluster& cluster, const RenderOptions& options, const Console& console) {
  if (Result<Done> any = has_devices(cluster); !any) return console.fail(any.error());
  std::vector<DeviceIndex> devices(cluster.compiled.topology.devices.size());
  std::iota(devices.begin(), devices.end(), DeviceIndex{0});
  const Renderer renderer(cluster, console, devices, options.form.has_value());
  const Result<std::size_t> written = write_all(cluster, renderer, devices, options.out);
  if (!written) return console.fail(written.error());
  if (console.is_text())
    console.print(
        compose("{}: {} of {}\n", options.out, counted(*written, "file"), counted(devices.size(), "device")));
  return kExitInSync;
}

int render_one(const OpenedCluster& cluster, const RenderOptions& options, const Console& console) {
  const Result<DeviceIndex> device = device_called(cluster.compiled, options.words.back());
  if (!device) return console.fail(device.error());
  const Renderer renderer(cluster, console, {*device}, options.form.has_value());
  const Result<std::vector<RenderedFile>> files = renderer.of(*device, console.out());
  if (!files) return console.fail(files.error());
  for (const RenderedFile& file : *files) {
    if (&file != &files->front()) console.print_format("\n");
    console.print_format(file.text);  // already escaped for its format
  }
  return kExitInSync;
}

}  // namespace

int run_render(const RenderOptions& options, const Console& console) {
  if (options.form && !console.is_text())
    return console.fail_usage("--format and -o both say a form: give one of them");
  const std::size_t devices = options.all ? 0 : 1;
  if (options.words.size() < devices)
    return console.fail_usage("name a DEVICE, or have all rendered: --all --out DIR");
  if (options.words.size() > devices + 1) return console.fail_usage("--all renders every device: name none");
  ClusterSource source = options.source;
  if (options.words.size() > devices) source.specs = {options.words.front()};
  const std::optional<OpenedCluster> cluster = open_cluster(source, console);
  if (!cluster) return kExitError;
  return options.all ? render_all(*cluster, options, console) : render_one(*cluster, options, console);
}

}  // namespace lockstep
