// Subjects: the names by which a gate's measurements are compared, recorded as not validated, and blamed.
//
// Promises: "slo/pairs bandwidth min, gpu1:rail0 -> gpu2:rail0" names the result of one SLO for one
// measurement, and is parsed back as it was written. An SLO against a baseline has a name of its own ("min of
// baseline"): no two SLOs of one benchmark have the same name (validation_suite.cpp). Refuses nothing: text
// in another form, or that names what is no longer in the specs, is the subject of no measurement.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "reconciler/engine/apply.hpp"
#include "reconciler/measure/ground.hpp"
#include "reconciler/measure/measure.hpp"

namespace lockstep {

std::string subject_of(const SuiteOutcome& suite, const BenchmarkOutcome& outcome, const Slo& slo,
                       const bench::Measurement& one);

struct Subject {
  NamedPair pair;
  std::string slo;  // "bandwidth min", "bandwidth min of baseline"
};
std::optional<Subject> parse_subject(std::string_view text);

// The paths of the traffic of subjects. For one thread.
class SubjectPaths {
 public:
  // `input` must outlive it.
  explicit SubjectPaths(const MeasureInput& input) : input_(input) {}
  // Whether its traffic may cross what was changed; for a group whenever anything was changed. False for a
  // subject that is no longer measured.
  bool cross(const std::string& subject, const BlastRadius& changed);

 private:
  struct Fabric {
    std::unique_ptr<Ground> ground;
    std::map<std::string, std::size_t> ends;
  };
  Fabric& fabric(FabricIndex index);

  const MeasureInput& input_;
  std::map<FabricIndex, Fabric> fabrics_;
};

}  // namespace lockstep
