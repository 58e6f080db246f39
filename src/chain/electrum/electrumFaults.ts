import type { Clock } from "../../ports/clock.ts";
import { type ActiveFault, type FaultLimits, FaultList } from "../faultList.ts";

/** Ways of an Electrum server to misbehave. The first group is about connections, the second lies. */
export type ElectrumEffect =
  /** No answer while it lasts; what waits is carried out when it ends. */
  | { readonly kind: "stall" }
  /** Every answer `delayMs` late; answers overtake each other when only some are hit. */
  | { readonly kind: "slow"; readonly delayMs: number }
  /** Carried out, and the connection closed without an answer. */
  | { readonly kind: "lost_reply" }
  /** Open connections end and new ones are refused. */
  | { readonly kind: "refuse" }
  /** An error in place of the answer, nothing carried out. */
  | { readonly kind: "error"; readonly code: number; readonly message: string }
  /** This line in place of the answer. */
  | { readonly kind: "garbage"; readonly text: string }
  /** The answer with the id of another call. */
  | { readonly kind: "wrong_id" }
  /** Bytes without an end of line in place of the answer, up to `bytes`. */
  | { readonly kind: "endless"; readonly bytes: number }
  /** Nothing is told to subscribers. */
  | { readonly kind: "mute" }
  /** So many blocks behind: what they hold is seen in the mempool. */
  | { readonly kind: "lag"; readonly blocks: number }
  /** Histories of so many confirmed transactions and more are refused, and what is subscribed of them is given up (ElectrumX 1.15). */
  | { readonly kind: "short_histories"; readonly lines: number }
  /** This transaction is nowhere. */
  | { readonly kind: "hide"; readonly txid: string }
  /** Heights of confirmed transactions in histories are told wrong by so much. */
  | { readonly kind: "false_height"; readonly delta: number }
  /** This script's history has this transaction at this height, in the place of what is true of it. */
  | { readonly kind: "claim"; readonly scriptHash: string; readonly txid: string; readonly height: number }
  /** Branches with a wrong hash. */
  | { readonly kind: "false_branch" }
  /** Headers from this height on with another Merkle root: neither their work nor their links hold. */
  | { readonly kind: "false_header"; readonly fromHeight: number }
  /** The bytes of this transaction with a changed lock time. */
  | { readonly kind: "false_tx"; readonly txid: string }
  /** Transactions are taken with a good answer and go nowhere. */
  | { readonly kind: "swallow_broadcast" }
  /** Fees told, coins per 1000 bytes. */
  | { readonly kind: "false_fee"; readonly rate: number };

export type ElectrumFault = ActiveFault<ElectrumEffect>;

/** What leaves in place of an answer that was worked out. */
export type Delivery =
  | { readonly kind: "answer"; readonly message: object }
  | { readonly kind: "line"; readonly text: string }
  | { readonly kind: "endless"; readonly bytes: number }
  | { readonly kind: "close" };

/** Most lines held back. */
const MAX_WAITING = 1_000;
const ANOTHER_ID = 987_654_321;

/** The calls of one line. Null: none of them wants an answer. */
export type ElectrumLine = {
  readonly methods: readonly string[];
  /** Carries them out. */
  readonly answer: () => object | null;
  /** Answers them with an error. */
  readonly refuse: (code: number, message: string) => object | null;
};

/** The faults of one Electrum server. */
export class ElectrumFaults {
  readonly #clock: Clock;
  readonly #faults: FaultList<ElectrumEffect>;
  #waiting: { readonly methods: readonly string[]; readonly wake: () => void }[] = [];

  /** @param onChange called after a fault began or ended */
  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#faults = new FaultList(clock, () => {
      this.#wake();
      onChange();
    });
  }

  list(): readonly ElectrumFault[] {
    return this.#faults.list();
  }

  add(effect: ElectrumEffect & Partial<FaultLimits>): ElectrumFault {
    return this.#faults.add({ methods: null, count: null, forMs: null, ...effect });
  }

  /** Ends one fault, or all. */
  clear(id?: number): void {
    this.#faults.clear(id);
  }

  /** The faults of one kind that last. */
  ofKind<K extends ElectrumEffect["kind"]>(kind: K): readonly ActiveFault<Extract<ElectrumEffect, { kind: K }>>[] {
    return this.#faults.size === 0 ? [] : this.#faults.ofKind(kind);
  }

  has(kind: ElectrumEffect["kind"]): boolean {
    return this.ofKind(kind).length > 0;
  }

  #wake(): void {
    if (this.#waiting.length === 0) return;
    const ready = this.#waiting.filter((w) => !this.#faults.find("stall", w.methods));
    this.#waiting = this.#waiting.filter((w) => !ready.includes(w));
    for (const { wake } of ready) wake();
  }

  /** Carries out a line as the active faults let it; at once when none hits. */
  around(line: ElectrumLine, deliver: (what: Delivery) => void): void {
    if (this.#faults.find("stall", line.methods)) {
      if (this.#waiting.length >= MAX_WAITING) deliver({ kind: "close" });
      else this.#waiting.push({ methods: line.methods, wake: () => this.around(line, deliver) });
      return;
    }
    const slow = this.#faults.use("slow", line.methods);
    if (slow) this.#clock.after(slow.delayMs, () => this.#carryOut(line, deliver));
    else this.#carryOut(line, deliver);
  }

  #carryOut({ methods, answer, refuse }: ElectrumLine, deliver: (what: Delivery) => void): void {
    const error = this.#faults.use("error", methods);
    const message = error ? refuse(error.code, error.message) : answer();
    if (!message) return;
    deliver(this.#spoiled(methods, message));
  }

  #spoiled(methods: readonly string[], message: object): Delivery {
    if (this.#faults.use("lost_reply", methods)) return { kind: "close" };
    const endless = this.#faults.use("endless", methods);
    if (endless) return { kind: "endless", bytes: endless.bytes };
    const garbage = this.#faults.use("garbage", methods);
    if (garbage) return { kind: "line", text: garbage.text };
    const other = this.#faults.use("wrong_id", methods);
    return { kind: "answer", message: other ? { ...message, id: ANOTHER_ID } : message };
  }

  /** Runs the task a moment later. */
  soon(task: () => void): void {
    this.#clock.after(1, task);
  }
}
