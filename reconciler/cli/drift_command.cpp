#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/report/report_places.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

// Pipes as well: `--report sarif=/dev/stdout`.
constexpr Replacement kDriftFile{.write_through = true};

struct DriftFile {
  DriftFormat format = DriftFormat::text;
  std::string file;
};

Result<std::vector<DriftFile>> drift_files(const std::vector<std::string>& words) {
  std::vector<DriftFile> out;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const auto format = drift_formats().find(word.substr(0, equals));
    if (equals == std::string::npos || format == drift_formats().end())
      return Error{ErrorKind::invalid_spec,
                   "--report: '" + word + "' is no FORMAT=FILE, such as sarif=drift.sarif"};
    out.push_back({format->second, word.substr(equals + 1)});
  }
  return out;
}

class DriftPrinter {
 public:
  DriftPrinter(const ObservedDrift& observed, const OpenedCluster& cluster, Detail detail)
      : observed_(observed), placed_(observed.report), cluster_(cluster), detail_(detail) {
    place_in_specs(placed_, cluster);
    in_repository_ = placed_;
    place_in_repository(in_repository_);
  }

  std::string text(const Terminal& terminal) const {
    return drift_of_text(cluster_.title(), placed_, observed_.states, terminal, detail_);
  }
  nlohmann::json document() const { return of_cluster(cluster_, drift_json(placed_, detail_)); }
  // In any format for CI.
  std::string format(DriftFormat format) const {
    switch (format) {
      case DriftFormat::markdown: return drift_markdown(in_repository_, cluster_.title());
      case DriftFormat::sarif: return drift_sarif(in_repository_);
      case DriftFormat::junit: return drift_junit(in_repository_, cluster_.title());
      case DriftFormat::gitlab: return drift_gitlab(in_repository_);
      case DriftFormat::github: return drift_github(in_repository_);
      case DriftFormat::text:
      case DriftFormat::json: break;
    }
    return "";
  }

 private:
  const ObservedDrift& observed_;
  DriftReport placed_;
  DriftReport in_repository_;
  const OpenedCluster& cluster_;
  Detail detail_;
};

Result<Done> write_drift(const DriftPrinter& printer, const DriftFile& report, const Console& console) {
  std::string text;
  if (report.format == DriftFormat::json)
    text = json_text(console.whole(printer.document()), 2);
  else
    text = report.format == DriftFormat::text ? report_text(printer.text(Terminal{}))
                                              : printer.format(report.format);
  Result<Done> written = replace_file(report.file, text, kDriftFile);
  return written ? std::move(written) : wrap("--report", std::move(written.error()));
}

}  // namespace

const std::map<std::string, DriftFormat>& drift_formats() {
  static const std::map<std::string, DriftFormat> all{
      {"text", DriftFormat::text},    {"json", DriftFormat::json},   {"markdown", DriftFormat::markdown},
      {"sarif", DriftFormat::sarif},  {"junit", DriftFormat::junit}, {"gitlab", DriftFormat::gitlab},
      {"github", DriftFormat::github}};
  return all;
}

int run_drift(const DriftOptions& options, const Console& console) {
  if (options.format && !console.is_text())
    return console.fail_usage("--format and -o both say a form: give one of them");
  const Result<std::vector<DriftFile>> reports = drift_files(options.reports);
  if (!reports) return console.fail_usage(reports.error().text());
  for (const DriftFile& one : *reports)  // before devices are observed rather than after
    if (Result<Done> writable = check_replaceable(one.file, kDriftFile); !writable)
      return console.fail(wrap("--report", std::move(writable.error())));
  const std::unique_ptr<CommandSession> command = CommandSession::open(options.source, console, options.only);
  if (!command) return kExitError;
  ClusterSession& session = **command;
  const Result<ObservedDrift> observed = session.drift(options.unmanaged);
  if (!observed) return console.fail(observed.error());
  if (const std::optional<int> code = console.interrupted()) return *code;
  const DriftPrinter printer(*observed, session.cluster(),
                             options.details ? Detail::every_change : Detail::folded);
  for (const DriftFile& one : *reports)
    if (const Result<Done> written = write_drift(printer, one, console); !written)
      return console.fail(written.error());
  const DriftFormat format = options.format.value_or(DriftFormat::text);
  if (!console.is_text() || format == DriftFormat::json)
    console.print_document(printer.document());
  else if (format == DriftFormat::text)
    console.print(printer.text(console.out()));
  else
    console.print_format(printer.format(format));
  return observed->report.exit_code();
}

}  // namespace lockstep
