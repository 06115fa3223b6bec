#include "specs/language/node.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <deque>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>

#include "specs/language/codes.hpp"
#include "specs/language/text_index.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

// yaml-cpp scans a whole flow collection ([...], {...}) into tokens of about 100 bytes before it parses it,
// so these characters are counted first: two for each node that a document may have.
constexpr std::size_t flow_character_limit = 2 * document_node_limit;
// Open brackets minus closed ones, ignoring quotes and comments: far above any hand-written text, far below
// what would exhaust the scanner.
constexpr std::int64_t bracket_surplus_limit = 1000;
// Maps with more keys than this get an ordered set, so that neither many keys nor colliding hashes cost
// quadratic time.
constexpr std::size_t small_map = 8;

// Thrown through yaml-cpp to stop it; never leaves this file.
struct Refused {
  std::string_view code;
  std::size_t offset;
  std::string message;
  std::string hint;
};

struct ViewBuffer : std::streambuf {
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // setg wants char*; a get area is never written
    setg(begin, begin, begin + text.size());
  }
};

// The number of characters of a scalar as written, on its first line.
std::uint32_t written_length(std::string_view text, std::size_t begin, std::string_view value, bool plain) {
  if (begin >= text.size()) return 1;
  std::size_t end = begin + 1;
  const char quote = text[begin];
  if (plain) {
    end = text.compare(begin, value.size(), value) == 0 ? begin + value.size() : begin + 1;
  } else if (quote == '"' || quote == '\'') {
    while (end < text.size() && text[end] != '\n' && text[end] != quote)
      end += quote == '"' && text[end] == '\\' ? 2 : 1;
    end = std::min(end + 1, text.size());
  }
  end = std::min(end, std::min(text.find('\n', begin), text.size()));
  std::uint32_t count = 0;
  for (std::size_t i = begin; i < end; ++i) count += (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
  return std::max(count, 1U);
}

// Builds the nodes of one document from yaml-cpp's events.
class Builder : public YAML::EventHandler {
 public:
  Builder(std::string_view text, std::size_t offset, const TextIndex& index, Reporter& reporter,
          std::size_t budget)
      : text_(text), offset_(offset), index_(index), reporter_(reporter), budget_(budget) {}

  const Node* root() const { return root_; }
  std::size_t used() const { return used_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp would never stop: it starts a new, empty document at each character that it cannot use.
    if (started_)
      throw Refused{code::syntax, offset(mark), "text after the end of the value", "one value a document"};
    started_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node& node = add(mark, anchor);
    const Node* key = frames_.empty() ? nullptr : frames_.back().key;
    // The mark of a missing value is that of the next token; the key is the useful position.
    if (key != nullptr && node.at.line != key->at.line) {
      node.at = key->at;
      node.length = key->length;
    }
    complete(&node);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Node* node = anchor < anchors_.size() ? anchors_[anchor] : nullptr;
    if (node == nullptr) {
      reporter_.error(code::cyclic_alias, {index_.position(offset(mark)), 1},
                      "an alias to a value that is not complete: the value would contain itself");
      complete(&add(mark, 0));
      return;
    }
    if (frames_.size() + node->height > depth_limit) refuse_depth(mark);
    spend(node->expanded, mark);
    complete(node);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node& node = add(mark, anchor);
    node.shape = Node::Shape::scalar;
    node.plain = tag != "!";
    node.text = value;
    node.length = written_length(text_, offset(mark), value, node.plain);
    // YAML escapes can produce characters that the file itself must not contain.
    if (const auto bad = find_control_character(value))
      reporter_.error(code::control_character, span_of(node),
                      control_character_at(value, *bad) + " in a text", "remove it");
    // yaml-cpp 0.7 writes a single byte for two of them (src/exp.cpp).
    if (find_invalid_utf8(value))
      reporter_.error(code::not_utf8, span_of(node), "\"\\N\" or \"\\_\", escapes that are not read here",
                      "write the character itself; a space that does not break is \"\\xA0\"");
    // "!" is also what yaml-cpp reports for quotes; only the text distinguishes the two.
    if ((tag != "?" && tag != "!") || (tag == "!" && begins_with_tag(mark))) report_tag(node);
    complete(&node);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Shape::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Shape::map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Node* node = nullptr;
    YAML::anchor_t anchor = 0;
    const Node* key = nullptr;
    std::map<std::string_view, const Node*> keys;  // only for maps that are not small
  };

  std::size_t offset(const YAML::Mark& mark) const {
    return std::min(offset_ + static_cast<std::size_t>(std::max(mark.pos, 0)), text_.size());
  }
  bool begins_with_tag(const YAML::Mark& mark) const {
    const std::size_t at = offset(mark);
    return at < text_.size() && text_[at] == '!';
  }
  [[noreturn]] void refuse_depth(const YAML::Mark& mark) const {
    throw Refused{code::too_deep, offset(mark),
                  "nested deeper than " + std::to_string(depth_limit) + " levels", ""};
  }
  void spend(std::size_t nodes, const YAML::Mark& mark) {
    used_ += nodes;
    if (used_ > budget_)
      throw Refused{code::too_many_nodes, offset(mark),
                    "more than " + std::to_string(budget_) + " values, aliases counted as copies", ""};
  }
  Node& add(const YAML::Mark& mark, YAML::anchor_t anchor) {
    spend(1, mark);
    Node& node = arena_.emplace_back();
    node.at = index_.position(offset(mark));
    if (anchor != 0) remember(anchor, &node);
    return node;
  }
  void remember(YAML::anchor_t anchor, const Node* node) {
    if (anchors_.size() <= anchor) anchors_.resize(anchor + 1);
    anchors_[anchor] = node;
  }
  void report_tag(const Node& node) {
    reporter_.error(code::tag, {node.at, 1}, "a tag; the type follows from the field",
                    "quote a scalar to make it text");
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node::Shape shape) {
    if (frames_.size() >= depth_limit) refuse_depth(mark);
    Node& node = add(mark, 0);
    node.shape = shape;
    if (tag != "?" && !tag.empty()) report_tag(node);
    frames_.push_back({&node, anchor, nullptr, {}});
  }
  void close() {
    const Frame frame = std::move(frames_.back());
    frames_.pop_back();
    Node& node = *frame.node;
    const auto count = [&node](const Node* below) {
      node.expanded += below->expanded;
      node.height = std::max<std::uint8_t>(node.height, static_cast<std::uint8_t>(below->height + 1));
    };
    for (const Node* item : node.items) count(item);
    for (const auto& [key, value] : node.fields) {
      count(key);
      count(value);
    }
    if (frame.anchor != 0) remember(frame.anchor, &node);
    complete(&node);
  }
  void complete(const Node* node) {
    if (frames_.empty()) {
      root_ = node;
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node->shape == Node::Shape::list) {
      frame.node->items.push_back(node);
    } else if (frame.key == nullptr) {
      frame.key = node;
    } else {
      const Node* key = std::exchange(frame.key, nullptr);
      if (accepts(frame, *key)) frame.node->fields.emplace_back(key, node);
    }
  }
  bool accepts(Frame& frame, const Node& key) {
    if (key.shape != Node::Shape::scalar) {
      reporter_.error(code::key_not_scalar, span_of(key), "a key must be one word or one quoted text");
      return false;
    }
    if (key.plain && key.text == "<<") {
      reporter_.error(code::merge_key, span_of(key), "merge keys (<<) are not part of the spec language",
                      "write the fields out, or use one object with a selector");
      return false;
    }
    if (!is_one_line(key, reporter_)) return false;
    if (const Node* first = first_of(frame, key)) {
      reporter_.error(code::duplicate_key, span_of(key), in_quotes(key.text) + " is written twice",
                      "keep one of the two", {{first->at, "first written here"}});
      return false;
    }
    return true;
  }
  const Node* first_of(Frame& frame, const Node& key) {
    const auto& fields = frame.node->fields;
    if (fields.size() < small_map) {
      for (const auto& [other, value] : fields)
        if (other->text == key.text) return other;
      return nullptr;
    }
    if (frame.keys.empty())
      for (const auto& [other, value] : fields) frame.keys.emplace(other->text, other);
    const auto [at, fresh] = frame.keys.emplace(key.text, &key);
    return fresh ? nullptr : at->second;
  }

  std::string_view text_;
  std::size_t offset_;
  const TextIndex& index_;
  Reporter& reporter_;
  std::size_t budget_;
  std::size_t used_ = 0;
  bool started_ = false;
  const Node* root_ = nullptr;
  std::deque<Node> arena_;
  std::vector<const Node*> anchors_;
  std::vector<Frame> frames_;
};

std::optional<Refused> check_flow(std::string_view text) {
  std::size_t count = 0;
  std::int64_t surplus = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool opens = c == '[' || c == '{';
    const bool closes = c == ']' || c == '}';
    if (!opens && !closes && c != ',') continue;
    if (++count > flow_character_limit)
      return Refused{
          code::too_many_nodes, i,
          "more than " + std::to_string(flow_character_limit) + " commas and brackets in one document", ""};
    surplus = opens ? surplus + 1 : closes ? std::max<std::int64_t>(surplus - 1, 0) : surplus;
    if (surplus > bracket_surplus_limit)
      return Refused{code::too_deep, i,
                     "more than " + std::to_string(bracket_surplus_limit) + " open brackets", ""};
  }
  return std::nullopt;
}

