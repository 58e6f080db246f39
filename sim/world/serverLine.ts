import type { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { type FaultLimits, FaultList } from "../../src/chain/faultList.ts";
import { err, ok } from "../../src/core/util/result.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { ElectrumEndpoint, ServerStreamHandlers } from "../../src/ports/electrum.ts";
import type { Life } from "./life.ts";
import type { BroadcastHook } from "./simChain.ts";
import { SERVERS, type SimServers } from "./simServers.ts";

/** What a node's own line to all servers of a coin does; daemons know the same. */
export type LineEffect =
  /** Connections end, and none is made. */
  | { readonly kind: "down" }
  /** Nothing arrives. */
  | { readonly kind: "stall" }
  | { readonly kind: "slow"; readonly delayMs: number }
  /** Transactions are refused. */
  | { readonly kind: "refuse" }
  /** Connections end when a broadcast was carried out. */
  | { readonly kind: "lost_reply" };

const BROADCAST = "blockchain.transaction.broadcast";
const DOWN = { why: "nothing listens there" };
/** ElectrumX's code for a transaction the daemon does not want. */
const REFUSED = { code: 1, message: "the transaction was rejected by network rules.\n\nrefused on request" };

/** One node's way to the Electrum servers of one coin, over all its lives. */
export class ServerLine {
  readonly #servers: SimServers;
  readonly #clock: Clock;
  readonly #faults: FaultList<LineEffect>;
  /** How to end each open connection. */
  readonly #open = new Set<(why: string | null) => void>();

  constructor(servers: SimServers, clock: Clock) {
    this.#servers = servers;
    this.#clock = clock;
    this.#faults = new FaultList(clock, () => {
      if (this.#has("down")) this.#endAll("the connection was lost");
    });
  }

  fault(effect: LineEffect, forMs: number, count: number | null = null): void {
    const limits: FaultLimits = { methods: null, count: count === null ? null : count * SERVERS, forMs };
    this.#faults.add({ ...effect, ...limits });
  }

  /** The process is gone, and its connections with it. */
  hangUp(): void {
    this.#endAll(null);
  }

  #endAll(why: string | null): void {
    for (const end of [...this.#open]) end(why);
  }
  #has(kind: LineEffect["kind"]): boolean {
    return this.#faults.size > 0 && this.#faults.ofKind(kind).length > 0;
  }

  /** The servers as one life of the node reaches them. @param hook hears of each transaction once, however many servers get it */
  endpoints(ticker: string, life: Life, hook: BroadcastHook): readonly ElectrumEndpoint[] {
    const sending = new Set<string>();
    const sent = new Set<string>();
    const before = (raw: string): void => {
      if (sending.has(raw)) return;
      sending.add(raw);
      sent.add(raw);
      this.#clock.after(0, () => sending.delete(raw));
      hook(ticker, "before", raw);
    };
    const after = (raw: string): void => {
      if (sent.delete(raw)) hook(ticker, "after", raw);
    };
    return this.#servers.servers.map((server, i) => ({
      name: `server${i}`,
      open: async (handlers) => this.#connect(server, life, handlers, before, after),
    }));
  }

  #connect(
    server: ElectrumServer,
    life: Life,
    handlers: ServerStreamHandlers,
    before: (raw: string) => void,
    after: (raw: string) => void,
  ): Awaited<ReturnType<ElectrumEndpoint["open"]>> {
    if (!life.isAlive || this.#has("down")) return err(DOWN);
    /** Broadcasts on the way, by id of the call. */
    const broadcasts = new Map<number, string>();
    let isOpen = true;
    const end = (why: string | null): void => {
      if (!isOpen) return;
      isOpen = false;
      this.#open.delete(end);
      pipe?.close();
      if (why !== null && life.isAlive) handlers.onClose(why);
    };
    const deliver = (bytes: Uint8Array): void => {
      if (!isOpen || !life.isAlive) return;
      const raw = broadcasts.size > 0 ? answeredOf(bytes, broadcasts) : null;
      if (raw !== null) after(raw);
      if (!life.isAlive) return;
      if (raw !== null && this.#faults.use("lost_reply", [])) end("the connection was lost");
      else handlers.onBytes(bytes);
    };
    const pipe = server.connect({
      data: (bytes) => {
        if (this.#has("stall")) return;
        const slow = this.#faults.find("slow", []);
        if (slow) this.#clock.after(slow.delayMs, () => deliver(bytes));
        else deliver(bytes);
      },
      closed: () => end("it closed the connection"),
    });
    if (pipe === null) return err(DOWN);
    this.#open.add(end);
    return ok({
      send: (line) => {
        if (!isOpen || !life.isAlive) return false;
        const call = line.includes(BROADCAST) ? (JSON.parse(line) as { id: number; params: readonly string[] }) : null;
        const raw = call?.params[0];
        if (call && raw !== undefined) {
          before(raw);
          if (!life.isAlive) return false;
          broadcasts.set(call.id, raw);
          if (this.#has("refuse")) {
            const said = Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id: call.id, error: REFUSED })}\n`, "utf8");
            queueMicrotask(() => deliver(said));
            return true;
          }
        }
        if (!this.#has("stall")) pipe.write(Buffer.from(`${line}\n`, "utf8"));
        return true;
      },
      close: () => end(null),
    });
  }
}

/** The broadcast a line answers; null: it is about something else. */
function answeredOf(bytes: Uint8Array, broadcasts: Map<number, string>): string | null {
  const { id } = JSON.parse(Buffer.from(bytes).toString("utf8")) as { id?: number };
  const raw = id === undefined ? undefined : broadcasts.get(id);
  if (id === undefined || raw === undefined) return null;
  broadcasts.delete(id);
  return raw;
}
