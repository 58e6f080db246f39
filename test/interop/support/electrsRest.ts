import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** What electrs needs of a daemon: its calls, and its REST with two answers that only Bitcoin Core 31 has. */
export type RestFront = {
  readonly port: number;
  /** Resolves when the mempool is asked for, which is once all blocks are indexed. A question to electrs before that is its end. */
  readonly caughtUp: Promise<void>;
  close(): Promise<void>;
};

type Prevout = { readonly value: number; readonly scriptPubKey: { readonly hex: string } };
type BlockTx = { readonly vin: readonly { readonly txid?: string; readonly vout?: number }[] };

const UNITS = 100_000_000;

function compactSize(n: number): Buffer {
  if (n < 0xfd) return Buffer.of(n);
  const wide = Buffer.of(0xfd, 0, 0);
  wide.writeUInt16LE(n, 1);
  return wide;
}

function outputBytes({ value, scriptPubKey }: Prevout): Buffer {
  const units = Buffer.alloc(8);
  units.writeBigUInt64LE(BigInt(Math.round(value * UNITS)));
  const script = Buffer.from(scriptPubKey.hex, "hex");
  return Buffer.concat([units, compactSize(script.length), script]);
}

/**
 * Stands before a daemon that has a transaction index and REST. Adds `/rest/spenttxouts` (bitcoin/bitcoin pull request 32540: the outputs that each
 * transaction of a block spends, counted and one after another) and `/rest/blockpart` (33657: some bytes of a block).
 */
export async function startElectrsRest(daemonUrl: string): Promise<RestFront> {
  const { origin, username, password } = new URL(daemonUrl);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;

  const post = (body: string): Promise<Response> => fetch(origin, { method: "POST", headers: { authorization }, body });
  async function call<T>(method: string, params: readonly unknown[]): Promise<T> {
    const told = (await (await post(JSON.stringify({ id: 0, method, params }))).json()) as { result: T };
    return told.result;
  }

  const rest = async (path: string): Promise<Buffer | null> => {
    const reply = await fetch(`${origin}${path}`);
    const body = Buffer.from(await reply.arrayBuffer());
    return reply.ok ? body : null;
  };

  async function spentOutputs(hash: string): Promise<Buffer> {
    const { tx: txs } = await call<{ tx: readonly BlockTx[] }>("getblock", [hash, 2]);
    const parts: Buffer[] = [compactSize(txs.length)];
    for (const { vin } of txs) {
      const spent = vin.flatMap(({ txid, vout }) => (txid === undefined || vout === undefined ? [] : [{ txid, vout }]));
      parts.push(compactSize(spent.length));
      for (const { txid, vout } of spent) {
        const { vout: outputs } = await call<{ vout: readonly Prevout[] }>("getrawtransaction", [txid, true]);
        const output = outputs[vout];
        if (!output) throw new Error(`${txid} has no output ${vout}`);
        parts.push(outputBytes(output));
      }
    }
    return Buffer.concat(parts);
  }

  async function read(url: URL): Promise<Buffer | null> {
    const [, hash] = url.pathname.match(/^\/rest\/(?:spenttxouts|blockpart)\/([0-9a-f]{64})\.bin$/) ?? [];
    if (hash === undefined) return rest(url.pathname);
    if (url.pathname.startsWith("/rest/spenttxouts")) return spentOutputs(hash);
    const block = await rest(`/rest/block/${hash}.bin`);
    const [offset, size] = [Number(url.searchParams.get("offset")), Number(url.searchParams.get("size"))];
    return block === null ? null : block.subarray(offset, offset + size);
  }

  let catchUp = (): void => undefined;
  const caughtUp = new Promise<void>((resolve) => {
    catchUp = resolve;
  });

  /** Older daemons than Bitcoin Core 0.20 take no null for an argument that is left out. */
  async function pass(asked: string, reply: ServerResponse): Promise<void> {
    const answer = await post(asked.replaceAll(",null]", "]"));
    const body = Buffer.from(await answer.arrayBuffer());
    // electrs takes no reply in chunks.
    reply.writeHead(answer.status, { "content-type": "application/json", "content-length": body.length }).end(body);
    if (asked.includes('"getrawmempool"')) catchUp();
  }

  async function serve(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
    if (incoming.method === "POST") return pass(await text(incoming), reply);
    const bytes = await read(new URL(incoming.url ?? "/", origin));
    reply.writeHead(bytes ? 200 : 404).end(bytes ?? undefined);
  }

  const server = createServer((incoming, reply) => {
    serve(incoming, reply).catch((cause: unknown) => reply.writeHead(503).end(String(cause)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    caughtUp,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
