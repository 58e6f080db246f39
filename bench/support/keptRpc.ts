import { Agent, request } from "node:http";

/** Connections one node is asked over at a time; calls beyond them wait here. A node takes 256. */
const MAX_SOCKETS = 16;
const CALL_TIMEOUT_MS = 60_000;

export type KeptRpc = {
  /** The reply body; a body with `error` rejects with it. */
  call(method: string, params?: Record<string, unknown>): Promise<Record<string, unknown>>;
  close(): void;
};

/** Asks a node over connections that are kept: thousands of calls do not measure how fast connections are made. */
export function keptRpc(url: string, userpass: string): KeptRpc {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });
  return {
    close: () => agent.destroy(),
    call: (method, params = {}) =>
      new Promise((resolve, reject) => {
        const body = JSON.stringify({ userpass, method, ...params });
        const sent = request(url, { agent, method: "POST", timeout: CALL_TIMEOUT_MS }, (response) => {
          const parts: Buffer[] = [];
          response.on("data", (part: Buffer) => parts.push(part));
          response.on("error", reject);
          response.on("end", () => {
            const reply: Record<string, unknown> = JSON.parse(Buffer.concat(parts).toString());
            if (typeof reply.error === "string") reject(new Error(`${method}: ${reply.error}`));
            else resolve(reply);
          });
        });
        sent.on("timeout", () => sent.destroy(new Error(`${method}: no answer within ${CALL_TIMEOUT_MS / 1_000} s`)));
        sent.on("error", reject);
        sent.end(body);
      }),
  };
}
