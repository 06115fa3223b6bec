#include "specs/language/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "specs/language/codes.hpp"

namespace lockstep {

std::optional<std::string> read_text(std::FILE* file) {
  std::string text;
  constexpr std::size_t step = std::size_t{64} << 10;
  while (text.size() <= file_size_limit) {  // at most one step more than may be parsed
    const std::size_t before = text.size();
    text.resize(before + step);
    const std::size_t got = std::fread(text.data() + before, 1, step, file);
    text.resize(before + got);
    if (got < step) break;
  }
  if (std::ferror(file) != 0) return std::nullopt;
  return text;
}

std::optional<std::string> read_text_file(const std::string& name, const std::function<Span()>& at,
                                          Reporter& reporter) {
  namespace fs = std::filesystem;
  const auto unreadable = [&](const std::string& why) {
    reporter.error(code::unreadable, at(), "cannot read " + in_quotes(name) + ": " + why);
    return std::nullopt;
  };
  std::error_code failed;
  // Before it is opened: a FIFO or a device would block, and a size that is known need not be read.
  const fs::file_status status = fs::status(name, failed);
  if (!fs::exists(status)) return unreadable(failed ? failed.message() : "no such file");
  if (!fs::is_regular_file(status)) return unreadable("not a regular file");
  const std::uintmax_t size = fs::file_size(name, failed);
  if (!failed && size > file_size_limit) {
    reporter.error(code::too_large, at(), in_quotes(name) + " is larger than 16 MiB", "split the file");
    return std::nullopt;
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name.c_str(), "rbe"), std::fclose);
  if (!file) return unreadable(std::strerror(errno));
  std::optional<std::string> text = read_text(file.get());
  if (!text) return unreadable(std::strerror(errno));
  return text;
}

bool check_text(std::uint32_t file, const TextIndex& index, Reporter& reporter) {
  const std::string_view text = reporter.sources().files[file].text;
  const auto refuse = [&](std::string_view code, std::size_t offset, std::string message, std::string hint) {
    reporter.error(code, {index.position(offset), 1}, std::move(message), std::move(hint));
    return false;
  };
  if (text.size() > file_size_limit)
    return refuse(code::too_large, 0, "larger than " + std::to_string(file_size_limit >> 20) + " MiB",
                  "split the file");
  if (const auto bad = find_invalid_utf8(text))
    return refuse(code::not_utf8, *bad, "a byte that is not UTF-8", "save the file as UTF-8");
  const std::size_t begin = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  if (const auto bad = find_control_character(text.substr(begin)))
    return refuse(code::control_character, begin + *bad, control_character_at(text, begin + *bad),
                  "remove it");
  return true;
}

}  // namespace lockstep
