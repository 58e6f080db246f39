import { div } from "../../core/money/rational.ts";
import type { MakerEndReason, MakerOrder } from "../../core/order/makerOrder.ts";
import { makerFileJson, takerFileJson } from "../../core/order/orderFileJson.ts";
import type { TakerEndReason, TakerOrder } from "../../core/order/takerOrder.ts";
import { toHex } from "../../core/util/bytes.ts";
import { assertNever } from "../../core/util/result.ts";
import { type Clock, mapInTurns } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { NewHistoryRow, OrderChange, OrderStore } from "../../ports/orderStore.ts";
import { orderToRecord, parseOrderRecord } from "./orderRecord.ts";
import type { OrderFiles } from "./ordersDeps.ts";

/** Most orders of both kinds that may be open at once. */
export const MAX_OWN_ORDERS = 10_000;
/** Files of ended orders that may wait for the disk, as many as may end at once; past it such orders get none, the database has everything. Of an open order one waits at most. */
const MAX_WAITING_HISTORY = MAX_OWN_ORDERS;

/** Steps made into records, and shown in files, in one turn of the event loop: each takes up to a twentieth of a millisecond, and ten thousand orders may end in one write. */
export const RECORDED_IN_TURN = 200;

/** One change of the set of own orders. */
export type LedgerStep =
  | { readonly step: "newMaker"; readonly order: MakerOrder }
  | { readonly step: "newTaker"; readonly order: TakerOrder }
  | { readonly step: "maker"; readonly order: MakerOrder }
  /** Its author changed it. */
  | { readonly step: "updateMaker"; readonly order: MakerOrder }
  | { readonly step: "taker"; readonly order: TakerOrder }
  | { readonly step: "convert"; readonly order: MakerOrder }
  | { readonly step: "endMaker"; readonly order: MakerOrder; readonly reason: MakerEndReason }
  | { readonly step: "endTaker"; readonly order: TakerOrder; readonly reason: Exclude<TakerEndReason, "ToMaker"> }
  | { readonly step: "swapAgreed"; readonly takerUuid: string; readonly makerUuid: string };

type LedgerDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: OrderStore;
  readonly ownKey: Uint8Array;
  readonly files?: OrderFiles;
};

