import { equalBytes } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { BuildError, BuiltTx, Unspent } from "../../core/utxo/buildTx.ts";
import type { FeeRate } from "../../core/utxo/feeRate.ts";
import { pushesOf } from "../../core/utxo/script.ts";
import type { OutPoint, Tx, TxInput, TxOutput } from "../../core/utxo/tx.ts";
import { parseTx, type TxFormat, txid } from "../../core/utxo/txCodec.ts";
import type { SeenOutput, UtxoChain } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import { lowerRate, raisedRate } from "./coinFees.ts";
import { after, byValue, choose, keyOf, MAX_CLUSTER, type Pool, type Promised, roomInAnyOrder } from "./coinPool.ts";
import { OwnClusters } from "./ownClusters.ts";

/** Most open reservations; each is replayed when another is made. */
const MAX_RESERVATIONS = 1_000;
/** Most pieces into which the change of one transaction is cut for promises still to be kept. */
const MAX_PIECES = 4n;

/** Steps in which the highest ceiling a balance allows is looked for: to an eighth of the rise aimed at. */
const CEILING_STEPS = 3;

/**
 * How the ledger turns wanted outputs into a transaction; fixed by the coin.
 * @param insured with what the coin adds so that the transaction can do without its owner: change for a child, or more fee
 */
export type BuildRule = (
  unspents: readonly Unspent[],
  outputs: readonly TxOutput[],
  rate: FeeRate,
  insured: boolean,
) => Result<BuiltTx, BuildError>;

type Hold = {
  /** What is still promised. */
  amounts: bigint[];
  /** The highest rate the promised transactions are built at. */
  readonly ceiling: FeeRate;
  readonly insured: boolean;
  /** Reckoned for each of them: the most that one of the transactions costs at the ceiling. */
  readonly feeEach: bigint;
  /** Promises used up, by the transaction that was signed for each. */
  readonly used: Map<string, bigint>;
  cancelTimer: (() => void) | null;
};
/** The promise a signed transaction uses up. */
type UsedPromise = { readonly holdId: string; readonly amount: bigint };

/** The rate promised transactions are built at, at most; `insured`: with what makes them do without their owner. */
type Ceiling = { readonly ceiling: FeeRate; readonly insured: boolean };

const sumOf = (values: readonly bigint[]): bigint => values.reduce((n, v) => n + v, 0n);
const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : Number(a > b));

export type LedgerDeps = {
  readonly chain: UtxoChain;
  readonly clock: Clock;
  readonly format: TxFormat;
  readonly publicKey: Uint8Array;
  /** Own output scripts; the first receives change. */
  readonly scripts: readonly Uint8Array[];
  readonly matureConfs: number;
  readonly build: BuildRule;
  /** The rate payments are built at now. */
  readonly rate: () => FeeRate;
  /** How far that rate may rise before a promised transaction is built, as a multiple: so much is promised where there is enough. */
  readonly ceilingFactor: number;
  readonly dust: bigint;
  /** An output like the ones swaps make, of this value: what a reservation is replayed with. */
  readonly sample: (value: bigint) => readonly TxOutput[];
  readonly onChange: () => void;
};

/**
 * The own outputs of one coin: which can be spent, which are taken by stored transactions, and what is promised to
 * swaps. Promises are by value, not by output, so that one large output serves many swaps through its change; a
 * promise is made only if all of them together can still be built within what nodes relay of unconfirmed chains. All
 * methods are synchronous: two callers never see the same output free.
 */
