import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Secret } from "../../core/util/secret.ts";
import type { ReadMetrics } from "../../ports/metrics.ts";
import { DEFAULT_LIMITS } from "./limits.ts";
import { prometheusText } from "./prometheusText.ts";
import { type GateOptions, refusal } from "./requestGate.ts";

export type PrometheusOptions = {
  readonly ip: string;
  /** 0 = any free port. */
  readonly port: number;
  /** `user:password`; null = everybody who reaches the address. */
  readonly credentials: Secret<string> | null;
  /** Further names this node may be called by. */
  readonly altNames: readonly string[];
};

export type PrometheusServer = { readonly url: string; close(): Promise<void> };

/** A monitor or two and their retries. */
const MAX_CONNECTIONS = 16;

const sha256 = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();

/** Digests have one length, so that neither the length nor a common beginning shows in the time taken. */
function isAllowed(header: string | undefined, credentials: Secret<string> | null): boolean {
  if (credentials === null) return true;
  const given = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(header ?? "")?.[1] ?? "";
  return timingSafeEqual(sha256(Buffer.from(given, "base64").toString("utf8")), sha256(credentials.reveal()));
}

/**
 * Answers `GET /metrics` with the node's values in Prometheus' text format, on an address of its own. Pages of browsers are
 * refused as by the RPC. Rejects when the address cannot be bound.
 */
export async function openPrometheus(read: ReadMetrics, options: PrometheusOptions): Promise<PrometheusServer> {
  const { ip, credentials } = options;
  const gate: GateOptions = { listenIp: ip, altNames: options.altNames, corsOrigin: "" };
  const answer = (response: ServerResponse, status: number, text: string): void => {
    response.statusCode = status;
    response.setHeader("Content-Type", status === 200 ? "text/plain; version=0.0.4; charset=utf-8" : "text/plain");
    response.setHeader("X-Content-Type-Options", "nosniff");
    // What is still to come of a refused request is not read.
    if (status !== 200) response.setHeader("Connection", "close");
    response.end(text);
  };
  const server = createServer(
    {
      maxHeaderSize: DEFAULT_LIMITS.headerBytes,
      headersTimeout: DEFAULT_LIMITS.headersTimeoutMs,
      requestTimeout: DEFAULT_LIMITS.requestTimeoutMs,
      keepAliveTimeout: DEFAULT_LIMITS.keepAliveTimeoutMs,
      requireHostHeader: false,
    },
    (request: IncomingMessage, response) => {
      const refused = refusal(request.headers, gate);
      if (refused !== undefined) return answer(response, 403, refused);
      if (!isAllowed(request.headers.authorization, credentials)) {
        response.setHeader("WWW-Authenticate", 'Basic realm="metrics"');
        return answer(response, 401, "prometheus_credentials are needed");
      }
      if (request.url?.split("?")[0] !== "/metrics") return answer(response, 404, "the metrics are at /metrics");
      if (request.method !== "GET") return answer(response, 405, "only GET");
      answer(response, 200, prometheusText(read()));
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, ip, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : options.port;
  return {
    url: `http://${ip.includes(":") ? `[${ip}]` : ip}:${port}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
