// The problems of a DriftReport for people and programs: one line each, the problem that explains most first.
// Settings that differ alike on many ports and devices are one line, also if numbers vary.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/engine/status.hpp"
#include "reconciler/report/terminal.hpp"

namespace lockstep {

struct ProblemLine {
  std::vector<std::string> devices;
  std::string what;    // "bgpd does not answer"
  std::string origin;  // "fabric.yaml:9 mtu": for a setting; else empty
  Problem::Kind kind = Problem::Kind::symptom;
  bool is_written = false;                // a plan's changes correct it
  std::size_t causes = 0;                 // differences and unread entries that make up the problem
  std::size_t explains = 0;               // further differences
  std::size_t unread = 0;                 // further entries that could not be read
  std::vector<std::size_t> items{};       // the report's that the line is about, as cause or explained
  std::vector<std::size_t> unobserved{};  // the report's that it explains
};

std::string_view to_string(Problem::Kind kind);  // "cabling"

std::vector<ProblemLine> problem_lines(const DriftReport& report);

// " (explains 31 differences and 30 entries not observed)"; empty: nothing else.
Shown explains_text(const ProblemLine& line);

// "2 problems" and a line each; empty: there are none.
std::string problems_text(const std::vector<ProblemLine>& problems, const Terminal& terminal);
// The same without its title.
std::string problem_rows_text(const std::vector<ProblemLine>& problems, const Terminal& terminal);

// [{"kind", "devices", "what", "causes", "explains", "unread"}], in the same order. `problem` of an item in
// drift_json is an index into it.
nlohmann::json problems_json(const std::vector<ProblemLine>& problems);

}  // namespace lockstep