export class UtxoLedger {
  readonly #deps: LedgerDeps;
  /** Outputs used by own signed transactions → the transaction's id; until `unlock`, whatever a reorg does meanwhile. */
  readonly #locked = new Map<string, string>();
  /** Own signed transactions whose change is counted on while the chain does not list them. */
  readonly #signed = new Map<string, Tx>();
  readonly #holds = new Map<string, Hold>();
  #nextHold = 1;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
  }

  /** Outputs that may be spent now or as soon as the backend lists the own transaction that makes them. */
  spendable(): readonly Unspent[] {
    return this.#pool().unspents;
  }

  /** Those of them the backend has: what can be built on now. */
  ready(): readonly Unspent[] {
    return this.spendable().filter((u) => !this.#isUnlisted(u.txid));
  }

  /** Value that exists but cannot be spent yet: immature, or unconfirmed from others. */
  unspendable(): bigint {
    const clusters = this.#clusters();
    let sum = 0n;
    for (const o of this.#own()) if (!o.spentBy && !this.#locked.has(keyOf(o)) && !this.#isSpendable(o, clusters)) sum += o.value;
    return sum;
  }

  /** Value promised to swaps and not yet signed for, with the fees of the transactions. */
  held(): bigint {
    let sum = 0n;
    for (const h of this.#holds.values()) for (const a of h.amounts) sum += a + h.feeEach;
    return sum;
  }

  /** Whether every promise can still be kept once this transaction is sent. */
  leavesPromises(built: BuiltTx): boolean {
    return this.#replay(after(this.#pool(), built), this.#promised()).ok;
  }

  /**
   * Promises one transaction for each amount, if all promises together can be kept: each at the highest rate promised for it,
   * and, where there are several, in any order. The rate is the present one raised by the factor; where the balance does not
   * allow that, as high as it does, at least the present one.
   */
  hold(amounts: readonly bigint[], ttlMs: number | null): Result<string, BuildError> {
    if (this.#holds.size >= MAX_RESERVATIONS)
      return err({ kind: "NotEnough", available: 0n, required: amounts.reduce((n, a) => n + a, 0n) });
    const rehearsed = this.#rehearse(amounts);
    if (!rehearsed.ok) return rehearsed;
    const { ceiling, insured, fees } = rehearsed.value;
    const id = `hold-${this.#nextHold++}`;
    const feeEach = fees.toSorted(ascending).at(-1) ?? 0n;
    const hold: Hold = { amounts: [...amounts], ceiling, insured, feeEach, used: new Map(), cancelTimer: null };
    if (ttlMs !== null) hold.cancelTimer = this.#deps.clock.after(ttlMs, () => this.release(id));
    this.#holds.set(id, hold);
    this.#deps.onChange();
    return ok(id);
  }

  /**
   * The most that so many transactions more may pay together beside what is promised, at the present rate; null where nothing
   * is promised: then the outputs alone decide.
   */
  roomFor(count: number): bigint | null {
    const promised = this.#promised();
    if (promised.length === 0) return null;
    const more = Array.from({ length: count }, (): Promised => ({ amount: 0n, ceiling: this.#deps.rate(), insured: false }));
    return roomInAnyOrder(this.#pool(), [...promised, ...more], this.#deps.dust);
  }

  /** The highest ceiling at which the new promises can be kept beside all others. @returns with it, the fees of the new ones */
  #rehearse(amounts: readonly bigint[]): Result<Ceiling & { readonly fees: readonly bigint[] }, BuildError> {
    const pool = this.#pool();
    const promised = this.#promised();
    const attempt = (at: Ceiling): Result<Ceiling & { readonly fees: readonly bigint[] }, BuildError> => {
      const extra = amounts.map((amount): Promised => ({ amount, ...at }));
      const all = [...promised, ...extra];
      const kept = this.#replay(pool, all);
      if (!kept.ok) return kept;
      if (promised.length > 0 && extra.length > 0 && roomInAnyOrder(pool, all, this.#deps.dust) < 0n) {
        const [available, required] = [sumOf(pool.unspents.map((u) => u.value)), sumOf(all.map((p) => p.amount))];
        return err({ kind: "NotEnough", available, required });
      }
      return ok({ ...at, fees: kept.value.slice(promised.length) });
    };
    const present = this.#deps.rate();
    const full = raisedRate(present, this.#deps.ceilingFactor);
    for (const insured of [true, false]) {
      const best = attempt({ ceiling: full, insured });
      if (best.ok) return best;
    }
    let best = attempt({ ceiling: present, insured: false });
    if (!best.ok) return best;
    let [low, high] = [present.perKb, full.perKb];
    for (let i = 0; i < CEILING_STEPS; i++) {
      const middle = (low + high) / 2n;
      const raised = attempt({ ceiling: { ...present, perKb: middle }, insured: false });
      if (raised.ok) best = raised;
      if (raised.ok) low = middle;
      else high = middle;
    }
    return best;
  }

  /** The highest rate transactions of a hold are built at; null when there is no such hold. */
  ceilingOf(id: string): FeeRate | null {
    return this.#holds.get(id)?.ceiling ?? null;
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
   * others must still be possible afterwards. Where more transactions are promised than outputs are left to make them
   * from, the change comes in pieces, so that the swaps after the next block need not queue behind each other.
   */
  take(outputs: readonly TxOutput[], holdId: string | null): Result<BuiltTx, BuildError> {
    const hold = holdId === null ? undefined : this.#holds.get(holdId);
    const rate = hold ? lowerRate(this.#deps.rate(), hold.ceiling) : this.#deps.rate();
    const amount = outputs.reduce((n, o) => n + o.value, 0n);
    const promised = this.#promised({ holdId: holdId ?? "", amount });
    const keepsOthers = (tx: BuiltTx): Result<unknown, BuildError> => this.#replay(after(this.#pool(), tx), promised);
    const plain = this.select((unspents) => this.#deps.build(unspents, outputs, rate, false));
    const insured = this.select((unspents) => this.#deps.build(unspents, outputs, rate, true));
    // What insures one transaction is never taken from what is promised to others.
    const usesMore =
      insured.ok && plain.ok && (insured.value.fee > plain.value.fee || insured.value.spent.length > plain.value.spent.length);
    const built = insured.ok && (!usesMore || keepsOthers(insured.value).ok) ? insured : plain;
    if (!built.ok) return built;
    if (!hold) {
      const rest = keepsOthers(built.value);
      if (!rest.ok) return rest;
    }
    return ok(this.#inPieces(built.value, outputs, promised, { rate, insured: built === insured }) ?? built.value);
  }

  /**
   * A transaction from outputs the backend has: confirmed ones if they suffice, so that it hangs on nothing; else with
   * own unconfirmed change, the largest first, as little as needed and never more dependencies than nodes relay.
   */
  select(build: (unspents: readonly Unspent[]) => Result<BuiltTx, BuildError>): Result<BuiltTx, BuildError> {
    const { unspents, clusters } = this.#pool();
    return choose({ unspents: unspents.filter((u) => !this.#isUnlisted(u.txid)), clusters }, build);
  }

  /** What a transaction would be that is not built now: with all that can be spent soon. For fees, never to be signed. */
  estimate(build: (unspents: readonly Unspent[]) => Result<BuiltTx, BuildError>): Result<BuiltTx, BuildError> {
    return choose(this.#pool(), build);
  }

  /** Records a signed own transaction: its inputs are taken, its own outputs are counted on. */
  lock(tx: Tx, from?: UsedPromise): void {
    const id = txid(tx);
    if (from) this.#usePromise(id, from);
    for (const input of tx.inputs) this.#locked.set(keyOf(input), id);
    this.#signed.set(id, tx);
    this.#deps.onChange();
  }

  #usePromise(id: string, { holdId, amount }: UsedPromise): void {
    const hold = this.#holds.get(holdId);
    const at = hold?.amounts.indexOf(amount) ?? -1;
    if (!hold || at < 0) return;
    hold.amounts.splice(at, 1);
    hold.used.set(id, amount);
  }

  /**
   * Undoes `lock`: for a transaction that was never sent, whose promise stands again, or for one that is settled.
   */
  unlock(tx: Tx): void {
    const id = txid(tx);
    for (const hold of this.#holds.values()) {
      const amount = hold.used.get(id);
      if (amount === undefined) continue;
      hold.used.delete(id);
      hold.amounts.push(amount);
    }
    for (const input of tx.inputs) if (this.#locked.get(keyOf(input)) === id) this.#locked.delete(keyOf(input));
    this.dropChange(tx);
  }

  /** Own outputs of a transaction that may never confirm count only once the chain lists them. */
  dropChange(tx: Tx): void {
    this.#signed.delete(txid(tx));
    this.#deps.onChange();
  }

  /** The own output an input of a stored transaction spends, if the chain or the outbox knows it. */
  source(input: OutPoint): Unspent | undefined {
    const listed = this.#own().find((o) => o.txid === input.txid && o.vout === input.vout);
    const output = this.#signed.get(input.txid)?.outputs[input.vout];
    return listed ?? (output && this.#isOwn(output.script) ? { ...input, ...output } : undefined);
  }

  /** The own signed transaction, other than `tx`, that has taken an input of it; null if there is none. */
  takenBy(tx: Tx): string | null {
    const id = txid(tx);
    const taken = tx.inputs.map((i) => this.#locked.get(keyOf(i))).find((by) => by !== undefined && by !== id);
    return taken ?? null;
  }

  /** Whether another own transaction, none of `except`, uses an output of this one. */
  isBuiltOn(tx: Tx, except: ReadonlySet<string> = new Set()): boolean {
    const id = txid(tx);
    const counts = (by: string | undefined): boolean => by !== undefined && !except.has(by);
    const isUsed = (vout: number): boolean => counts(this.#locked.get(keyOf({ txid: id, vout })));
    return tx.outputs.some((_, vout) => isUsed(vout)) || this.#own().some((o) => o.txid === id && counts(o.spentBy?.txid));
  }

  /** The id of another transaction, in a block, that spends an input of this one; null if there is none. */
  conflictOf(tx: Tx): string | null {
    const id = txid(tx);
    const inputs = new Set(tx.inputs.map(keyOf));
    const lost = this.#own().find((o) => inputs.has(keyOf(o)) && o.spentBy?.block && o.spentBy.txid !== id);
    return lost?.spentBy?.txid ?? null;
  }

  #own(): readonly SeenOutput[] {
    return this.#deps.scripts.flatMap((s) => this.#deps.chain.outputs(s));
  }

  #isUnlisted(id: string): boolean {
    return this.#signed.has(id) && !this.#deps.chain.tx(id);
  }

  #isOwn(script: Uint8Array): boolean {
    return this.#deps.scripts.some((s) => equalBytes(s, script));
  }

  #pool(): Pool {
    const clusters = this.#clusters();
    const unspents: Unspent[] = this.#own().filter((o) => this.#isSpendable(o, clusters));
    for (const [id, tx] of this.#signed) {
      if (!this.#isUnlisted(id)) continue;
      tx.outputs.forEach((o, vout) => {
        const outPoint = { txid: id, vout };
        if (this.#isOwn(o.script) && !this.#locked.has(keyOf(outPoint))) unspents.push({ ...outPoint, ...o });
      });
    }
    return { unspents: unspents.sort(byValue), clusters };
  }

  #isSpendable(o: SeenOutput, clusters: OwnClusters): boolean {
    if (o.spentBy || this.#locked.has(keyOf(o))) return false;
    if (o.block) return !o.coinbase || this.#deps.chain.confirmations(o.block) >= this.#deps.matureConfs;
    return clusters.sizeOf(o.txid) < MAX_CLUSTER;
  }

  /** Own transactions that are in no block. One of others, or of a contract, counts as full: nothing is built on it. */
  #clusters(): OwnClusters {
    const clusters = new OwnClusters();
    const edges: [string, string][] = [];
    for (const o of this.#own()) {
      const spender = o.spentBy && !o.spentBy.block ? o.spentBy.txid : null;
      if (!o.block) clusters.add(o.txid, this.isOurs(o.txid) ? 1 : MAX_CLUSTER);
      if (spender !== null) clusters.add(spender);
      if (!o.block && spender !== null) edges.push([o.txid, spender]);
    }
    for (const [id, tx] of this.#signed) {
      if (!this.#isUnlisted(id)) continue;
      clusters.add(id);
      for (const input of tx.inputs) edges.push([input.txid, id]);
    }
    for (const [parent, child] of edges) clusters.join(parent, child);
    return clusters;
  }

  /** Whether every input of a transaction the backend has is signed with the own key alone. */
  isOurs(id: string): boolean {
    const seen = this.#deps.chain.tx(id);
    const tx = seen && parseTx(seen.raw, this.#deps.format);
    return tx?.ok === true && tx.value.inputs.every((i) => isSignedBy(i, this.#deps.publicKey));
  }

  /** What is promised, without one promise that is being kept. */
  #promised(kept?: UsedPromise): readonly Promised[] {
    return [...this.#holds].flatMap(([id, { amounts, ceiling, insured }]) => {
      const at = id === kept?.holdId ? amounts.indexOf(kept.amount) : -1;
      return (at < 0 ? amounts : amounts.toSpliced(at, 1)).map((amount) => ({ amount, ceiling, insured }));
    });
  }

  /** Builds every promised transaction, one after the other, from these outputs; fails if one cannot be built. @returns their fees */
  #replay(pool: Pool, promised: readonly Promised[]): Result<readonly bigint[], BuildError> {
    let left = { ...pool, clusters: new OwnClusters(pool.clusters) };
    const fees: bigint[] = [];
    for (const { amount, ceiling, insured } of promised) {
      const built = choose(left, (unspents) => this.#deps.build(unspents, this.#deps.sample(amount), ceiling, insured));
      if (!built.ok) return built;
      left = after(left, built.value);
      fees.push(built.value.fee);
    }
    return ok(fees);
  }

  /**
   * The same transaction with its change in pieces, or null where one piece will do: each must serve two promises of the
   * largest kind, and every promise must still be kept.
   */
  #inPieces(
    built: BuiltTx,
    outputs: readonly TxOutput[],
    promised: readonly Promised[],
    at: { readonly rate: FeeRate; readonly insured: boolean },
  ): BuiltTx | null {
    const largest =
      promised
        .map((p) => p.amount)
        .toSorted(ascending)
        .at(-1) ?? 0n;
    const rest = after(this.#pool(), built);
    const left = rest.unspents.filter((u) => u.value > largest).length;
    const wanted = BigInt(promised.length - left + 1);
    const fit = largest > 0n ? built.change / (2n * largest) : 0n;
    const pieces = [wanted, fit, MAX_PIECES].toSorted(ascending)[0] ?? 0n;
    const script = built.tx.outputs.at(-1)?.script;
    if (pieces < 2n || !script) return null;
    const piece = { value: built.change / pieces, script };
    const cut = this.#deps.build(
      built.spent,
      [...outputs, ...Array.from({ length: Number(pieces) - 1 }, () => piece)],
      at.rate,
      at.insured,
    );
    if (!cut.ok || cut.value.change === 0n) return null;
    return this.#replay(after(this.#pool(), cut.value), promised).ok ? cut.value : null;
  }
}

function isSignedBy(input: TxInput, publicKey: Uint8Array): boolean {
  const last = input.witness.length > 0 ? input.witness.at(-1) : pushesOf(input.scriptSig)?.at(-1);
  return last !== undefined && equalBytes(last, publicKey);
}
