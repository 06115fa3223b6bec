#include "drivers/linux/diversion/lookup.hpp"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>

namespace lockstep::diversion {
namespace {

using netlink::Request;

Request request_of(const Question& question) {
  Request request(RTM_GETROUTE, NLM_F_REQUEST);
  rtmsg header{};
  header.rtm_family = family_of(question.to);
  header.rtm_dst_len = static_cast<std::uint8_t>(question.to.width());
  if (question.from) header.rtm_src_len = header.rtm_dst_len;
  header.rtm_tos = question.tos;
  // IPv6 always returns the route's own table, and rejects a request for it (net/ipv6/route.c,
  // inet6_rtm_valid_getroute_req).
  header.rtm_flags = question.to.v6 ? RTM_F_FIB_MATCH : RTM_F_LOOKUP_TABLE | RTM_F_FIB_MATCH;
  request.header(header).put(RTA_DST, bytes_of(question.to));
  if (question.from) request.put(RTA_SRC, bytes_of(*question.from));
  if (question.arrives_on != 0) request.put_number(RTA_IIF, question.arrives_on);
  if (question.arrives_on == 0) request.put_number(RTA_UID, std::uint32_t{0});
  if (question.ip_protocol != 0) request.put_number(RTA_IP_PROTO, question.ip_protocol);
  const auto port = [&](std::uint16_t type, std::uint16_t number) {
    if (number != 0) request.put_number(type, std::uint16_t{htons(number)});
  };
  port(RTA_SPORT, question.source_port);
  port(RTA_DPORT, question.destination_port);
  return request;
}

}  // namespace

Result<std::vector<Found>> look_up(netlink::Socket& socket, const std::vector<Question>& questions,
                                   const Call& call) {
  std::vector<Request> requests;
  requests.reserve(questions.size());
  for (const Question& one : questions) requests.push_back(request_of(one));
  std::vector<Found> out(questions.size());
  TRY_DONE(
      socket.ask_all(requests, call, [&](std::size_t at, const netlink::Message& message) -> Result<Done> {
        if (message.type == NLMSG_ERROR) {
          TRY(const netlink::Answer answer, netlink::decode_answer(message));
          out[at].code = answer.code;
          return Done{};
        }
        TRY(out[at].route, decode_route(message.payload));
        return Done{};
      }));
  return out;
}

}  // namespace lockstep::diversion
