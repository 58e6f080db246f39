/** A small client of a node's RPC, for the private network and the demo. */
export type RpcClient = {
  readonly url: string;
  readonly userpass: string;
  /** The reply body; an HTTP error or a body with `error` rejects with a sentence that holds it. */
  call(method: string, params?: Record<string, unknown>): Promise<Record<string, unknown>>;
};

const CALL_TIMEOUT_MS = 30_000;

export function createRpcClient(url: string, userpass: string): RpcClient {
  return {
    url,
    userpass,
    async call(method, params = {}) {
      const response = await fetch(url, {
        method: "POST",
        // A node that is started again answers at the same address: a connection kept from its former life would be reset.
        headers: { connection: "close" },
        body: JSON.stringify({ userpass, method, ...params }),
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      });
      const reply = (await response.json()) as Record<string, unknown>;
      if (typeof reply.error === "string") throw new Error(`${method}: ${reply.error}`);
      if (!response.ok) throw new Error(`${method}: HTTP ${response.status}`);
      return reply;
    },
  };
}