bool is_marker(std::string_view line, std::string_view marker) {
  return line.starts_with(marker) &&
         (line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
}

// Where each document begins: `---` and `...` at the start of a line end one wherever they stand
// (YAML 1.2 9.1.2, c-forbidden), so that an error in one document leaves the others readable.
std::vector<std::size_t> document_starts(std::string_view text, std::size_t begin) {
  std::vector<std::size_t> starts{begin};
  for (std::size_t at = begin; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (is_marker(line, "---")) starts.push_back(at);
    if (is_marker(line, "...")) starts.push_back(std::min(end + 1, text.size()));
    at = end + 1;
  }
  return starts;
}

bool only_comments(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (at == 0 && is_marker(line, "---")) line.remove_prefix(3);
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != line.npos && line[first] != '#') return false;
    at = end + 1;
  }
  return true;
}

// Advice for yaml-cpp's terse messages.
std::string syntax_hint(std::string_view text, std::size_t offset, std::string_view message) {
  const std::size_t start = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;  // npos + 1 is 0
  const std::size_t indent = text.find_first_not_of(" \t", start);
  if (text.substr(start, indent - start).find('\t') != std::string_view::npos)
    return "the line is indented by a tab; YAML indents by spaces";
  if (message.find("map value") != std::string_view::npos)
    return "quote a text that holds ': ', and check the indentation";
  if (message.find("end of") != std::string_view::npos) return "a bracket or an indentation does not match";
  return "";
}

