#include "drivers/sonic/yang_expression.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <span>

namespace lockstep::sonic {
namespace {

using Operation = YangOperation;
using Start = YangExpression::Start;
using Axis = YangStep::Axis;

struct Function {
  std::string_view name;
  std::size_t least;
  std::size_t most;
  bool of_nodes;  // its argument may be nodes without a value
};
constexpr std::array<Function, 16> kFunctions{{
    {"boolean", 1, 1, true},
    {"concat", 2, 16, false},
    {"contains", 2, 2, false},
    {"count", 1, 1, true},
    {"current", 0, 0, true},
    {"false", 0, 0, false},
    {"not", 1, 1, true},
    {"number", 1, 1, false},
    {"re-match", 2, 2, false},
    {"starts-with", 2, 2, false},
    {"string", 1, 1, false},
    {"string-length", 0, 1, false},
    {"substring", 2, 3, false},
    {"substring-after", 2, 2, false},
    {"substring-before", 2, 2, false},
    {"true", 0, 0, false},
}};

struct Operator {
  std::string_view text;
  Operation operation;
};
// By precedence, the weakest first (XPath 1.0 §3.5); of one row, longer texts first.
constexpr Operator kEither[]{{"or", Operation::either}};
constexpr Operator kBoth[]{{"and", Operation::both}};
constexpr Operator kEquality[]{{"!=", Operation::not_equal}, {"=", Operation::equal}};
constexpr Operator kRelation[]{{"<=", Operation::at_most},
                               {">=", Operation::at_least},
                               {"<", Operation::less},
                               {">", Operation::greater}};
constexpr Operator kSum[]{{"+", Operation::add}, {"-", Operation::subtract}};
constexpr Operator kProduct[]{
    {"*", Operation::multiply}, {"div", Operation::divide}, {"mod", Operation::modulo}};
constexpr std::array<std::span<const Operator>, 6> kLevels{kEither,   kBoth, kEquality,
                                                           kRelation, kSum,  kProduct};

bool is_name_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == ':';
}

// Means the same to XSD and as an extended expression of POSIX: letters, classes and repetitions.
bool is_plain_pattern(const YangExpression& pattern) {
  return pattern.operation == Operation::literal && pattern.text.find_first_of("\\^$") == pattern.text.npos &&
         pattern.text.find("-[") == pattern.text.npos;
}

bool is_value(const lysc_node* kind) {
  return kind == nullptr || (kind->nodetype & (LYS_LEAF | LYS_LEAFLIST)) != 0;
}

class Parser {
 public:
  Parser(std::string_view text, const lysc_node& at, const YangSchema& schema)
      : text_(text), at_(at), schema_(schema) {}

  Result<YangExpression> whole() {
    TRY(YangExpression out, level(0, &at_));
    skip_blanks();
    if (next_ != text_.size()) return unknown("what follows '" + std::string(text_.substr(0, next_)) + "'");
    return out;
  }

 private:
  Error unknown(const std::string& what) const {
    return Error{ErrorKind::unsupported, "the rule '" + std::string(text_) + "' uses " + what};
  }

  void skip_blanks() {
    while (next_ < text_.size() && std::string_view(" \t\r\n").find(text_[next_]) != std::string_view::npos)
      ++next_;
  }
  bool sees(std::string_view what) {
    skip_blanks();
    return text_.substr(next_).starts_with(what);
  }
  bool take(std::string_view what) {
    if (!sees(what)) return false;
    next_ += what.size();
    return true;
  }
  // A word of letters is an operator only where no name goes on.
  bool take_operator(const Operator& one) {
    if (!sees(one.text)) return false;
    const std::size_t end = next_ + one.text.size();
    const bool is_word = one.text.front() >= 'a' && one.text.front() <= 'z';
    if (is_word && end < text_.size() && is_name_part(text_[end])) return false;
    next_ = end;
    return true;
  }

  Result<YangExpression> level(std::size_t number, const lysc_node* context) {
    if (number == kLevels.size()) return unary(context);
    TRY(YangExpression left, level(number + 1, context));
    for (;;) {
      const auto found =
          std::ranges::find_if(kLevels[number], [this](const Operator& one) { return take_operator(one); });
      if (found == kLevels[number].end()) return left;
      TRY(YangExpression right, level(number + 1, context));
      if (number > 1)
        for (const YangExpression* const side : {&left, &right}) TRY_DONE(has_text(*side));
      left = of({found->operation}, {std::move(left), std::move(right)});
    }
  }

  static YangExpression of(YangExpression made, std::vector<YangExpression> operands) {
    made.operands = std::move(operands);
    return made;
  }

