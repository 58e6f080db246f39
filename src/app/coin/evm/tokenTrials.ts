import { checksumAddress, type EvmAddress } from "../../../core/evm/address.ts";
import type { TokenTrip } from "../../../ports/accountChain.ts";
import { steadyTime } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import type { TokenAndContract } from "./allowanceAhead.ts";
import { ChainRounds } from "./chainRounds.ts";
import type { EvmAccount } from "./evmAccount.ts";

/** What was found holds so long: a token may begin to take a fee. */
const KEPT_MS = 600_000;
/** An obstacle may be gone, and nodes may be back, sooner. */
const AGAIN_MS = 30_000;
/** A token may move only so much at a time: what it refuses is tried with less, so often and each time so much less. */
const SMALLER = { times: 3, part: 32n } as const;

export type TokenTrialsDeps = Pick<EvmAccount, "chain" | "address" | "clock"> & { readonly log: Log };

/**
 * `obstacle` undefined: never found out. `most`: what arrived whole, and with it whatever is less; null: any amount does. `refused`: the
 * least amount above it that the token did not move, and why; null: none.
 */
type Trial = TokenAndContract & {
  obstacle: string | null | undefined;
  most: bigint | null;
  refused: { readonly units: bigint; readonly why: string } | null;
  untilMs: number;
};

const NOT_TRIED = { obstacle: undefined, most: 0n, refused: null, untilMs: 0 } as const;

/** What one trial came to. `most`: what it says something of; null: of any amount. */
type Tried = { readonly obstacle: string | null; readonly most: bigint | null } | { readonly refused: string } | "unchanged";

const isRefused = ({ most, refused }: Trial, units: bigint): boolean => refused !== null && most !== null && units > most;

const trialId = ({ token, contract }: TokenAndContract): string => `${token}/${contract}`;

/**
 * Whether tokens of an account arrive whole at the swap contracts they are paid to, and back: tried on the chain without being sent, with
 * what the account has. A contract that trusts its tokens writes down a payment of one that keeps a fee in full, and whoever claims last
 * gets nothing. A token the account has nothing of is not paid with, and not tried. A trial says nothing of greater amounts: of them a
 * fee may be a unit or more that rounds to nothing below; so each payment above it has a trial of its own.
 */
export class TokenTrials {
  readonly #deps: TokenTrialsDeps;
  /** A wall clock that is set back has nothing that was found count for longer. */
  readonly #steadyMs: () => number;
  readonly #trials = new Map<string, Trial>();
  readonly #rounds: ChainRounds;

