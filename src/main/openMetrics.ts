import { openPrometheus } from "../adapters/httpServer/openPrometheus.ts";
import type { NodeConfig } from "../config/nodeConfig.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { ReadMetrics } from "../ports/metrics.ts";
import { listenRefused } from "./listenRefused.ts";

/**
 * Tells what the node measures where the configuration wants it: at Prometheus' address, and in the log.
 * @returns ends both
 */
export async function openMetrics(
  read: ReadMetrics,
  { metrics, rpc }: Pick<NodeConfig, "metrics" | "rpc">,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<() => Promise<void>> {
  const { port, credentials, logSec } = metrics;
  const server =
    port === null
      ? null
      : await openPrometheus(read, { ip: rpc.ip, port, credentials, altNames: rpc.altNames }).catch((cause: unknown) => {
          throw listenRefused(`prometheusport ${port} cannot be opened on ${rpc.ip}`, cause);
        });
  if (server) log.info("prometheus_open", { url: server.url });
  let cancel: () => void = () => undefined;
  const schedule = (seconds: number): void => {
    cancel = clock.after(seconds * 1_000, () => {
      log.info("metrics", Object.fromEntries(read().map(({ key, labels, value }) => [[key, ...Object.values(labels)].join("."), value])));
      schedule(seconds);
    });
  };
  if (logSec !== null) schedule(logSec);
  return async () => {
    cancel();
    await server?.close();
  };
}
