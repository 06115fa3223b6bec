// The measurement before a change, which is text in a journal that may be damaged.
#include "reconciler/engine/gate_json.hpp"
#include "tests/fuzz/parsers.hpp"

namespace lockstep::fuzzing {

void parse_before(std::string_view input) {
  const Result<GateMeasurement> read = measurement_of(input);
  if (!read) return;
  const std::string written = text_of(*read);
  const Result<GateMeasurement> again = measurement_of(written);
  must(again && again->figures == read->figures && again->controls == read->controls,
       "what is read, written and read again is the same");
}

std::vector<std::string> seeds_of_before() {
  GateMeasurement measured;
  measured.figures.push_back({.subject = "slo/pairs bandwidth min, gpu1:rail0 -> gpu2:rail0",
                              .state = SloState::broken,
                              .figure = 1e9,
                              .noise = 0.01,
                              .cpu = 1e-10,
                              .terms = "tcp, >= 90% of nominal",
                              .why = "41.0%, want >= 90% of nominal"});
  measured.controls = measured.figures;
  return {text_of(measured), text_of(GateMeasurement{})};
}

}  // namespace lockstep::fuzzing