  constructor(deps: TokenTrialsDeps) {
    this.#deps = deps;
    this.#steadyMs = steadyTime(deps.clock);
    this.#rounds = new ChainRounds(deps, "tokens_not_tried", () => {
      const due = [...this.#trials.values()].filter((trial) => this.#isDue(trial));
      return due.length === 0 ? null : (signal) => this.#lookAll(due, signal);
    });
  }

  /** From now on these are tried again and again; what was found when the token was enabled before counts no more. */
  follow(pair: TokenAndContract): void {
    this.#trials.set(trialId(pair), { ...pair, ...NOT_TRIED });
  }

  /** Nothing found so far counts: it is not known whether who said it can be believed. */
  forget(): void {
    for (const trial of this.#trials.values()) Object.assign(trial, NOT_TRIED);
  }

  start(): void {
    this.#rounds.start();
  }

  /** Why no trade with a token may begin, as last found: a sentence; null: nothing is known to be in the way. */
  obstacle(token: EvmAddress): string | null {
    for (const trial of this.#trials.values()) {
      if (trial.token !== token) continue;
      if (trial.obstacle) return trial.obstacle;
      if (trial.obstacle === undefined && this.#balanceOf(trial) > 0n) return `${unknownText(trial)} yet`;
    }
    return null;
  }

  /** Why so much of it cannot be paid at once, as last found: a sentence; null: nothing is known to be in the way. */
  limit(token: EvmAddress, units: bigint): string | null {
    for (const trial of this.#trials.values()) if (trial.token === token && isRefused(trial, units)) return excessText(trial, units);
    return null;
  }

  /** Most of it that was found to move at once where more was refused; null: nothing was. */
  mostAtOnce(token: EvmAddress): bigint | null {
    const found = [...this.#trials.values()].flatMap((trial) => (trial.token === token && trial.refused ? (trial.most ?? []) : []));
    return found.reduce<bigint | null>((least, most) => (least === null || most < least ? most : least), null);
  }

  /** Tries a token now at all contracts it is followed at. */
  look(token: EvmAddress, signal?: AbortSignal): Promise<void> {
    const own = [...this.#trials.values()].filter((trial) => trial.token === token && this.#balanceOf(trial) > 0n);
    return this.#lookAll(own, signal);
  }

  /** Why a payment must not be signed now, a sentence; null: so much of the token, or more, was found to arrive whole not long ago. */
  async check(pair: TokenAndContract, units: bigint, signal: AbortSignal): Promise<string | null> {
    const trial = this.#trials.get(trialId(pair)) ?? { ...pair, ...NOT_TRIED };
    this.#trials.set(trialId(pair), trial);
    const isEnough = (): boolean => trial.most === null || trial.most >= units;
    if (!this.#isNew(trial) || !isEnough()) await this.#look(trial, units, signal);
    return trial.obstacle ?? (isEnough() ? null : excessText(trial, units));
  }

  #isNew({ obstacle, untilMs }: Trial): boolean {
    return obstacle === null && this.#steadyMs() < untilMs;
  }
  #balanceOf({ token }: TokenAndContract): bigint {
    const { chain, address } = this.#deps;
    return chain.token(token, address)?.balance ?? 0n;
  }

  #isDue(trial: Trial): boolean {
    return this.#steadyMs() >= trial.untilMs && this.#balanceOf(trial) > 0n;
  }

  /** Half of it: some of what there is may be gone by the block that is asked. */
  async #lookAll(trials: readonly Trial[], signal: AbortSignal | undefined): Promise<void> {
    for (const trial of trials) await this.#look(trial, (this.#balanceOf(trial) + 1n) / 2n, signal);
  }

  async #look(trial: Trial, units: bigint, signal: AbortSignal | undefined): Promise<void> {
    const { chain, log } = this.#deps;
    const before = trial.obstacle;
    await this.#rounds.within(signal, (s) => this.#tryDown(trial, units, s));
    trial.untilMs = this.#steadyMs() + (trial.obstacle === null && trial.refused === null ? KEPT_MS : AGAIN_MS);
    if (trial.obstacle !== (before ?? null)) log.warn("token_tried", { coin: chain.ticker, obstacle: trial.obstacle });
  }

  /** With less where the token refuses. What arrives short is no question of the amount. */
  async #tryDown(trial: Trial, units: bigint, signal: AbortSignal): Promise<void> {
    const known = this.#isNew(trial) ? trial.most : 0n;
    let obstacle: string | null = null;
    let refused: Trial["refused"] = null;
    let amount = units;
    for (let smaller = 0; ; smaller++) {
      const found = await this.#tried(trial, amount, signal);
      if (found === "unchanged") return;
      if (!("refused" in found)) {
        [obstacle, trial.most] = [found.obstacle, found.most];
        break;
      }
      refused = { units: amount, why: found.refused };
      amount /= SMALLER.part;
      if (known !== null && known > amount) break;
      if (smaller < SMALLER.times && amount > 0n) continue;
      obstacle = `token ${checksumAddress(trial.token)} cannot be moved to the swap contract and back now: ${found.refused}`;
      break;
    }
    [trial.obstacle, trial.refused] = [obstacle, refused];
  }

  async #tried({ token, contract, obstacle }: Trial, units: bigint, signal: AbortSignal): Promise<Tried> {
    const { chain, address } = this.#deps;
    const trip = await chain.tokenTrip(token, address, contract, units, signal);
    if (trip.ok) return { obstacle: lossText({ token, contract }, units, trip.value), most: units };
    const { kind, message } = trip.error;
    const why = message.replace(/\.$/, "");
    if (kind === "Reverted") return { refused: why };
    // A contract that looks itself at what a token brought needs nobody to do so before.
    const own = kind === "Refused" ? await chain.isOwnSwapContract(contract, signal) : null;
    if (own?.ok && own.value) return { obstacle: null, most: null };
    // What was found before does not change because nodes are away.
    if (kind === "Unreachable" && obstacle !== undefined) return "unchanged";
    return { obstacle: `${unknownText({ token, contract })}: ${why}`, most: 0n };
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }
}

const unknownText = ({ token, contract }: TokenAndContract): string =>
  `whether token ${checksumAddress(token)} arrives whole at the swap contract ${checksumAddress(contract)} is not known`;

/** More than was found to arrive whole. */
function excessText(trial: Trial, units: bigint): string {
  const { token, most, refused } = trial;
  if (!isRefused(trial, units)) return `${unknownText(trial)} for ${units} units, only for ${most}`;
  return `token ${checksumAddress(token)} moves ${most} units to the swap contract and back, but was not found to move ${units} at once: of ${refused?.units} ${refused?.why}`;
}

function lossText({ token, contract }: TokenAndContract, units: bigint, trip: TokenTrip): string | null {
  const { left, arrived, leftBack, arrivedBack } = trip;
  if ([left, arrived, leftBack, arrivedBack].every((moved) => moved === units)) return null;
  return `token ${checksumAddress(token)} keeps a part of what it moves, or takes more, and cannot be swapped: of ${units} units ${left} left and ${arrived} arrived at the swap contract ${checksumAddress(contract)}, ${leftBack} left there and ${arrivedBack} came back`;
}
