import { ownClaim, type Role, type Slot, type StoredEvent, type SwapEvent, type SwapTerms } from "../../src/core/swap/events.ts";
import { begin, type SwapState, step, versionsOf } from "../../src/core/swap/swapState.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { SqlStatement } from "../../src/ports/sql.ts";

/** One side of a swap as its node's disk has it. */
export type SwapSide = {
  readonly node: string;
  readonly role: Role;
  readonly terms: SwapTerms;
  state: SwapState;
  /** Everything ever stored, also what a restored backup does not have any more. */
  readonly history: { readonly worldMs: number; readonly stored: StoredEvent }[];
  finishedMs: number | null;
  /** The node's disk went back to a time before the swap: nobody there can know of it. */
  isForgotten: boolean;
};

/** A swap as the simulator knows it, from both nodes' disks. */
export type SwapRecord = {
  readonly uuid: string;
  readonly startedMs: number;
  readonly sides: { maker?: SwapSide; taker?: SwapSide };
  /** Faults beyond the envelope that befell it. */
  readonly outside: Set<number>;
  /** One of them set a clock wrong or a disk back: what this node takes for now, or for its start, is not. */
  isTimeWrong: boolean;
  /** Nodes that most of the nodes they ask told heights above the true ones: everything looked final to them. */
  readonly misled: Set<string>;
};

export type Signed = { readonly node: string; readonly uuid: string; readonly slot: Slot; readonly txid: string };

const INSERT = "INSERT INTO swap_events";
const INSERT_ACCOUNT_TX = "INSERT INTO account_txs";

/** Events in a batch of the store. */
function eventsOf(batch: readonly SqlStatement[]): readonly { readonly uuid: string; readonly stored: StoredEvent }[] {
  return batch.flatMap(({ sql, params }) => {
    const [uuid, , json] = params ?? [];
    return sql.startsWith(INSERT) && typeof uuid === "string" && typeof json === "string"
      ? [{ uuid, stored: JSON.parse(json) as StoredEvent }]
      : [];
  });
}

/** Transactions of account chains that a batch stores outside the logs of swaps, in hex. */
export const accountTxsOf = (batch: readonly SqlStatement[]): readonly string[] =>
  batch.flatMap(({ sql, params = [] }) =>
    sql.startsWith(INSERT_ACCOUNT_TX) ? params.flatMap((param) => (param instanceof Uint8Array ? toHex(param) : [])) : [],
  );

/** An own transaction in an event: signed here, or bumped. What the other side made is told by type. */
export const ownTxOf = (e: SwapEvent): { readonly slot: Slot; readonly txid: string; readonly raw: string } | null =>
  e.type !== "tx_received" && e.type !== "tx_seen" && "raw" in e && "slot" in e && "txid" in e
    ? (e as { slot: Slot; txid: string; raw: string })
    : null;

/** All swaps of a run, by what is durable on the disks of the nodes, and every transaction they signed. */
export class SwapBook {
  readonly swaps = new Map<string, SwapRecord>();
  /** Stored own transactions by their bytes in hex. */
  readonly signed = new Map<string, Signed>();
  readonly byTxid = new Map<string, Signed>();
  readonly #bySlot = new Map<string, string[]>();
  /** Swaps with a side that is not finished. */
  readonly open = new Set<string>();
  /** Swaps with a side that has its success from a claim which a reorganisation took out of its block: its node goes on until that is there again, or decides otherwise. */
  readonly undone = new Set<string>();

