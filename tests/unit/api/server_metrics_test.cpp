// /metrics over HTTP: who may read it, and that what the API does is counted there.
#include "reconciler/metrics/service_metrics.hpp"
#include "server_fixture.hpp"

namespace lockstep::api {
namespace {

class ServerMetrics : public ApiServerTest {
 protected:
  ServerMetrics() { settings_.metrics = &metrics_; }
  bool has(const std::string& line) {
    return ("\n" + client("viewer").get("/metrics").body).find("\n" + line + "\n") != std::string::npos;
  }

  ServiceMetrics metrics_{"1.2.3", "abc"};
};

TEST_F(ServerMetrics, AreForViewers) {
  start();
  EXPECT_EQ(client().get("/metrics").status, 401);
  ApiClient stranger(port());
  EXPECT_EQ(stranger.as("guessed").get("/metrics").status, 401);
  const Reply reply = client("viewer").get("/metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(reply.body.find("\n# TYPE lockstep_leading gauge\nlockstep_leading 1\n"), std::string::npos)
      << reply.body;
  // As Prometheus 2.42 asks.
  EXPECT_EQ(client("viewer")
                .get("/metrics",
                     "Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
                     "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n")
                .status,
            200);
  EXPECT_EQ(client("viewer").post("/metrics", "{}").status, 405);
}

TEST_F(ServerMetrics, AreNotFoundWhereThereAreNone) {
  settings_.metrics = nullptr;
  start();
  EXPECT_EQ(client("viewer").get("/metrics").status, 404);
}

TEST_F(ServerMetrics, CountWhatTheApiAnswers) {
  start();
  client("viewer").get("/api/v1alpha1/devices");
  client("viewer").get("/api/v1alpha1/devices");
  client("viewer").get("/api/v1alpha1/devices/no-such");
  client().get("/api/v1alpha1/devices");
  client("viewer").post("/api/v1alpha1/clusters/pod1:resume", "{}");
  client("viewer").get("/healthz", "", "BREW");
  ApiClient wrong(port());
  wrong.send("no HTTP at all\r\n\r\n");
  EXPECT_TRUE(has("lockstep_api_requests_total{code=\"200\",verb=\"GET\"} 2"));
  EXPECT_TRUE(has("lockstep_api_requests_total{code=\"404\",verb=\"GET\"} 1"));
  EXPECT_TRUE(has("lockstep_api_requests_total{code=\"401\",verb=\"GET\"} 1"));
  EXPECT_TRUE(has("lockstep_api_requests_total{code=\"403\",verb=\"POST\"} 1"));
  EXPECT_TRUE(has("lockstep_api_requests_total{code=\"405\",verb=\"other\"} 1"));
  EXPECT_TRUE(soon_holds([&] { return has("lockstep_api_requests_total{code=\"400\",verb=\"other\"} 1"); }));
}

TEST_F(ServerMetrics, CountWatchersWhileTheyWatch) {
  start();
  {
    ApiClient watching = client("viewer");
    watching.send(
        "GET /api/v1alpha1/devices?watch=1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer viewer\r\n\r\n");
    ASSERT_EQ(watching.head().status, 200);
    EXPECT_TRUE(soon_holds([&] { return has("lockstep_api_watchers 1"); }));
    EXPECT_TRUE(has("lockstep_api_requests_total{code=\"200\",verb=\"WATCH\"} 1"));
  }
  EXPECT_TRUE(soon_holds([&] { return has("lockstep_api_watchers 0"); }));
}

}  // namespace
}  // namespace lockstep::api
