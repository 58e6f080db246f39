import { err, ok, type Result } from "../../core/util/result.ts";
import type { BuildError, BuiltTx } from "../../core/utxo/buildTx.ts";
import type { FeeRate } from "../../core/utxo/feeRate.ts";
import type { SortedUnspents } from "../../core/utxo/sortedUnspents.ts";
import type { Tx, TxOutput } from "../../core/utxo/tx.ts";
import { txid } from "../../core/utxo/txCodec.ts";
import type { Clock } from "../../ports/clock.ts";
import { lowerRate, raisedRate } from "./coinFees.ts";
import { after, type Build, choose, type Effect, type Pool, type Promised, roomInAnyOrder, unspentsOf } from "./coinPool.ts";
import { OwnClusters } from "./ownClusters.ts";
import { OwnOutputs, type OwnOutputsDeps } from "./ownOutputs.ts";
import { type Ceiling, Promises, type UsedPromise } from "./promises.ts";

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
  unspents: SortedUnspents,
  outputs: readonly TxOutput[],
  rate: FeeRate,
  insured: boolean,
) => Result<BuiltTx, BuildError>;

const sumOf = (values: readonly bigint[]): bigint => values.reduce((n, v) => n + v, 0n);
const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : Number(a > b));

/** One hold that is asked for: an amount for each transaction, base units; `ttlMs` null: until it is released. */
export type AskedHold = { readonly amounts: readonly bigint[]; readonly ttlMs: number | null };

/** What is left of a pool after promised transactions, and what each of them costs. */
type Replayed = { readonly left: Pool; readonly fees: readonly bigint[] };

/** Outputs, what is promised of them, and whether and how that can be kept. */
type Standing = { readonly pool: Pool; readonly promised: readonly Promised[]; readonly kept: Result<Replayed, BuildError> };

/** What new promises would be; `standing` has them too. */
type Rehearsed = Ceiling & { readonly fees: readonly bigint[]; readonly standing: Standing };

