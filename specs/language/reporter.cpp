#include "specs/language/reporter.hpp"

#include <algorithm>

#include "specs/language/codes.hpp"
#include "specs/language/node.hpp"

namespace lockstep {
namespace {

// The errors after which a whole file or document is missing.
constexpr std::string_view unread[] = {code::unreadable,   code::no_specs,           code::too_large,
                                       code::not_utf8,     code::control_character,  code::syntax,
                                       code::too_deep,     code::too_many_nodes,     code::not_a_map,
                                       code::unknown_kind, code::unknown_api_version};

}  // namespace

Span span_of(const Node& node) { return {node.at, node.length}; }

void Reporter::error(std::string_view code, Span span, std::string message, std::string hint,
                     std::vector<Related> related) {
  add({std::string(code), Severity::error, span.at, std::max(span.length, 1U), std::move(message),
       std::move(hint), std::move(related)});
}

void Reporter::warning(std::string_view code, Span span, std::string message, std::string hint,
                       std::vector<Related> related) {
  add({std::string(code), Severity::warning, span.at, std::max(span.length, 1U), std::move(message),
       std::move(hint), std::move(related)});
}

void Reporter::has_no_effect(Span span, const std::string& what, const std::string& why) {
  if (idle_ == nullptr || idle_->size() >= diagnostics_limit) return;
  idle_->push_back({std::string(code::no_effect),
                    Severity::warning,
                    span.at,
                    std::max(span.length, 1U),
                    what + " has no effect yet: " + why,
                    "leave it out, or keep it for a version that does",
                    {}});
}

void Reporter::add(Diagnostic one) {
  incomplete_ |= std::find(std::begin(unread), std::end(unread), one.code) != std::end(unread);
  if (full()) {
    return skip();
  }
  out_.push_back(std::move(one));
}

void Reporter::finish() {
  std::stable_sort(out_.begin(), out_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.at < b.at; });
  if (idle_ != nullptr)
    std::stable_sort(idle_->begin(), idle_->end(),
                     [](const Diagnostic& a, const Diagnostic& b) { return a.at < b.at; });
  if (!skipped_) return;
  Diagnostic rest;
  rest.code = code::too_many_errors;
  rest.message = "only the first " + std::to_string(diagnostics_limit) + " errors and warnings are shown";
  out_.push_back(std::move(rest));
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 60;
  if (text.size() <= most) return "'" + std::string(text) + "'";
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // whole characters only
  return "'" + std::string(text.substr(0, end)) + "...'";
}

}  // namespace lockstep
