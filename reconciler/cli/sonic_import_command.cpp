// `lockstep sonic import`: specs for switches that run, from their configurations.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/sonic_files.hpp"

namespace lockstep {
namespace {

using sonic::ConfigDb;

struct Imported {
  std::string name;  // of the device
  ConfigDb config;
};

// hostname of DEVICE_METADATA, else the file's name.
std::string name_of(const ConfigDb& config, const std::string& file) {
  if (const sonic::ConfigRow* const row = config.find("DEVICE_METADATA", "localhost"))
    if (const auto found = row->find("hostname"); found != row->end())
      if (const auto* const text = std::get_if<std::string>(&found->second);
          text != nullptr && !text->empty())
        return *text;
  return std::filesystem::path(file).stem().string();
}

Result<std::vector<Imported>> imported(const std::vector<std::string>& files) {
  std::vector<Imported> out;
  std::set<std::string> names;
  for (const std::string& file : files) {
    TRY(ConfigDb config, sonic_config(file));
    std::string name = name_of(config, file);
    if (!names.insert(name).second)
      return Error{ErrorKind::invalid_spec, file + ": another of the files is of '" + name + "' as well"};
    out.push_back({std::move(name), std::move(config)});
  }
  return out;
}

// JSON is YAML: texts are quoted, so that none of them is read as a number or a boolean.
std::string quoted_yaml(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string draft_of(const Imported& device) {
  std::string out =
      "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: " + quoted_yaml(device.name) +
      "}\nspec:\n  names: " + quoted_yaml(device.name) +
      "\n  role: leaf                       # or what it is\n  drivers: [sonic]\n"
      "  connect: {redis: \"/run/" +
      printable(device.name) + ".sock\"}   # where its Redis is: docs/sonic.md\n" +
      "  raw:\n    - driver: sonic\n      set:\n";
  for (const auto& [table, rows] : device.config.tables)
    for (const auto& [key, row] : rows)
      out += "        " + quoted_yaml(sonic::redis_name(table, key)) + ": " +
             quoted_yaml(sonic_row_json(row)) + "\n";
  return out;
}

}  // namespace

int run_sonic_import(const SonicImportOptions& options, const Console& console) {
  if (!options.draft) return console.fail_usage("sonic import writes drafts only: say --draft");
  const Result<std::vector<Imported>> devices = imported(options.files);
  if (!devices) return console.fail(devices.error());
  std::string out =
      "# A draft: it compiles to the rows that it was made from, so that a plan of the running switches is "
      "empty.\n"
      "# Everything is in SONiC's own terms. Move what a Fabric or a RoceProfile says over to them, bit by "
      "bit:\n"
      "# validate reports what both set, and the plan shows what would change.\n";
  for (const Imported& device : *devices)
    out += (&device == &devices->front() ? "" : "---\n") + draft_of(device);
  console.print(out);
  return kExitInSync;
}

}  // namespace lockstep