  // What is compared or computed with must have a text.
  Result<Done> has_text(const YangExpression& expression) const {
    if (expression.operation == Operation::unite)
      for (const YangExpression& one : expression.operands) TRY_DONE(has_text(one));
    if (expression.operation != Operation::path || is_value(end_of(expression))) return Done{};
    return unknown("the text of " + std::string(end_of(expression)->name));
  }
  const lysc_node* end_of(const YangExpression& path) const {
    return path.steps.empty() ? &at_ : path.steps.back().kind;  // without steps it is current()
  }

  Result<YangExpression> unary(const lysc_node* context) {
    if (take("-")) {
      TRY(YangExpression operand, unary(context));
      TRY_DONE(has_text(operand));
      return of({Operation::negate}, {std::move(operand)});
    }
    TRY(YangExpression left, primary(context));
    while (sees("|") && take("|")) {
      TRY(YangExpression right, primary(context));
      if (left.operation != Operation::path && left.operation != Operation::unite)
        return unknown("| of what are no nodes");
      left = of({Operation::unite}, {std::move(left), std::move(right)});
    }
    return left;
  }

  Result<YangExpression> primary(const lysc_node* context) {
    skip_blanks();
    if (next_ == text_.size()) return unknown("nothing where something is expected");
    const char c = text_[next_];
    if (c == '\'' || c == '"') return literal(c);
    if (c >= '0' && c <= '9') return number();
    if (take("(")) {
      TRY(YangExpression inner, level(0, context));
      if (!take(")")) return unknown("( without )");
      if (sees("/") || sees("[")) return unknown("a path that goes on from ( )");
      return inner;
    }
    if (const std::string_view name = name_ahead(); is_call(name)) {
      if (name != "current") return call(std::string(name), context);
      next_ += name.size();
      if (!take("(") || !take(")")) return unknown("current with arguments");
      YangExpression path{.operation = Operation::path, .start = Start::current};
      if (!take("/")) return path;
      return steps(std::move(path), &at_);
    }
    return path(context);
  }

  Result<YangExpression> literal(char quote) {
    const std::size_t end = text_.find(quote, next_ + 1);
    if (end == text_.npos) return unknown("a text without its end");
    YangExpression out{.operation = Operation::literal};
    out.text = text_.substr(next_ + 1, end - next_ - 1);
    next_ = end + 1;
    return out;
  }

  Result<YangExpression> number() {
    YangExpression out{.operation = Operation::number};
    const auto [end, failed] = std::from_chars(text_.data() + next_, text_.data() + text_.size(), out.number,
                                               std::chars_format::fixed);
    if (failed != std::errc()) return unknown("a number that can't be read");
    next_ = static_cast<std::size_t>(end - text_.data());
    return out;
  }

  std::string_view name_ahead() const {
    std::size_t end = next_;
    while (end < text_.size() && is_name_part(text_[end])) ++end;
    return text_.substr(next_, end - next_);
  }
  bool is_call(std::string_view name) const {
    std::size_t at = next_ + name.size();
    while (at < text_.size() && text_[at] == ' ') ++at;
    return !name.empty() && name != "text" && at < text_.size() && text_[at] == '(';
  }

  Result<YangExpression> call(const std::string& name, const lysc_node* context) {
    const auto* const function = std::ranges::find(kFunctions, name, &Function::name);
    if (function == kFunctions.end()) return unknown("the function " + name);
    next_ += name.size();
    (void)take("(");
    YangExpression out{.operation = Operation::call};
    out.text = name;
    while (!take(")")) {
      if (!out.operands.empty() && !take(",")) return unknown("arguments without a comma");
      TRY(YangExpression argument, level(0, context));
      if (!function->of_nodes) TRY_DONE(has_text(argument));
      out.operands.push_back(std::move(argument));
    }
    if (out.operands.size() < function->least || out.operands.size() > function->most)
      return unknown(name + " with " + std::to_string(out.operands.size()) + " arguments");
    if (name == "re-match" && !is_plain_pattern(out.operands[1]))
      return unknown("a pattern that is not plain");
    if (name == "count" && out.operands[0].operation != Operation::path &&
        out.operands[0].operation != Operation::unite)
      return unknown("count of what are no nodes");
    return out;
  }

  Result<YangExpression> path(const lysc_node* context) {
    YangExpression out{.operation = Operation::path};
    if (take("/")) {
      out.start = Start::root;
      return steps(std::move(out), nullptr);
    }
    out.start = Start::context;
    return steps(std::move(out), context);
  }

  Result<YangExpression> steps(YangExpression path, const lysc_node* from) {
    bool at_root = path.start == Start::root;
    do {
      YangStep step;
      if (take("..")) {
        step.axis = Axis::parent;
        if (from == nullptr) return unknown("the parent of the root");
        step.kind = lysc_data_parent(from);
        at_root = step.kind == nullptr;
      } else if (take("text()") || take(".")) {
        step.axis = Axis::self;
        step.kind = from;
      } else {
        skip_blanks();
        const std::string_view name = name_ahead();
        if (name.empty()) return unknown("a step that is no name");
        if (name.find("::") != name.npos) return unknown("the axis of " + std::string(name));
        next_ += name.size();
        step.kind = child_called(from, at_root, name.substr(name.find(':') + 1));
        at_root = false;
      }
      TRY_DONE(predicates(step));
      from = step.kind;
      path.steps.push_back(std::move(step));
    } while (take("/"));
    return path;
  }

