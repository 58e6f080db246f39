import { equalBytes } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { BuildError, BuiltTx, Unspent } from "../../core/utxo/buildTx.ts";
import { pushesOf } from "../../core/utxo/script.ts";
import type { OutPoint, Tx, TxInput, TxOutput } from "../../core/utxo/tx.ts";
import { parseTx, type TxFormat, txid } from "../../core/utxo/txCodec.ts";
import type { SeenOutput, UtxoChain } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";

/** Longest chain of own unconfirmed transactions whose change is still spent; nodes refuse more than 25. */
const MAX_UNCONFIRMED_DEPTH = 20;
/** Most open reservations; each is replayed when another is made. */
const MAX_RESERVATIONS = 1_000;

/** How the ledger turns wanted outputs into a transaction; fixed by the coin. */
export type BuildRule = (unspents: readonly Unspent[], outputs: readonly TxOutput[], feeFromOutput?: number) => Result<BuiltTx, BuildError>;

type Hold = {
  /** What is still promised. */
  amounts: bigint[];
  /** Promises used up, by the transaction that was signed for each. */
  readonly used: Map<string, bigint>;
  cancelTimer: (() => void) | null;
};
/** The promise a signed transaction uses up. */
type UsedPromise = { readonly holdId: string; readonly amount: bigint };
const keyOf = (o: OutPoint): string => `${o.txid}:${o.vout}`;

export type LedgerDeps = {
  readonly chain: UtxoChain;
  readonly clock: Clock;
  readonly format: TxFormat;
  readonly publicKey: Uint8Array;
  /** Own output scripts; the first receives change. */
  readonly scripts: readonly Uint8Array[];
  readonly matureConfs: number;
  readonly build: BuildRule;
  /** An output like the ones swaps make, of this value: what a reservation is replayed with. */
  readonly sample: (value: bigint) => readonly TxOutput[];
  readonly onChange: () => void;
};

/**
 * The own outputs of one coin: which can be spent, which are taken by stored transactions, and what is promised to
 * swaps. Promises are by value, not by output, so that one large output serves many swaps through its change; a
 * promise is made only if all of them together can still be built. All methods are synchronous: two callers never see
 * the same output free.
 */