/** Own open orders: memory backed by the store, written first. The file export in KDF's shape follows and may fail. */
export class OrderLedger {
  readonly #deps: LedgerDeps;
  readonly #ownKey: string;
  readonly #makers = new Map<string, MakerOrder>();
  readonly #takers = new Map<string, TakerOrder>();
  readonly #exports = new Set<Promise<void>>();
  #waitingHistory = 0;
  #beingStored = 0;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
    this.#ownKey = toHex(deps.ownKey);
  }

  get makers(): ReadonlyMap<string, MakerOrder> {
    return this.#makers;
  }
  get takers(): ReadonlyMap<string, TakerOrder> {
    return this.#takers;
  }
  has(uuid: string): boolean {
    return this.#makers.has(uuid) || this.#takers.has(uuid);
  }
  /** Open orders, and those about to be. */
  get size(): number {
    return this.#makers.size + this.#takers.size + this.#beingStored;
  }

  /** Stored orders into memory, oldest first. A record that cannot be read is reported and left where it is. */
  async load(): Promise<void> {
    for (const record of await this.#deps.store.live()) {
      try {
        const own = parseOrderRecord(record);
        if (own.kind === "Maker") this.#makers.set(own.order.uuid, own.order);
        else this.#takers.set(own.order.uuid, own.order);
      } catch (error) {
        this.#deps.log.error("order_unreadable", { order: record.uuid, error });
      }
    }
  }

  /** A change that need not survive a restart: an open handshake, or a volume cut to the present balance. */
  setInMemory(order: MakerOrder): void {
    if (!this.#makers.has(order.uuid)) throw new Error("not a live maker order");
    this.#makers.set(order.uuid, order);
  }

  /**
   * All steps or none, however many. Memory changes when the store has acknowledged; rejects with `StorageError`, then nothing has changed. Of
   * thousands the records are made, and the files told, some in a turn: whoever brings so many sees to it that nothing else is done to these orders meanwhile.
   */
  async commit(steps: readonly LedgerStep[]): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    const added = steps.filter(({ step }) => step === "newMaker" || step === "newTaker").length;
    this.#beingStored += added;
    try {
      const changes = await mapInTurns(this.#deps.clock, steps, RECORDED_IN_TURN, (step) => changesOf(step, nowMs));
      await this.#deps.store.apply(changes.flat());
    } finally {
      this.#beingStored -= added;
    }
    for (const step of steps) this.#remember(step);
    await mapInTurns(this.#deps.clock, steps, RECORDED_IN_TURN, (step) => this.#export(step));
  }

  #remember(step: LedgerStep): void {
    switch (step.step) {
      case "newMaker":
      case "maker":
      case "updateMaker":
        this.#makers.set(step.order.uuid, step.order);
        return;
      case "newTaker":
      case "taker":
        this.#takers.set(step.order.uuid, step.order);
        return;
      case "convert":
        this.#takers.delete(step.order.uuid);
        this.#makers.set(step.order.uuid, step.order);
        return;
      case "endMaker":
        this.#makers.delete(step.order.uuid);
        return;
      case "endTaker":
        this.#takers.delete(step.order.uuid);
        return;
      case "swapAgreed":
        return;
      default:
        assertNever(step);
    }
  }

  #export(step: LedgerStep): void {
    const { files, log } = this.#deps;
    if (!files || step.step === "swapAgreed") return;
    const order = step.order.uuid;
    const follow = (write: Promise<void>): Promise<void> => {
      const done = write
        .catch((error: unknown) => log.warn("order_file_failed", { order, error }))
        .finally(() => this.#exports.delete(done));
      this.#exports.add(done);
      return done;
    };
    const ended = historyFileOf(step, this.#ownKey);
    if (ended && this.#waitingHistory >= MAX_WAITING_HISTORY) log.warn("order_file_skipped", { order });
    else if (ended) {
      this.#waitingHistory++;
      void follow(files.write("HISTORY", order, ended)).finally(() => this.#waitingHistory--);
    }
    for (const write of exportsOf(files, step, this.#ownKey)) void follow(write);
  }

  /** Resolves when the files are written. */
  async close(): Promise<void> {
    await Promise.all(this.#exports);
  }
}

const makerRow = (o: MakerOrder): NewHistoryRow => ({
  uuid: o.uuid,
  kind: "Maker",
  initialAction: "Sell",
  base: o.base,
  rel: o.rel,
  price: o.price,
  volume: o.maxBaseVol,
  createdAtMs: o.createdAtMs,
});
const takerRow = (o: TakerOrder): NewHistoryRow => ({
  uuid: o.uuid,
  kind: "Taker",
  initialAction: o.action,
  base: o.base,
  rel: o.rel,
  price: div(o.relAmount, o.baseAmount),
  volume: o.baseAmount,
  createdAtMs: o.createdAtMs,
});

function changesOf(s: LedgerStep, nowMs: number): readonly OrderChange[] {
  switch (s.step) {
    case "newMaker":
    case "maker": {
      const put: OrderChange = { change: "put", order: orderToRecord({ kind: "Maker", order: s.order }), isNew: s.step === "newMaker" };
      return s.step === "newMaker" && s.order.saveInHistory ? [put, { change: "historyRow", row: makerRow(s.order) }] : [put];
    }
    case "updateMaker": {
      const { uuid, price, maxBaseVol, updatedAtMs } = s.order;
      const put: OrderChange = { change: "put", order: orderToRecord({ kind: "Maker", order: s.order }) };
      return [put, { change: "updatedTerms", uuid, price, volume: maxBaseVol, atMs: updatedAtMs }];
    }
    case "newTaker":
    case "taker": {
      const put: OrderChange = { change: "put", order: orderToRecord({ kind: "Taker", order: s.order }), isNew: s.step === "newTaker" };
      return s.step === "newTaker" && s.order.saveInHistory ? [put, { change: "historyRow", row: takerRow(s.order) }] : [put];
    }
    case "convert": {
      const put: OrderChange = { change: "put", order: orderToRecord({ kind: "Maker", order: s.order }) };
      if (!s.order.saveInHistory) return [put];
      const { uuid } = s.order;
      return [put, { change: "status", uuid, status: "ToMaker", atMs: nowMs }, { change: "becameMaker", uuid, atMs: nowMs }];
    }
    case "endMaker":
    case "endTaker": {
      const { uuid, saveInHistory } = s.order;
      const remove: OrderChange = { change: "remove", uuid };
      if (!saveInHistory) return [remove];
      const order = orderToRecord(s.step === "endMaker" ? { kind: "Maker", order: s.order } : { kind: "Taker", order: s.order });
      return [remove, { change: "ended", order }, { change: "status", uuid, status: s.reason, atMs: nowMs }];
    }
    case "swapAgreed":
      return [{ change: "swapAgreed", takerUuid: s.takerUuid, makerUuid: s.makerUuid, atMs: nowMs }];
    default:
      return assertNever(s);
  }
}

type ExportedStep = Exclude<LedgerStep, { step: "swapAgreed" }>;

/** What the history shows of an order that ended; null: nothing of this step. */
function historyFileOf(s: ExportedStep, ownKey: string): (() => unknown) | null {
  if (!s.order.saveInHistory) return null;
  if (s.step === "endMaker") return () => ({ type: "Maker", order: makerFileJson(s.order, ownKey) });
  return s.step === "endTaker" ? () => ({ type: "Taker", order: takerFileJson(s.order, ownKey) }) : null;
}

/** What a step does to the files of open orders. */
function exportsOf(files: OrderFiles, s: ExportedStep, ownKey: string): readonly Promise<void>[] {
  const { uuid } = s.order;
  switch (s.step) {
    case "newMaker":
    case "maker":
    case "updateMaker":
      return [files.write("MAKER", uuid, () => makerFileJson(s.order, ownKey))];
    case "newTaker":
    case "taker":
      return [files.write("TAKER", uuid, () => takerFileJson(s.order, ownKey))];
    case "convert":
      return [files.write("MAKER", uuid, () => makerFileJson(s.order, ownKey)), files.remove("TAKER", uuid)];
    case "endMaker":
      return [files.remove("MAKER", uuid)];
    case "endTaker":
      return [files.remove("TAKER", uuid)];
    default:
      return assertNever(s);
  }
}
