#include "reconciler/cli/sonic_files.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "specs/files/read_file.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kConfigMax = std::size_t{64} << 20;  // bytes; a switch of 512 ports has some 5 MB

}  // namespace

Result<std::string> sonic_text(const std::string& file) {
  FileText read = file == "-" ? read_open(STDIN_FILENO, kConfigMax) : read_named(file, kConfigMax);
  if (!read) return Error{ErrorKind::refused, file + ": " + read.why};
  return std::move(read.text);
}

Result<sonic::ConfigDb> sonic_config(const std::string& file) {
  TRY(const std::string text, sonic_text(file));
  Result<sonic::ConfigDb> config = sonic::parse_config_db(text);
  if (!config) return wrap(file, config.error());
  return config;
}

nlohmann::json sonic_row_json(const sonic::ConfigRow& row) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [field, value] : row)
    std::visit([&out, &field = field](const auto& held) { out[field] = held; }, value);
  return out;
}

std::string sonic_place(const sonic::ConfigFault& fault) {
  std::string out = printable(fault.table);
  if (!fault.key.empty()) out += "|" + printable(fault.key);
  if (!fault.field.empty()) out += (out.empty() ? "" : " ") + printable(fault.field);
  return out;
}

}  // namespace lockstep
