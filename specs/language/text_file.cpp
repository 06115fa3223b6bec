#include "specs/language/text_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "specs/files/read_file.hpp"
#include "specs/language/codes.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {

namespace {

std::optional<std::string> text_or_error(FileText read, const std::string& name,
                                         const std::function<Span()>& at, Reporter& reporter) {
  using Outcome = FileText::Outcome;
  if (read) return std::move(read.text);
  if (read.outcome == Outcome::too_large)
    reporter.error(code::too_large, at(), in_quotes(name) + " is " + read.why, "split the file");
  else
    reporter.error(code::unreadable, at(), "cannot read " + in_quotes(name) + ": " + read.why,
                   read.outcome == Outcome::outside
                       ? "copy the file into that folder: a spec reads no other, also not by a link"
                       : "");
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_text_file(const std::string& folder, const std::string& name,
                                          const std::function<Span()>& at, Reporter& reporter) {
  const std::string inside = std::filesystem::path(name).lexically_relative(folder).string();
  return text_or_error(read_beneath(folder, inside, file_size_limit), name, at, reporter);
}

std::optional<std::string> read_standard_input(const std::function<Span()>& at, Reporter& reporter) {
  return text_or_error(read_open(STDIN_FILENO, file_size_limit), "<stdin>", at, reporter);
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
