import type { ChainDaemon } from "../../src/chain/daemon.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { err, ok } from "../../src/core/util/result.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { ElectrumEndpoint, ServerStream, ServerStreamHandlers } from "../../src/ports/electrum.ts";
import { inProcess } from "../contract/electrumChain.ts";
import type { FaultyRpc } from "./faultyRpc.ts";

/** Blocks the lagging server is behind; it tells what they hold as unconfirmed. */
const LAG_BLOCKS = 2;
/** The stalling server answers nothing for so long, then as long everything. */
const STALL_MS = 40_000;
/** How long the lying server denies a transaction after it first entered the mempool: into its second block at the latest. */
const DENIED_MS = 25_000;
/** Coins per 1000 bytes, a thousand times the truth. */
const FALSE_FEE = 0.01;
/** Transactions it denies at a time; an embedded server takes 100 faults. */
const MAX_DENIED = 80;
/** ElectrumX's codes for a daemon that does not want a transaction, and for one that does not answer. */
const REFUSED_CODE = 1;
const BUSY_CODE = -32603;

/** What a test has the daemon say in place of its own, as a server in front of this daemon would pass it on. */
const PASSED_ON: { readonly [method: string]: string } = {
  "blockchain.transaction.broadcast": "sendrawtransaction",
  "blockchain.estimatefee": "estimatesmartfee",
};

/** Five servers of one chain, of which one lies, one stalls and one lags: what the first says of the last block, most of them say. */
export class ElectrumBackend {
  readonly #servers: readonly { readonly name: string; readonly server: ElectrumServer }[];
  readonly #undo: (() => void)[] = [];

  constructor(daemon: ChainDaemon, clock: Clock) {
    const made = (name: string) => ({ name, server: new ElectrumServer(daemon, clock) });
    const [liar, staller, laggard] = [made("liar"), made("staller"), made("laggard")];
    this.#servers = [liar, made("first"), staller, made("second"), laggard];
    laggard.server.faults.add({ kind: "lag", blocks: LAG_BLOCKS });
    this.#stall(staller.server, clock);
    this.#lie(liar.server, daemon);
  }

  #stall({ faults }: ElectrumServer, clock: Clock): void {
    let cancel: () => void = () => undefined;
    const turn = (): void => {
      if (faults.has("stall")) faults.clear();
      else faults.add({ kind: "stall" });
      cancel = clock.after(STALL_MS, turn);
    };
    turn();
    this.#undo.push(() => cancel());
  }

  /** It denies what is new, takes transactions and keeps them to itself, and names fees nobody should pay: nothing that could be disproven. */
  #lie({ faults }: ElectrumServer, { chain }: ChainDaemon): void {
    faults.add({ kind: "swallow_broadcast" });
    faults.add({ kind: "false_fee", rate: FALSE_FEE });
    const denied = new Set<string>();
    this.#undo.push(
      chain.onChange(() => {
        for (const { chainTx } of chain.mempool.graph.entries()) {
          if (denied.has(chainTx.txid) || faults.ofKind("hide").length >= MAX_DENIED) continue;
          denied.add(chainTx.txid);
          faults.add({ kind: "hide", txid: chainTx.txid, forMs: DENIED_MS });
        }
      }),
    );
  }

  /** The servers as one side reaches them; while its daemon is away they are. */
  endpoints(rpc: FaultyRpc): readonly ElectrumEndpoint[] {
    return this.#servers.map(({ name, server }) => {
      const { open } = inProcess(name, () => server);
      return { name, open: (handlers, signal) => (rpc.down ? Promise.resolve(away) : faulty(rpc, handlers, (h) => open(h, signal))) };
    });
  }

  close(): void {
    for (const undo of this.#undo.splice(0)) undo();
    for (const { server } of this.#servers) server.close();
  }
}

const away = err({ why: "nothing listens there" });

async function faulty(
  rpc: FaultyRpc,
  handlers: ServerStreamHandlers,
  open: (handlers: ServerStreamHandlers) => ReturnType<ElectrumEndpoint["open"]>,
): ReturnType<ElectrumEndpoint["open"]> {
  const opened = await open(handlers);
  if (!opened.ok) return opened;
  const close = (): void => {
    rpc.onDown.delete(lose);
    opened.value.close();
  };
  const lose = (): void => {
    close();
    handlers.onClose("the connection was lost");
  };
  rpc.onDown.add(lose);
  const stream: ServerStream = {
    send(line) {
      const { id, method, params } = JSON.parse(line) as { id: number; method: string; params: readonly unknown[] };
      const asked = PASSED_ON[method];
      if (asked !== undefined) rpc.counts.set(asked, (rpc.counts.get(asked) ?? 0) + 1);
      const instead = asked === undefined ? null : (rpc.instead.get(asked) ?? rpc.judge?.(asked, params) ?? null);
      if (instead === null) return opened.value.send(line);
      const said = instead.ok
        ? { result: (instead.value as { feerate: number }).feerate }
        : { error: { code: instead.error.kind === "rpc" ? REFUSED_CODE : BUSY_CODE, message: instead.error.message } };
      queueMicrotask(() => handlers.onBytes(Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id, ...said })}\n`, "utf8")));
      return true;
    },
    close,
  };
  return ok(stream);
}
