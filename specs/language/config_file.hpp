// A configuration file of a program of ours: one document with apiVersion, kind and spec, as specs are
// written, and no part of them.
//
// Promises: errors (invalid_spec) are excerpts with file, line and column, all that are found at once.
#pragma once

#include <string>
#include <string_view>

#include "specs/language/said.hpp"
#include "specs/language/struct_types.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// Its `apiVersion` and `kind`, after they were loaded.
void check_config_head(const Said<std::string>& version, const Said<std::string>& kind,
                       std::string_view right, Reporter& reporter);

// Loads `text`, the content of `file`, into the document of that type. `what`: "an agent has one config";
// `hint`: what to write into an empty file.
struct ConfigWords {
  std::string_view one;
  std::string_view hint;
};
Result<Done> load_config(const std::string& file, std::string text, const Type& type, void* document,
                         const ConfigWords& words);

// The whole path of a file that a config names: relative ones are relative to the config's folder. As it was
// written, if the current folder is not to be had.
std::string file_beside(const std::string& config, const std::string& name);

}  // namespace lockstep
