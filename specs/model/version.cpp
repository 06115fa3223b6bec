#include "specs/model/version.hpp"

// libdpkg is a static library without a stable interface: its own word for that.
#define LIBDPKG_VOLATILE_API
#include <dpkg/version.h>

#include <charconv>
#include <string>

namespace lockstep {
namespace {

struct VersionParts {
  unsigned epoch = 0;
  std::string upstream;
  std::string revision;

  explicit VersionParts(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos) {
      const auto [end, code] = std::from_chars(text.data(), text.data() + colon, epoch);
      if (code == std::errc{} && end == text.data() + colon) text.remove_prefix(colon + 1);
    }
    const std::size_t hyphen = text.rfind('-');
    upstream = text.substr(0, hyphen);
    if (hyphen != std::string_view::npos) revision = text.substr(hyphen + 1);
  }
};

struct Operator {
  std::string_view text;
  bool below, equal, above;  // which orders of the version to the wanted one it admits
};
constexpr Operator kOperators[] = {{"==", false, true, false},
                                   {">=", false, true, true},
                                   {"<=", true, true, false},
                                   {">", false, false, true},
                                   {"<", true, false, false}};

}  // namespace

int compare_versions(std::string_view a, std::string_view b) {
  const VersionParts one(a);
  const VersionParts other(b);
  const dpkg_version first{one.epoch, one.upstream.c_str(), one.revision.c_str()};
  const dpkg_version second{other.epoch, other.upstream.c_str(), other.revision.c_str()};
  return ::dpkg_version_compare(&first, &second);
}

bool version_meets(std::string_view version, std::string_view constraint) {
  Operator wanted = kOperators[0];
  for (const Operator& one : kOperators) {
    if (!constraint.starts_with(one.text)) continue;
    wanted = one;
    constraint.remove_prefix(one.text.size());
    break;
  }
  const int order = compare_versions(version, constraint);
  return order < 0 ? wanted.below : order == 0 ? wanted.equal : wanted.above;
}

}  // namespace lockstep