export type LedgerDeps = Omit<OwnOutputsDeps, "beside"> & {
  /**
   * The ledgers of other tickers of this chain that have an output script of these: what those hold is held here, too, and what they sign
   * for is taken.
   */
  readonly beside: () => readonly UtxoLedger[];
  readonly clock: Clock;
  readonly build: BuildRule;
  /** The rate payments are built at now. */
  readonly rate: () => FeeRate;
  /** How far that rate may rise before a promised transaction is built, as a multiple: so much is promised where there is enough. */
  readonly ceilingFactor: number;
  readonly dust: bigint;
  /** An output like the ones swaps make, of this value: what a reservation is replayed with. */
  readonly sample: (value: bigint) => readonly TxOutput[];
  /** Also where a ledger beside it changed. */
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
  readonly #own: OwnOutputs;
  readonly #promises: Promises;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
    this.#own = new OwnOutputs({ ...deps, beside: () => deps.beside().map((ledger) => ledger.own) });
    this.#promises = new Promises(deps.clock, () => this.#tell());
  }

  /** What is known of the own outputs; only `lock`, `unlock` and `dropChange` of the ledger change it. */
  get own(): Omit<OwnOutputs, "lock" | "unlock" | "dropChange"> {
    return this.#own;
  }

  /** The holds; only `hold`, `lock` and `unlock` of the ledger make, use up and restore promises. */
  get promises(): Pick<Promises, "ceilingOf" | "keep" | "release"> {
    return this.#promises;
  }

  /**
   * Value of these outputs that is promised to swaps and not yet signed for, with the fees of the transactions.
   * @param without ids of own holds that are left out
   */
  held(without?: ReadonlySet<string>): bigint {
    return this.#deps.beside().reduce((n, ledger) => n + ledger.#promises.held(), this.#promises.held(without));
  }

  /** What is promised of these outputs, without one promise that is being kept, and without some own holds. */
  #promised(kept?: UsedPromise, without?: ReadonlySet<string>): readonly Promised[] {
    return [...this.#promises.promised(kept, without), ...this.#deps.beside().flatMap((ledger) => ledger.#promises.promised())];
  }

  /** Outputs that may be spent now or as soon as the backend lists the own transaction that makes them. */
  spendable(): SortedUnspents {
    return unspentsOf(this.#own.pool());
  }

  /** Those of them the backend has: what can be built on now. */
  ready(): SortedUnspents {
    return unspentsOf(this.#own.ready(this.#own.pool()));
  }

  /** Whether every promise can still be kept once this transaction is sent. */
  leavesPromises(built: Effect): boolean {
    return this.#replay(after(this.#own.pool(), built), this.#promised()).ok;
  }

  /**
   * Promises one transaction for each amount, if all promises together can be kept: each at the highest rate promised for it,
   * and, where there are several, in any order. The rate is the present one raised by the factor; where the balance does not
   * allow that, as high as it does, at least the present one.
   */
  hold(amounts: readonly bigint[], ttlMs: number | null): Result<string, BuildError> {
    const [held] = this.holdEach([{ amounts, ttlMs }]);
    if (!held) throw new Error("one hold was asked for, none was answered");
    return held;
  }

  /**
   * Several holds, each answered as if it were asked for alone after those before it. What all earlier promises leave is
   * worked out once for all of them: a node that comes back with a thousand swaps asks for as many holds.
   */
  holdEach(asked: readonly AskedHold[]): readonly Result<string, BuildError>[] {
    let standing: Standing | null = null;
    return asked.map(({ amounts, ttlMs }) => {
      if (this.#promises.size >= MAX_RESERVATIONS)
        return err({ kind: "NotEnough", available: 0n, required: amounts.reduce((n, a) => n + a, 0n) });
      standing ??= this.#standing();
      const rehearsed = this.#rehearse(amounts, standing);
      if (!rehearsed.ok) return rehearsed;
      const { ceiling, insured, fees } = rehearsed.value;
      standing = rehearsed.value.standing;
      return ok(this.#promises.add(amounts, { ceiling, insured, feeEach: fees.toSorted(ascending).at(-1) ?? 0n }, ttlMs));
    });
  }

  /** What there is, what is promised of it, and what that leaves. */
  #standing(): Standing {
    const [pool, promised] = [this.#own.pool(), this.#promised()];
    return { pool, promised, kept: this.#replay(pool, promised) };
  }

  /**
   * The most that so many transactions more may pay together beside what is promised, at the present rate; null where nothing
   * is promised: then the outputs alone decide.
   * @param without ids of own holds that are left out
   */
  roomFor(count: number, without?: ReadonlySet<string>): bigint | null {
    const promised = this.#promised(undefined, without);
    if (promised.length === 0) return null;
    const more = Array.from({ length: count }, (): Promised => ({ amount: 0n, ceiling: this.#deps.rate(), insured: false }));
    return roomInAnyOrder(this.#own.pool(), [...promised, ...more], this.#deps.dust);
  }

  /** Whether a payment of this amount, and so many more of the least that can be paid, could be promised at the present rate beside all that is. */
  hasRoom(amount: bigint, more: number): boolean {
    if (this.#promises.size + more >= MAX_RESERVATIONS) return false;
    const least = Array.from({ length: more }, () => this.#deps.dust);
    const asked = [amount, ...least].map((units): Promised => ({ amount: units, ceiling: this.#deps.rate(), insured: false }));
    return this.#replay(this.#own.pool(), [...this.#promised(), ...asked]).ok;
  }

  /** The highest ceiling at which the new promises can be kept beside all others. @returns with it, the fees of the new ones */
  #rehearse(amounts: readonly bigint[], { pool, promised, kept }: Standing): Result<Rehearsed, BuildError> {
    const attempt = (at: Ceiling): Result<Rehearsed, BuildError> => {
      if (!kept.ok) return kept;
      const extra = amounts.map((amount): Promised => ({ amount, ...at }));
      const all = [...promised, ...extra];
      // First: to build what cannot be there is tried with the change of each of hundreds of promises.
      if (promised.length > 0 && extra.length > 0 && roomInAnyOrder(pool, all, this.#deps.dust) < 0n) {
        const [available, required] = [sumOf(unspentsOf(pool).map((u) => u.value)), sumOf(all.map((p) => p.amount))];
        return err({ kind: "NotEnough", available, required });
      }
      const more = this.#replay(kept.value.left, extra);
      if (!more.ok) return more;
      return ok({ ...at, fees: more.value.fees, standing: { pool, promised: all, kept: more } });
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

  /**
   * Builds a transaction; `lock` then takes its inputs and uses up the promise. Without a hold, what is promised to
   * others must still be possible afterwards. Where more transactions are promised than outputs are left to make them
   * from, the change comes in pieces, so that the swaps after the next block need not queue behind each other.
   * @param only the outputs it is to be made of, of those there are; it may not be possible then, though it is
   */
  take(
    outputs: readonly TxOutput[],
    holdId: string | null,
    only: ((unspents: SortedUnspents) => SortedUnspents) | null = null,
  ): Result<BuiltTx, BuildError> {
    const ceiling = holdId === null ? null : this.#promises.ceilingOf(holdId);
    const rate = ceiling ? lowerRate(this.#deps.rate(), ceiling) : this.#deps.rate();
    const amount = outputs.reduce((n, o) => n + o.value, 0n);
    const promised = this.#promised({ holdId: holdId ?? "", amount });
    const pool = this.#own.pool();
    const ready = this.#own.ready(pool);
    const keepsOthers = (tx: BuiltTx): Result<unknown, BuildError> => this.#replay(after(pool, tx), promised);
    const plain = choose(ready, (unspents) => this.#deps.build(only ? only(unspents) : unspents, outputs, rate, false));
    const insured = choose(ready, (unspents) => this.#deps.build(only ? only(unspents) : unspents, outputs, rate, true));
    // What insures one transaction is never taken from what is promised to others.
    const usesMore =
      insured.ok && plain.ok && (insured.value.fee > plain.value.fee || insured.value.spent.length > plain.value.spent.length);
    const built = insured.ok && (!usesMore || keepsOthers(insured.value).ok) ? insured : plain;
    if (!built.ok) return built;
    // Promises were reckoned with the smallest outputs taken first.
    if (!ceiling || only) {
      const rest = keepsOthers(built.value);
      if (!rest.ok) return rest;
    }
    return ok(this.#inPieces(pool, built.value, outputs, promised, { rate, insured: built === insured }) ?? built.value);
  }

  /**
   * A transaction from outputs the backend has: confirmed ones if they suffice, so that it hangs on nothing; else with
   * own unconfirmed change, the largest first, as little as needed and never more dependencies than nodes relay.
   */
  select(build: Build): Result<BuiltTx, BuildError> {
    return choose(this.#own.ready(this.#own.pool()), build);
  }

  /** What a transaction would be that is not built now: with all that can be spent soon. For fees, never to be signed. */
  estimate(build: Build): Result<BuiltTx, BuildError> {
    return choose(this.#own.pool(), build);
  }

  /** Records a signed own transaction: its inputs are taken, its own outputs are counted on. */
  lock(tx: Tx, from?: UsedPromise): void {
    if (from) this.#promises.use(txid(tx), from);
    this.#own.lock(tx);
    this.#tell();
  }

  /**
   * Undoes `lock`: for a transaction that was never sent, whose promise stands again, or for one that is settled.
   */
  unlock(tx: Tx): void {
    this.#promises.giveBack(txid(tx));
    this.#own.unlock(tx);
    this.#tell();
  }

  /** Own outputs of a transaction that may never confirm count only once the chain lists them. */
  dropChange(tx: Tx): void {
    this.#own.dropChange(tx);
    this.#tell();
  }

  #tell(): void {
    for (const ledger of [this, ...this.#deps.beside()]) ledger.#deps.onChange();
  }

  /** Builds every promised transaction, one after the other, from these outputs; fails if one cannot be built. */
  #replay(pool: Pool, promised: readonly Promised[]): Result<Replayed, BuildError> {
    // One copy for all of them: a copy for each would cost more than everything else here.
    let left: Pool = { ...pool, clusters: new OwnClusters(pool.clusters) };
    const fees: bigint[] = [];
    for (const { amount, ceiling, insured } of promised) {
      const built = choose(left, (unspents) => this.#deps.build(unspents, this.#deps.sample(amount), ceiling, insured));
      if (!built.ok) return built;
      left = after(left, built.value, left.clusters);
      fees.push(built.value.fee);
    }
    return ok({ left, fees });
  }

  /**
   * The same transaction with its change in pieces, or null where one piece will do: each must serve two promises of the
   * largest kind, and every promise must still be kept.
   */
  #inPieces(
    pool: Pool,
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
    const left = unspentsOf(after(pool, built)).filter((u) => u.value > largest).length;
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
    return this.#replay(after(pool, cut.value), promised).ok ? cut.value : null;
  }
}