  /** @returns the events the batch made durable */
  onStored(
    node: string,
    batch: readonly SqlStatement[],
    worldMs: number,
  ): readonly { readonly swap: SwapRecord; readonly side: SwapSide; readonly event: SwapEvent }[] {
    return eventsOf(batch).map(({ uuid, stored }) => {
      const { event } = stored;
      const { swap, side } = this.#sideOf(node, uuid, event, worldMs);
      side.history.push({ worldMs, stored });
      side.state = side.history.length === 1 ? side.state : step(side.state, event);
      const own = ownTxOf(event);
      if (own) {
        const signed = { node, uuid, slot: own.slot, txid: own.txid };
        this.signed.set(own.raw, signed);
        if (!this.byTxid.has(own.txid)) this.#bySlot.set(`${uuid} ${own.slot}`, [...this.signedFor(uuid, own.slot), own.txid]);
        this.byTxid.set(own.txid, signed);
      }
      if (event.type === "finished") side.finishedMs = worldMs;
      this.#count(swap);
      return { swap, side, event };
    });
  }

  /** Ids of everything that was ever signed for a slot. */
  signedFor(uuid: string, slot: Slot): readonly string[] {
    return this.#bySlot.get(`${uuid} ${slot}`) ?? [];
  }

  /** A transaction is in a block under another id. */
  isOther(txid: string, other: string): void {
    const signed = this.byTxid.get(txid);
    if (!signed || this.byTxid.has(other)) return;
    this.byTxid.set(other, { ...signed, txid: other });
    this.#bySlot.set(`${signed.uuid} ${signed.slot}`, [...this.signedFor(signed.uuid, signed.slot), other]);
  }

  /** Whether the node that signed a transaction has it on its disk: one that was put back to a backup may not. */
  isRemembered(txid: string): boolean {
    const signed = this.byTxid.get(txid);
    const side = signed && Object.values(this.swaps.get(signed.uuid)?.sides ?? {}).find(({ node }) => node === signed.node);
    if (!side || side.isForgotten) return false;
    return Object.values(side.state.own).some((tx) => versionsOf(tx).some((v) => v.txid === txid));
  }

  #sideOf(node: string, uuid: string, event: SwapEvent, worldMs: number): { swap: SwapRecord; side: SwapSide } {
    let swap = this.swaps.get(uuid);
    if (!swap) {
      swap = { uuid, startedMs: worldMs, sides: {}, outside: new Set(), isTimeWrong: false, misled: new Set() };
      this.swaps.set(uuid, swap);
    }
    const known = Object.values(swap.sides).find((s) => s.node === node);
    if (known) return { swap, side: known };
    if (event.type !== "started" && event.type !== "start_failed")
      throw new Error(`${node} stored ${event.type} of the unknown swap ${uuid}`);
    const side: SwapSide = {
      node,
      role: event.terms.role,
      terms: event.terms,
      state: begin(event),
      history: [],
      finishedMs: null,
      isForgotten: false,
    };
    swap.sides[side.role] = side;
    return { swap, side };
  }

  #count(swap: SwapRecord): void {
    const over = Object.values(swap.sides).every((s) => s.finishedMs !== null);
    if (over) this.open.delete(swap.uuid);
    else this.open.add(swap.uuid);
    const undone = Object.values(swap.sides).some(({ role, state, isForgotten }) => {
      return !isForgotten && state.finished === "success" && !state.facts[ownClaim(role)]?.block;
    });
    if (undone) this.undone.add(swap.uuid);
    else this.undone.delete(swap.uuid);
  }

  /** A node's disk went back to an older state: its sides are what that has. */
  onRestored(node: string, logs: ReadonlyMap<string, readonly StoredEvent[]>): void {
    for (const swap of this.swaps.values()) {
      for (const side of Object.values(swap.sides)) {
        if (side.node !== node) continue;
        const log = logs.get(swap.uuid) ?? [];
        const [first, ...rest] = log;
        if (first) side.state = rest.reduce((s, e) => step(s, e.event), begin(first.event));
        // Gone from the disk altogether: nobody is going to finish it.
        if (!first) side.isForgotten = true;
        side.finishedMs = !first || log.some((e) => e.event.type === "finished") ? (side.finishedMs ?? 0) : null;
      }
      this.#count(swap);
    }
  }
}
