#include "reconciler/api/list_page.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "specs/language/api_version.hpp"

namespace lockstep::api {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
// A name, in the hexadecimal digits of a token.
constexpr std::size_t kTokenMax = 4096;

Error wrong_query(const std::string& what) { return Error{ErrorKind::invalid_spec, what}; }

// POSITION.NAME, the name in hexadecimal digits: opaque, and safe in a query.
std::string token_of(const EventLog& log, std::uint64_t position, const std::string& name) {
  std::string out = log.position(position) + ".";
  for (const char c : name) {
    out += kHex[static_cast<unsigned char>(c) >> 4U];
    out += kHex[static_cast<unsigned char>(c) & 15U];
  }
  return out;
}

Result<Done> read_token(const std::string& token, const EventLog& log, PageRequest& into) {
  const std::size_t dot = token.rfind('.');
  const std::string_view digits =
      dot == token.npos ? std::string_view() : std::string_view(token).substr(dot + 1);
  if (digits.empty() || digits.size() % 2 != 0 || token.size() > kTokenMax ||
      digits.find_first_not_of(kHex) != digits.npos)
    return wrong_query("'continue' is not a token of a list of this service");
  into.position = log.parse(std::string_view(token).substr(0, dot));
  if (!into.position)
    return Error{ErrorKind::conflict, "'continue' is of a former start of the service; list anew"};
  for (std::size_t i = 0; i < digits.size(); i += 2)
    into.after += static_cast<char>(kHex.find(digits[i]) * 16 + kHex.find(digits[i + 1]));
  return Done{};
}

Result<std::size_t> limit_in(const std::string& text) {
  std::size_t out = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (code == std::errc::result_out_of_range) return kPageMost;
  if (code != std::errc() || end != text.data() + text.size()) return wrong_query("'limit' is not a number");
  // Kubernetes: 0 is no limit.
  return out == 0 ? kPageMost : std::min(out, kPageMost);
}

std::string list_text(Kind kind, const std::string& position, const std::string& token,
                      const std::vector<const ApiObject*>& items) {
  nlohmann::json metadata{{"resourceVersion", position}};
  if (!token.empty()) metadata["continue"] = token;
  std::string out = nlohmann::json{{"apiVersion", api_version},
                                   {"kind", std::string(row_of(kind).name) + "List"},
                                   {"metadata", std::move(metadata)}}
                        .dump();
  out.back() = ',';
  out += R"("items":[)";
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    out += items[i]->text;
  }
  return out + "]}";
}

}  // namespace

Result<PageRequest> page_request(const std::map<std::string, std::string>& query, Kind kind,
                                 const EventLog& log) {
  PageRequest out;
  if (const auto found = query.find("labelSelector"); found != query.end())
    TRY_DONE(out.selector.add_labels(found->second));
  if (const auto found = query.find("fieldSelector"); found != query.end())
    TRY_DONE(out.selector.add_fields(found->second, kind));
  if (const auto found = query.find("limit"); found != query.end() && !found->second.empty()) {
    TRY(out.limit, limit_in(found->second));
  }
  if (const auto found = query.find("continue"); found != query.end() && !found->second.empty())
    TRY_DONE(read_token(found->second, log, out));
  return out;
}

std::string list_page(const Board& board, Kind kind, const PageRequest& request, const EventLog& log) {
  const std::uint64_t position = request.position.value_or(board.sequence);
  const std::vector<ApiObjectPtr>& all = board.of(kind);
  // Events are by age: names of one epoch, whose numbers grow in length.
  const auto is_after = [&](const ApiObjectPtr& one) {
    if (kind == Kind::event && one->name.size() != request.after.size())
      return one->name.size() > request.after.size();
    return one->name > request.after;
  };
  auto at = all.begin();
  if (!request.after.empty()) at = std::ranges::find_if(all, is_after);
  std::vector<const ApiObject*> items;
  std::string token;
  for (; at != all.end(); ++at) {
    if (!request.selector.selects(**at)) continue;
    if (items.size() == request.limit) {
      token = token_of(log, position, items.back()->name);
      break;
    }
    items.push_back(at->get());
  }
  return list_text(kind, log.position(position), token, items);
}

std::string list_stored(const std::vector<ApiObject>& objects, std::optional<std::uint64_t> more, Kind kind,
                        std::uint64_t newest, const PageRequest& request, const EventLog& log) {
  const std::uint64_t position = request.position.value_or(newest);
  std::vector<const ApiObject*> items;
  for (const ApiObject& one : objects) items.push_back(&one);
  return list_text(kind, log.position(position),
                   more ? token_of(log, position, std::to_string(*more)) : std::string(), items);
}

}  // namespace lockstep::api
