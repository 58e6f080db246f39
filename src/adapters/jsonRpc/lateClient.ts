import { err, ok, type Result } from "../../core/util/result.ts";
import type { DaemonError } from "../../ports/daemonRpc.ts";
import type { DaemonClient, DaemonEndpoint } from "./daemonClient.ts";

/**
 * Calls to a daemon whose login is not there yet: each call looks for it until it is, and fails as one to a daemon that is away before.
 *
 * @param find the login, or why there is none, a sentence
 * @param open called once, with the login that was found
 */
export function createLateClient(
  find: () => Promise<Result<DaemonEndpoint, string>>,
  open: (endpoint: DaemonEndpoint) => DaemonClient,
): DaemonClient {
  let client: DaemonClient | null = null;
  let isClosed = false;

  async function reach(): Promise<Result<DaemonClient, DaemonError>> {
    if (client) return ok(client);
    const found = await find();
    if (isClosed) return err({ kind: "unreachable", message: "the connection was closed" });
    if (!found.ok) return err({ kind: "unreachable", message: found.error.replace(/\.$/, "") });
    client ??= open(found.value);
    return ok(client);
  }

  return {
    async call(...args) {
      const reached = await reach();
      return reached.ok ? reached.value.call(...args) : reached;
    },
    async callBatch(calls, options) {
      const reached = await reach();
      return reached.ok ? reached.value.callBatch(calls, options) : calls.map(() => reached);
    },
    close() {
      isClosed = true;
      client?.close();
    },
  };
}
