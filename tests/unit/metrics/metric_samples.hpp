// The samples of Prometheus' text format, read without the library that writes it: for lines whose labels
// have no escapes.
#pragma once

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

namespace lockstep {

// By "name" or "name{label=\"value\"}", as they are written.
inline std::map<std::string, double> samples_of(const std::string& text) {
  std::map<std::string, double> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t blank = line.rfind(' ');
    out[line.substr(0, blank)] = std::strtod(line.c_str() + blank + 1, nullptr);
  }
  return out;
}

}  // namespace lockstep
