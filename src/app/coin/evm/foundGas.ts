import type { EvmAddress } from "../../../core/evm/address.ts";
import { dropOldest } from "../../../core/util/dropOldest.ts";
import type { Clock } from "../../../ports/clock.ts";
import { type CallGas, NO_GAS } from "./gasFigures.ts";

/** A figure counts so long: each step of a swap asks again, and without one nobody would. */
const COUNTS_MS = 600_000;
/** Beyond so many the two least count as one, the greater of them. */
const MOST_KEPT = 8;
/** Of so many coins the figures are kept. */
const MOST_COINS = 64;

type Found = { readonly gas: CallGas; readonly untilMs: number };

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

  add(gas: CallGas): void {
    const last = { gas, untilMs: this.#clock.nowMs() + COUNTS_MS };
    const greater = this.#counting().filter((found) => found.gas > gas);
    const least = greater.length < MOST_KEPT ? undefined : greater.at(-1);
    this.#found = least ? [...greater.slice(0, -1), { ...last, gas: least.gas }] : [...greater, last];
  }

  /** 0: nothing was found of late. */
  get gas(): CallGas {
    return this.#counting()[0]?.gas ?? NO_GAS;
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

  add(coin: EvmAddress, gas: CallGas): void {
    const found = this.#byCoin.get(coin) ?? new FoundGas(this.#clock);
    found.add(gas);
    this.#byCoin.delete(coin);
    this.#byCoin.set(coin, found);
    dropOldest(this.#byCoin, MOST_COINS);
  }

  gas(coin: EvmAddress): CallGas {
    return this.#byCoin.get(coin)?.gas ?? NO_GAS;
  }
}