class FileReader {
 public:
  FileReader(std::uint32_t file, Reporter& reporter, const std::function<void(const Node&)>& visit)
      : file_(file),
        text_(reporter.sources().files[file].text),
        index_(file, text_),
        reporter_(reporter),
        visit_(visit) {}

  void run() {
    if (!check_text(file_, index_, reporter_)) return;
    const std::size_t begin = text_.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
    const auto starts = document_starts(text_, begin);
    for (std::size_t i = 0; i < starts.size(); ++i)
      read(starts[i], i + 1 < starts.size() ? starts[i + 1] : text_.size());
  }

 private:
  void refuse(const Refused& why) {
    reporter_.error(why.code, {index_.position(why.offset), 1}, why.message, why.hint);
  }
  void read(std::size_t begin, std::size_t end) {
    const std::string_view chunk = text_.substr(begin, end - begin);
    if (only_comments(chunk)) return;
    if (reporter_.full()) return reporter_.skip();
    if (auto refused = check_flow(chunk)) {
      refused->offset += begin;
      return refuse(*refused);
    }
    Builder builder(text_, begin, index_, reporter_, std::min(document_node_limit, file_node_limit - used_));
    if (parse(chunk, begin, builder) && builder.root() != nullptr && !is_empty(*builder.root()))
      visit_(*builder.root());
    used_ += std::min(builder.used(), file_node_limit - used_);
  }
  bool parse(std::string_view chunk, std::size_t begin, Builder& builder) {
    ViewBuffer buffer(chunk);
    std::istream stream(&buffer);
    try {
      YAML::Parser parser(stream);
      while (parser.HandleNextDocument(builder)) {
      }
      return true;
    } catch (const Refused& refused) {
      refuse(refused);
    } catch (const YAML::Exception& wrong) {
      const std::size_t at =
          wrong.mark.is_null()
              ? begin
              : std::min(begin + static_cast<std::size_t>(std::max(wrong.mark.pos, 0)), text_.size());
      refuse({code::syntax, at, "not YAML: " + wrong.msg, syntax_hint(text_, at, wrong.msg)});
    }
    return false;
  }
  static bool is_empty(const Node& node) { return node.shape == Node::Shape::null && node.expanded == 1; }

  std::uint32_t file_;
  std::string_view text_;
  TextIndex index_;
  Reporter& reporter_;
  const std::function<void(const Node&)>& visit_;
  std::size_t used_ = 0;
};

}  // namespace

bool is_one_line(const Node& node, Reporter& reporter) {
  if (node.text.find_first_of("\t\n") == std::string::npos) return true;
  reporter.error(code::control_character, span_of(node), "a line break or a tab in a text",
                 "write one line; in YAML, >- joins lines to one");
  return false;
}

const Node* Node::find(std::string_view key) const {
  for (const auto& [name, value] : fields)
    if (name->text == key) return value;
  return nullptr;
}

void read_documents(std::uint32_t file, Reporter& reporter, const std::function<void(const Node&)>& visit) {
  FileReader(file, reporter, visit).run();
}

}  // namespace lockstep
