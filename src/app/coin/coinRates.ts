import { absurdFee, bumpReserve, upFrontFee } from "../../core/swap/feeSchedule.ts";
import { type FeeRate, feeForSize } from "../../core/utxo/feeRate.ts";
import type { UtxoChain } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import { type Stage, stageRate } from "./coinFees.ts";
import type { CoinSpec } from "./coinSpec.ts";

/** A dynamic rate is asked for again this often. */
const RATE_REFRESH_MS = 60_000;
/** A backend that says no rate says, too, that nobody has to pay the last one; one that is asked in vain may be back soon. */
const ESTIMATE_MAX_AGE_MS = 1_800_000;
/** A payment of one input with change, as recorded (reference swap-protocol.md 4.3), and a child with one input and one output. */
const PAYMENT_BYTES = 254;
const CHILD_BYTES = 4 + 1 + (36 + 1 + 107 + 4) + 1 + (8 + 1 + 25) + 4;

/** What miners of one coin ask, kept fresh. */
export class CoinRates {
  readonly #spec: CoinSpec;
  readonly #chain: UtxoChain;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  #told: { readonly perKb: bigint; readonly atMs: number } | null = null;
  #stop: () => void = () => undefined;
  #isFollowed = false;

  constructor(spec: CoinSpec, chain: UtxoChain, clock: Clock) {
    this.#spec = spec;
    this.#chain = chain;
    this.#clock = clock;
  }

  /** A fixed rate is no estimate, but what is raised later follows the backend's all the same. */
  get #isAsked(): boolean {
    const { feePolicy, relayPolicy } = this.#spec.kind;
    return feePolicy.kind === "dynamic" || relayPolicy !== "overpay";
  }

  /** Fetches an estimate and keeps it fresh until `close`. May be called again: for a backend that was away the first time. */
  async open(signal?: AbortSignal): Promise<void> {
    if (!this.#isAsked) return;
    await this.refresh(signal);
    if (this.#isFollowed) return;
    this.#isFollowed = true;
    const again = (): void => {
      this.#stop = this.#clock.after(RATE_REFRESH_MS, () => {
        void this.refresh(this.#closed.signal).finally(() => {
          if (!this.#closed.signal.aborted) again();
        });
      });
    };
    again();
  }

  close(): void {
    this.#closed.abort();
    this.#stop();
  }

  async refresh(signal?: AbortSignal): Promise<void> {
    if (!this.#isAsked) return;
    try {
      const perKb = await this.#chain.estimateFeePerKb(this.#spec.feeTargetBlocks, signal);
      if (perKb !== null && !this.#isAbsurd(perKb)) this.#told = { perKb, atMs: this.#clock.nowMs() };
    } catch {
      // The last estimate stands until it is old, or the backend answers again.
      return;
    }
  }

  /** Whether no daemon would take a transaction at this rate: backends err, and servers lie. */
  #isAbsurd(perKb: bigint): boolean {
    const relayPerKb = this.#chain.relayFeePerKb();
    const most = absurdFee({ relayPerKb, size: 1_000 });
    return perKb > most && perKb > 2n * (relayPerKb ?? 0n);
  }

  /** What was said of rates lately; null: nothing. */
  get #estimate(): bigint | null {
    const isOld = this.#told !== null && Math.abs(this.#clock.nowMs() - this.#told.atMs) > ESTIMATE_MAX_AGE_MS;
    return this.#told === null || isOld ? null : this.#told.perKb;
  }

  /** The miner fee rate as KDF reckons it; `stage` null: without margin. */
  rate(stage: Stage | null): FeeRate {
    return stageRate(this.#spec.kind, this.#estimate, this.#chain.relayFeePerKb(), stage);
  }

  /** The rate of claims, refunds and children. A fixed rate gives way to a higher estimate where one can be acted on. */
  spendRate(): FeeRate {
    const rate = this.rate(null);
    const estimate = this.#spec.kind.relayPolicy === "overpay" ? null : this.#estimate;
    return estimate !== null && estimate > rate.perKb ? { perKb: estimate, wholeKb: rate.wholeKb } : rate;
  }

  /** Least rate worth offering: what is relayed, and where the coins file fixes a rate, that; null when neither is known. */
  floorPerKb(): bigint | null {
    const relayed = this.#chain.relayFeePerKb();
    const { feePolicy } = this.#spec.kind;
    if (feePolicy.kind !== "fixed") return relayed;
    return relayed !== null && relayed > feePolicy.rate.perKb ? relayed : feePolicy.rate.perKb;
  }

  /**
   * The rate for a payment or dex fee that pays for the worst case at once: on coins whose transactions cannot be bumped and
   * whose rate moves. A fixed rate is what the coin's miners take; there is nothing to insure.
   * @param value base units it moves
   * @param at the rate it starts from, or the stage that has it
   */
  upFrontRate(value: bigint, at: Stage | FeeRate): FeeRate {
    const rate = typeof at === "string" ? this.rate(at) : at;
    if (this.#spec.kind.feePolicy.kind === "fixed") return rate;
    const fee = upFrontFee(value, feeForSize(rate, PAYMENT_BYTES));
    const perKb = (fee * 1_000n) / BigInt(PAYMENT_BYTES);
    return perKb > rate.perKb ? { ...rate, perKb } : rate;
  }

  /** The rate a payment or dex fee is built at first: the worst case at once where nothing can be added later. */
  paymentRate(value: bigint, at: Stage | FeeRate): FeeRate {
    if (this.#spec.kind.relayPolicy === "overpay") return this.upFrontRate(value, at);
    return typeof at === "string" ? this.rate(at) : at;
  }

  /** Change a payment or dex fee keeps for a child; 0 where no child helps. */
  minChange(value: bigint): bigint {
    if (this.#spec.kind.relayPolicy === "overpay") return 0n;
    return bumpReserve(value, feeForSize(this.spendRate(), PAYMENT_BYTES + CHILD_BYTES));
  }

  /** Virtual bytes a child is reckoned with. */
  get childSize(): number {
    return CHILD_BYTES;
  }
}
