import type { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";

/** A client's view of JSON. */
// biome-ignore lint/suspicious/noExplicitAny: reading fields of any shape is what a client does
export type Json = any;

/** A client without checks over the bytes of a connection: one answer per call, everything else kept in `told`. */
export function electrumClient(open: (peer: { data: (bytes: Uint8Array) => void; closed: () => void }) => (bytes: Uint8Array) => void) {
  let text = "";
  let nextId = 1;
  const waiting = new Map<number, (answer: Json) => void>();
  const told: Json[] = [];
  const state = { closed: false };
  const write = open({
    data: (bytes) => {
      text += Buffer.from(bytes).toString("utf8");
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const message = JSON.parse(line);
        const take = waiting.get(message.id);
        waiting.delete(message.id);
        if (take) take(message);
        else told.push(message);
      }
    },
    closed: () => {
      state.closed = true;
      for (const take of waiting.values()) take({ error: { code: 0, message: "closed" } });
      waiting.clear();
    },
  });
  const send = (value: unknown): void => write(Buffer.from(`${typeof value === "string" ? value : JSON.stringify(value)}\n`));
  /** The whole answer. */
  const request = (method: string, ...params: readonly unknown[]): Promise<Json> =>
    new Promise((resolve) => {
      waiting.set(nextId, resolve);
      send({ jsonrpc: "2.0", id: nextId++, method, params });
    });
  /** The result; an error as "code message". */
  const call = async (method: string, ...params: readonly unknown[]): Promise<Json> => {
    const answer = await request(method, ...params);
    return answer.error ? `${answer.error.code} ${answer.error.message}` : answer.result;
  };
  return { call, request, send, told, state, write };
}

/** Such a client in the server's process, its version told. */
export async function pipedClient(server: ElectrumServer) {
  const client = electrumClient((peer) => {
    const pipe = server.connect(peer);
    if (!pipe) throw new Error("the server takes no connection");
    return pipe.write;
  });
  await client.call("server.version", "test", ["1.4", "1.4.2"]);
  return client;
}
