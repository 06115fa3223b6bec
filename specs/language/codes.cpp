#include "specs/language/codes.hpp"

namespace lockstep {
namespace {

constexpr CodeRow rows[] = {
    {code::unreadable, "a path that is named can be read", "what was not read cannot be said to be in force"},
    {code::no_specs, "a folder holds at least one *.yaml or *.yml file, and one of these an object",
     "an empty checkout must not look like a cluster without devices"},
    {code::too_large, "a file is at most 16 MiB, all together 4 GiB",
     "memory and time stay bounded whatever is committed"},
    {code::not_utf8, "a file is UTF-8", "a YAML stream has one encoding; columns and names would be guesses"},
    {code::control_character,
     "no control characters and none that hide or reorder text, written or escaped; line breaks and tabs in "
     "no "
     "text but an annotation's",
     "what a reviewer sees must be what is applied, and a terminal must not obey it (UTS #55)"},
    {code::syntax, "a file is YAML, an inventory CSV (RFC 4180)", "what cannot be parsed cannot be checked"},
    {code::too_deep, "nesting is at most 64 deep", "a parser's stack must not depend on its input"},
    {code::too_many_nodes,
     "a document is at most 1,000,000 nodes, aliases expanded, a file 4,000,000; an inventory 1,000,000 "
     "cells",
     "a few lines of aliases can stand for billions of nodes"},
    {code::cyclic_alias, "an alias names an anchor that is complete", "a value cannot contain itself"},
    {code::merge_key, "no merge keys (<<)", "they are not YAML 1.2, and hide which line a value comes from"},
    {code::duplicate_key, "a key is written once in a map, a column once in an inventory",
     "which of the two holds would depend on the parser"},
    {code::tag, "no tags (!!str, !Ref)", "types follow from the field; quote a scalar to make it text"},
    {code::key_not_scalar, "a key is one word or one quoted text",
     "no field has a list or a map for its name"},
    {code::not_a_map, "a document is one object: a map with apiVersion, kind, metadata and spec",
     "nothing else can be loaded"},
    {code::too_many_errors, "at most 1,000 errors are shown", "after these the rest is rarely news"},

    {code::unknown_kind, "kind is one that lockstep knows",
     "an object that is not understood is not in force"},
    {code::unknown_field, "a field is one that the kind has",
     "a misspelt field would be left out without a word"},
    {code::missing_field, "a required field is written", "there is no default that would be right"},
    {code::wrong_type, "a value has its field's type", "only unquoted scalars are numbers, booleans or null"},
    {code::unknown_api_version, "apiVersion is lockstep.dev/v1alpha1",
     "another version may mean other things"},
    {code::bad_quantity,
     "a quantity is a number with its unit; a day, an address or a range has its field's form",
     "150 could be bytes, cells or kilobytes"},
    {code::out_of_range, "a number is in its field's range", "no device could hold it"},
    {code::bad_hostlist, "names are a hostlist, such as gpu[001-512]", "every name must be known before use"},
    {code::unknown_word, "a word is one of those that the field has", "a misspelt word would mean nothing"},
    {code::fields_conflict, "fields that exclude or need each other are written so",
     "either of two would have to win silently"},
    {code::bad_name,
     "an object's name is letters, digits, '-', '_' and '.', at most 253, not starting or ending with these; "
     "a "
     "device's a host name (RFC 1123); a Linux interface's at most 15 characters without '/'; no name is "
     "empty",
     "names become host names, file names, URLs and Kubernetes object names"},
    {code::status_written, "status is written by the reconciler only",
     "what a person writes there has no effect"},
    {code::secret_written, "a secret is named (systemd:, file: or env:), never written",
     "specs are committed and shown"},
    {code::written_twice, "a list of unique things holds each once",
     "the second would overrule the first silently"},
    {code::class_overlap, "a DSCP, a priority and a tc belong to one class",
     "a packet is put into exactly one queue"},
    {code::bandwidth_sum, "the bandwidth shares of the weighted classes sum to 100%",
     "IEEE 802.1Qaz 37.3: an ETS table that does not is refused by the device"},
    {code::slo_mismatch,
     "an SLO bounds a metric of its workload once, in the metric's unit and direction, by what can be "
     "reached",
     "a latency in Gbps can neither hold nor fail, nor can what is not measured; more than 100% of nominal "
     "never holds, and 0bps always does"},
    {code::timers, "timers are whole seconds; hold is 0 or at least 3 s, and more than keepalive",
     "RFC 4271 4.2, 4.4; a session would drop between two keepalives"},
    {code::bad_prefix,
     "a pool is a network address of single hosts, of the family said, and overlaps no other pool; a gateway "
     "is in its "
     "subnet",
     "two devices would be given one address, or one that is out of their reach"},
    {code::rollout_incomplete, "waves grow and end at 100%",
     "devices behind the last wave would never change"},
    {code::no_default_class, "a profile has a class called `default`, for the DSCPs that no class names",
     "a packet of any DSCP is put into some queue"},
    {code::no_effect, "a field is one that lockstep acts on (told by `validate` alone)",
     "what is written there has no effect yet: nothing reads it"},
    {code::not_as_reported, "an exception under `allow` names what it allows as a drift report does",
     "in other words it would never match"},
    {code::by_hand, "a setting of a NIC's firmware is one that lockstep sets (told by `validate` alone)",
     "of all others it says what a person has to do"},

    {code::duplicate_object, "a kind and name are used once", "which of two objects holds would be chance"},
    {code::dangling_reference, "an object that is named exists", "it would be taken as not asked for"},
    {code::unknown_device, "a device that is named is in a DeviceSet",
     "nothing would be done, without a word"},
    {code::device_twice, "a device is in one DeviceSet", "it would have two roles and two ways to reach it"},
    {code::selects_nothing, "a selector matches a device", "what it selects for would apply nowhere"},
    {code::unknown_interface, "an interface that is cabled is one that its DeviceSet lists",
     "the cable would end nowhere"},
    {code::second_cluster, "there is one Cluster object", "what is true of the whole is said once"},
    {code::too_many_names, "all hostlists together stand for at most 1,000,000 names",
     "memory and time stay bounded"},
    {code::no_entries, "overrides and raw stand in an object that covers devices",
     "they would be left out without a word"},
    {code::not_read, "an inventory is one that lockstep can read",
     "its devices would be missing without a word"},
    {code::two_local, "at most one device is this machine (connect: {local: true})",
     "what two devices want would go into one kernel"},
};

}  // namespace

std::span<const CodeRow> language_codes() { return rows; }

const CodeRow* find_code(std::string_view code) {
  for (const CodeRow& row : rows)
    if (row.code == code) return &row;
  return nullptr;
}

}  // namespace lockstep
