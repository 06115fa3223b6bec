// YangExpression: an XPath 1.0 expression of a YANG model (must, when, path), whose steps are resolved to
// nodes of the models, so that it is known without data what it depends on.
//
// Promises: means what RFC 7950 §6.4 and XPath 1.0 (W3C, 1999) say. Refuses (unsupported), naming it, what
// SONiC's models do not use: axes but child, parent and self, wildcards, position(), the text of a node that
// has no value, and functions that are not listed here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drivers/sonic/yang_node.hpp"
#include "drivers/sonic/yang_schema.hpp"
#include "specs/model/result.hpp"

namespace lockstep::sonic {

enum class YangOperation : std::uint8_t {
  either,
  both,
  equal,
  not_equal,
  less,
  at_most,
  greater,
  at_least,
  add,
  subtract,
  multiply,
  divide,
  modulo,
  negate,
  unite,
  literal,
  number,
  call,
  path,
};

struct YangExpression;

struct YangStep {
  enum class Axis : std::uint8_t { child, parent, self };
  Axis axis = Axis::child;
  const lysc_node* kind = nullptr;  // of the nodes that it leads to; null: the root, or no node of the models
  std::vector<YangExpression> predicates;
  // The first predicate compares this leaf of a row with an expression that does not depend on the row, so
  // that rows can be found by the leaf's value: the operand's number in that comparison.
  const lysc_node* found_by = nullptr;
  std::size_t with_operand = 0;
};

struct YangExpression {
  enum class Start : std::uint8_t { root, context, current };
  YangOperation operation = YangOperation::literal;
  std::vector<YangExpression> operands = {};
  std::string text = {};  // of a literal; of a call, the function's name
  double number = 0;      // of a number
  Start start = Start::context;
  std::vector<YangStep> steps = {};
};

// `at`: the node of the models that it is evaluated for.
Result<YangExpression> parse_yang_expression(std::string_view text, const lysc_node& at,
                                             const YangSchema& schema);

// The nodes of the models whose instances outside the row of `at` it looks at: a change of theirs may change
// its outcome. A list is there for its rows as such.
std::vector<const lysc_node*> looks_at(const YangExpression& expression, const lysc_node& at);
// The leaves by which it finds rows.
std::vector<const lysc_node*> finds_by(const YangExpression& expression);

// Rows of tables by the values of one of their leaves.
class YangLookup {
 public:
  virtual ~YangLookup() = default;
  // Null: none has the value.
  virtual const std::vector<const YangNode*>* rows_by(const lysc_node* leaf,
                                                      const std::string& value) const = 0;
  // Whether a default applies: the rules on its presence (when) hold.
  virtual bool applies(const YangNode& implied) const = 0;
};

bool holds(const YangExpression& expression, const YangNode& node, const YangLookup& lookup);
// Of a path: what it leads to.
std::vector<const YangNode*> nodes_of(const YangExpression& expression, const YangNode& node,
                                      const YangLookup& lookup);

}  // namespace lockstep::sonic
