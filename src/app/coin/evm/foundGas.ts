import type { EvmAddress } from "../../../core/evm/address.ts";
import { dropOldest } from "../../../core/util/dropOldest.ts";
import type { Clock } from "../../../ports/clock.ts";

/** A figure counts so long: each step of a swap asks again, and without one nobody would. */
const COUNTS_MS = 600_000;
/** Beyond so many the two least count as one, the greater of them. */
const MOST_KEPT = 8;
/** Of so many coins the figures are kept. */
const MOST_COINS = 64;

/** What was tried now is made in another block. */
const MARGIN_PERCENT = 130n;
/** Gas to sign with where a try needed so much. */
export const ampleGas = (needed: bigint): bigint => (needed * MARGIN_PERCENT) / 100n;
/** The most a try may need where so much is signed with at most. */
export const mostNeeded = (ample: bigint): bigint => (ample * 100n) / MARGIN_PERCENT;

type Found = { readonly gas: bigint; readonly untilMs: number };

/**
 * Gas that was found to be needed, by many swaps that ask about different payments. The greatest figure that still counts is the answer:
 * too much is not paid. A lower one that was found later takes over when that is forgotten.
 */
export class FoundGas {
  readonly #clock: Clock;
  /** The greatest first, each found later than the one before it. */
  #found: readonly Found[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(gas: bigint): void {
    const last = { gas, untilMs: this.#clock.nowMs() + COUNTS_MS };
    const greater = this.#counting().filter((found) => found.gas > gas);
    const least = greater.length < MOST_KEPT ? undefined : greater.at(-1);
    this.#found = least ? [...greater.slice(0, -1), { ...last, gas: least.gas }] : [...greater, last];
  }

  /** 0: nothing was found of late. */
  get gas(): bigint {
    return this.#counting()[0]?.gas ?? 0n;
  }

  #counting(): readonly Found[] {
    return this.#found.filter(({ untilMs }) => this.#clock.nowMs() < untilMs);
  }
}

/** The same of several coins, by what they are in the swap contract: a token's address, or that for the platform coin. None counts for another. */
export class FoundGasOf {
  readonly #clock: Clock;
  readonly #byCoin = new Map<EvmAddress, FoundGas>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(coin: EvmAddress, gas: bigint): void {
    const found = this.#byCoin.get(coin) ?? new FoundGas(this.#clock);
    found.add(gas);
    this.#byCoin.delete(coin);
    this.#byCoin.set(coin, found);
    dropOldest(this.#byCoin, MOST_COINS);
  }

  gas(coin: EvmAddress): bigint {
    return this.#byCoin.get(coin)?.gas ?? 0n;
  }
}