export class UtxoLedger {
  readonly #deps: LedgerDeps;
  /** Outputs used by own transactions the chain may not list yet → the transaction's id. */
  readonly #locked = new Map<string, string>();
  /** Own outputs of transactions the chain does not list yet. */
  readonly #pending = new Map<string, Unspent>();
  readonly #holds = new Map<string, Hold>();
  #nextHold = 1;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
  }

  /** Outputs that may be spent now. */
  spendable(): readonly Unspent[] {
    const out: Unspent[] = [];
    for (const o of this.#own()) if (this.#isSpendable(o)) out.push(o);
    for (const [key, u] of this.#pending) {
      if (this.#deps.chain.tx(u.txid)) this.#pending.delete(key);
      else if (!this.#locked.has(key)) out.push(u);
    }
    return out;
  }

  /** Value that exists but cannot be spent yet: immature, or unconfirmed from others. */
  unspendable(): bigint {
    let sum = 0n;
    for (const o of this.#own()) if (!o.spentBy && !this.#locked.has(keyOf(o)) && !this.#isSpendable(o)) sum += o.value;
    return sum;
  }

  /** Value promised to swaps and not yet signed for. */
  held(): bigint {
    let sum = 0n;
    for (const h of this.#holds.values()) for (const a of h.amounts) sum += a;
    return sum;
  }

  /** Promises one transaction for each amount, fees included, if all promises together can be kept. */
  hold(amounts: readonly bigint[], ttlMs: number | null): Result<string, BuildError> {
    if (this.#holds.size >= MAX_RESERVATIONS)
      return err({ kind: "NotEnough", available: 0n, required: amounts.reduce((n, a) => n + a, 0n) });
    const kept = this.#replay(this.spendable(), amounts);
    if (!kept.ok) return kept;
    const id = `hold-${this.#nextHold++}`;
    const hold: Hold = { amounts: [...amounts], used: new Map(), cancelTimer: null };
    if (ttlMs !== null) hold.cancelTimer = this.#deps.clock.after(ttlMs, () => this.release(id));
    this.#holds.set(id, hold);
    this.#deps.onChange();
    return ok(id);
  }

  /** The hold no longer ends by itself. */
  keep(id: string): void {
    const hold = this.#holds.get(id);
    hold?.cancelTimer?.();
    if (hold) hold.cancelTimer = null;
  }

  release(id: string): void {
    const hold = this.#holds.get(id);
    if (!hold) return;
    hold.cancelTimer?.();
    this.#holds.delete(id);
    this.#deps.onChange();
  }

  /**
   * Builds a transaction; `lock` then takes its inputs and uses up the promise. Without a hold, what is promised to
   * others must still be possible afterwards.
   */
  take(outputs: readonly TxOutput[], holdId: string | null, feeFromOutput?: number): Result<BuiltTx, BuildError> {
    const free = this.spendable();
    const built = this.#deps.build(free, outputs, feeFromOutput);
    if (!built.ok) return built;
    if (holdId !== null && this.#holds.has(holdId)) return built;
    const rest = this.#replay(without(free, built.value), []);
    return rest.ok ? built : rest;
  }

  /** Records a signed own transaction: its inputs are taken, its own outputs can be spent on. */
  lock(tx: Tx, from?: UsedPromise): void {
    const id = txid(tx);
    if (from) this.#usePromise(id, from);
    for (const input of tx.inputs) this.#locked.set(keyOf(input), id);
    tx.outputs.forEach((o, vout) => {
      if (this.#isOwn(o.script) && !this.#deps.chain.tx(id)) this.#pending.set(keyOf({ txid: id, vout }), { txid: id, vout, ...o });
    });
    this.#forgetSettled();
    this.#deps.onChange();
  }

  #usePromise(id: string, { holdId, amount }: UsedPromise): void {
    const hold = this.#holds.get(holdId);
    const at = hold?.amounts.indexOf(amount) ?? -1;
    if (!hold || at < 0) return;
    hold.amounts.splice(at, 1);
    hold.used.set(id, amount);
  }

  /** Undoes `lock` for a transaction that was never sent: the promise it used up stands again. */
  unlock(tx: Tx): void {
    const id = txid(tx);
    for (const hold of this.#holds.values()) {
      const amount = hold.used.get(id);
      if (amount === undefined) continue;
      hold.used.delete(id);
      hold.amounts.push(amount);
    }
    for (const input of tx.inputs) if (this.#locked.get(keyOf(input)) === id) this.#locked.delete(keyOf(input));
    tx.outputs.forEach((_, vout) => {
      this.#pending.delete(keyOf({ txid: id, vout }));
    });
    this.#deps.onChange();
  }

  /** The own output an input of a stored transaction spends, if the chain or the outbox knows it. */
  source(input: OutPoint): Unspent | undefined {
    return this.#own().find((o) => o.txid === input.txid && o.vout === input.vout) ?? this.#pending.get(keyOf(input));
  }

  #own(): readonly SeenOutput[] {
    return this.#deps.scripts.flatMap((s) => this.#deps.chain.outputs(s));
  }

  #isOwn(script: Uint8Array): boolean {
    return this.#deps.scripts.some((s) => equalBytes(s, script));
  }

  #isSpendable(o: SeenOutput): boolean {
    if (o.spentBy || this.#locked.has(keyOf(o))) return false;
    if (o.block) return !o.coinbase || this.#deps.chain.confirmations(o.block) >= this.#deps.matureConfs;
    return this.#ownDepth(o.txid, 0) <= MAX_UNCONFIRMED_DEPTH;
  }

  /** Length of the chain of own unconfirmed transactions ending in `id`; above the limit for one that is not all ours. */
  #ownDepth(id: string, sofar: number): number {
    const seen = this.#deps.chain.tx(id);
    if (!seen || sofar > MAX_UNCONFIRMED_DEPTH) return sofar + 1;
    if (seen.block) return sofar;
    const tx = parseTx(seen.raw, this.#deps.format);
    if (!tx.ok || !tx.value.inputs.every((i) => isSignedBy(i, this.#deps.publicKey))) return MAX_UNCONFIRMED_DEPTH + 1;
    return tx.value.inputs.reduce((deepest, i) => Math.max(deepest, this.#ownDepth(i.txid, sofar + 1)), sofar + 1);
  }

  /** Builds every promised transaction, one after the other, from these outputs; fails if one cannot be built. */
  #replay(unspents: readonly Unspent[], extra: readonly bigint[]): Result<void, BuildError> {
    let pool = unspents;
    const promised = [...this.#holds.values()].flatMap((h) => h.amounts);
    for (const amount of [...promised, ...extra]) {
      const built = this.#deps.build(pool, this.#deps.sample(amount));
      if (!built.ok) return built;
      pool = without(pool, built.value);
    }
    return ok(undefined);
  }

  /** Locks of outputs that a block shows as spent need no memory. */
  #forgetSettled(): void {
    for (const o of this.#own()) if (o.spentBy?.block) this.#locked.delete(keyOf(o));
  }
}

/** The pool after a transaction: its inputs gone, its change (always the last output) there. */
function without(pool: readonly Unspent[], built: BuiltTx): readonly Unspent[] {
  const used = new Set(built.spent.map(keyOf));
  const rest = pool.filter((u) => !used.has(keyOf(u)));
  const change = built.tx.outputs.at(-1);
  if (built.change === 0n || !change) return rest;
  return [...rest, { txid: txid(built.tx), vout: built.tx.outputs.length - 1, value: change.value, script: change.script }];
}

function isSignedBy(input: TxInput, publicKey: Uint8Array): boolean {
  const last = input.witness.length > 0 ? input.witness.at(-1) : pushesOf(input.scriptSig)?.at(-1);
  return last !== undefined && equalBytes(last, publicKey);
}
