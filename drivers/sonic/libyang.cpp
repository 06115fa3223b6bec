#include "drivers/sonic/libyang.hpp"

#include <algorithm>

namespace lockstep::sonic {
namespace {

// What is between `before` and the quote that `ends` finds: "Data location "/a:b/c[d='e']", line number 1.".
template <class Ends>
std::string quoted_behind(std::string_view text, std::string_view before, Ends ends) {
  const std::size_t at = text.find(before);
  if (at == text.npos) return {};
  const std::string_view rest = text.substr(at + before.size());
  const std::size_t end = ends(rest);
  return std::string(end == rest.npos ? rest : rest.substr(0, end));
}

}  // namespace

void keep_yang_messages() {
  ly_log_level(LY_LLERR);
  ly_log_options(LY_LOSTORE);
}

YangMessage take_message(const ly_ctx& context) {
  YangMessage out;
  if (const ly_err_item* const first = ly_err_first(&context)) {
    out.text = first->msg == nullptr ? "" : first->msg;
    std::ranges::replace(out.text, '\n', ' ');
    while (out.text.ends_with('.') || out.text.ends_with(' ')) out.text.pop_back();
    const std::string_view path = first->path == nullptr ? "" : first->path;
    // Keys in a data path may have quotes, a path of the models has none.
    out.data_path =
        quoted_behind(path, "ata location \"", [](std::string_view rest) { return rest.rfind('"'); });
    out.schema_path =
        quoted_behind(path, "chema location \"", [](std::string_view rest) { return rest.find('"'); });
    if (out.text.empty()) out.text = "not valid";
  }
  ly_err_clean(const_cast<ly_ctx*>(&context), nullptr);  // its own list of errors is all that changes
  return out;
}

}  // namespace lockstep::sonic