  const lysc_node* child_called(const lysc_node* from, bool at_root, std::string_view name) const {
    if (from != nullptr) return child_of(*from, name);
    if (!at_root) return nullptr;
    for (const lys_module* const module : schema_.modules)
      if (name == module->name) return lys_find_child(nullptr, module, module->name, 0, LYS_CONTAINER, 0);
    return nullptr;
  }

  Result<Done> predicates(YangStep& step) {
    while (take("[")) {
      TRY(YangExpression predicate, level(0, step.kind));
      if (!take("]")) return unknown("[ without ]");
      if (predicate.operation == Operation::number) return unknown("a position in [ ]");
      step.predicates.push_back(std::move(predicate));
    }
    if (!step.predicates.empty()) find_lookup(step);
    return Done{};
  }

  static bool depends_on_context(const YangExpression& expression) {
    if (expression.operation == Operation::path) return expression.start == Start::context;
    if (expression.operation == Operation::call && expression.text == "string-length" &&
        expression.operands.empty())
      return true;
    return std::ranges::any_of(expression.operands, depends_on_context);
  }

  // "name = X" or "name = X and ...", in a row of a table.
  static void find_lookup(YangStep& step) {
    if (step.kind == nullptr || step.kind->nodetype != LYS_LIST || step.axis != Axis::child) return;
    const YangExpression* first = &step.predicates.front();
    while (first->operation == Operation::both) first = &first->operands.front();
    if (first->operation != Operation::equal) return;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const YangExpression& leaf = first->operands[side];
      const bool is_leaf = leaf.operation == Operation::path && leaf.start == Start::context &&
                           leaf.steps.size() == 1 && leaf.steps[0].axis == Axis::child &&
                           leaf.steps[0].predicates.empty() && leaf.steps[0].kind != nullptr &&
                           leaf.steps[0].kind->nodetype == LYS_LEAF;
      // A number is compared as a number: its text may be another.
      const YangExpression& other = first->operands[1 - side];
      const bool is_text = other.operation == Operation::path || other.operation == Operation::literal;
      if (!is_leaf || !is_text || depends_on_context(other)) continue;
      step.found_by = leaf.steps[0].kind;
      step.with_operand = 1 - side;
      return;
    }
  }

  std::string_view text_;
  const lysc_node& at_;
  const YangSchema& schema_;
  std::size_t next_ = 0;
};

class Dependencies {
 public:
  explicit Dependencies(const lysc_node& at) : at_(at) {}

  void add(const YangExpression& expression, const lysc_node* context, bool is_outside) {
    for (const YangExpression& operand : expression.operands) add(operand, context, is_outside);
    if (expression.operation != Operation::path) return;
    bool outside = row_kind(&at_) == nullptr || expression.start == Start::root ||
                   (expression.start == Start::context && is_outside);
    const lysc_node* from = expression.start == Start::context ? context : &at_;
    for (const YangStep& step : expression.steps) {
      if (step.axis == Axis::parent && from == row_kind(&at_)) outside = true;
      if (outside && step.axis == Axis::child && step.kind != nullptr) found_.insert(step.kind);
      for (const YangExpression& predicate : step.predicates) add(predicate, step.kind, outside);
      from = step.kind;
    }
  }
  std::vector<const lysc_node*> all() const { return {found_.begin(), found_.end()}; }

 private:
  const lysc_node& at_;
  std::set<const lysc_node*> found_;
};

void add_lookups(const YangExpression& expression, std::vector<const lysc_node*>& out) {
  for (const YangExpression& operand : expression.operands) add_lookups(operand, out);
  for (const YangStep& step : expression.steps) {
    if (step.found_by != nullptr) out.push_back(step.found_by);
    for (const YangExpression& predicate : step.predicates) add_lookups(predicate, out);
  }
}

}  // namespace

Result<YangExpression> parse_yang_expression(std::string_view text, const lysc_node& at,
                                             const YangSchema& schema) {
  return Parser(text, at, schema).whole();
}

std::vector<const lysc_node*> looks_at(const YangExpression& expression, const lysc_node& at) {
  Dependencies all(at);
  all.add(expression, &at, false);
  return all.all();
}

std::vector<const lysc_node*> finds_by(const YangExpression& expression) {
  std::vector<const lysc_node*> out;
  add_lookups(expression, out);
  return out;
}

}  // namespace lockstep::sonic
