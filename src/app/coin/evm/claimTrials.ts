import { checksumAddress, type EvmAddress } from "../../../core/evm/address.ts";
import { paymentsCall } from "../../../core/evm/swapContract.ts";
import { steadyTime } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import { ChainRounds } from "./chainRounds.ts";
import { fromContract } from "./dataCost.ts";
import type { EvmAccount } from "./evmAccount.ts";

/** Nodes may be exchanged behind their address. */
const KEPT_MS = 600_000;
const AGAIN_MS = 30_000;
/** What the id of a payment is, of none. */
const NO_PAYMENT = new Uint8Array(32);

export type ClaimTrialsDeps = Pick<EvmAccount, "chain" | "platform" | "clock"> & { readonly log: Log };

/** `obstacle` undefined: never found out. `awaySinceMs`: since when the nodes are away that said it before; null: they are not. */
type Trial = { readonly contract: EvmAddress; obstacle: string | null | undefined; awaySinceMs: number | null; untilMs: number };
const NOT_TRIED = { obstacle: undefined, awaySinceMs: null, untilMs: Number.NEGATIVE_INFINITY } as const;

/**
 * Whether the nodes say what becomes of a call that a swap contract makes, which is how a claim of a token is tried without its secret
 * (`tryPayout`). Some carry out no call whose sender has code: with them alone no claim is known to be paid, and a swap would end in refunds
 * after its dex fee was paid. So it is asked before money moves, with a call that no token can refuse: the contract reads of itself.
 */
export class ClaimTrials {
  readonly #deps: ClaimTrialsDeps;
  /** Of pauses: a wall clock that is set back makes none longer. */
  readonly #steadyMs: () => number;
  readonly #trials = new Map<EvmAddress, Trial>();
  readonly #rounds: ChainRounds;

  constructor(deps: ClaimTrialsDeps) {
    this.#deps = deps;
    this.#steadyMs = steadyTime(deps.clock);
    this.#rounds = new ChainRounds(deps, "claims_not_tried", () => {
      const nowMs = this.#steadyMs();
      const due = [...this.#trials.values()].filter(({ untilMs }) => nowMs >= untilMs);
      return due.length === 0 ? null : (signal) => this.#lookAll(due, signal);
    });
  }

  /** From now on it is asked again and again. */
  follow(contract: EvmAddress): void {
    this.#trialOf(contract);
  }

  /** Nothing found so far counts: other nodes are asked. */
  forget(): void {
    // What the former ones are still asked goes to what nobody looks at any more.
    for (const contract of this.#trials.keys()) this.#trials.set(contract, { contract, ...NOT_TRIED });
  }

  start(): void {
    this.#rounds.start();
  }

  /** Why no trade may begin that ends with a claim of a token from one of these, as last found: a sentence; null: nothing is known to be in the way. */
  obstacle(contracts: readonly EvmAddress[]): string | null {
    for (const contract of contracts) {
      const found = this.#trials.get(contract)?.obstacle;
      if (found !== null) return found ?? unknownText(contract);
    }
    return null;
  }

  /** Asks now of those of which the nodes were not found to say it. */
  async look(contracts: readonly EvmAddress[], signal?: AbortSignal): Promise<void> {
    const open = contracts.flatMap((contract) => this.#trials.get(contract) ?? []).filter(({ obstacle }) => obstacle !== null);
    await this.#lookAll(open, signal);
  }

  /** The same as `obstacle`, asked now: money is about to move. */
  async check(contract: EvmAddress, signal: AbortSignal): Promise<string | null> {
    return this.#rounds.within(signal, (s) => this.#look(this.#trialOf(contract), s));
  }

  #trialOf(contract: EvmAddress): Trial {
    const trial = this.#trials.get(contract) ?? { contract, ...NOT_TRIED };
    this.#trials.set(contract, trial);
    return trial;
  }

  async #lookAll(trials: readonly Trial[], signal: AbortSignal | undefined): Promise<void> {
    for (const trial of trials) await this.#rounds.within(signal, (s) => this.#look(trial, s));
  }

  /** @returns what is in the way at this moment; of trades it is where that lasts */
  async #look(trial: Trial, signal: AbortSignal): Promise<string | null> {
    const { chain, log, platform } = this.#deps;
    const { contract, obstacle: before } = trial;
    const request = { from: contract, to: contract, value: 0n, data: paymentsCall(NO_PAYMENT) };
    const tried = await chain.estimateGas(fromContract(chain, request), signal);
    const fault = tried.ok || tried.error.kind === "Reverted" ? null : tried.error;
    const now = fault && `${unknownText(contract)}: ${fault.message.replace(/\.$/, "")}; ${neededText(platform)}`;
    const nowMs = this.#steadyMs();
    trial.awaySinceMs = fault?.kind === "Unreachable" ? (trial.awaySinceMs ?? nowMs) : null;
    // One question that a node left open would have an order wait for half a minute, longer than a taker waits.
    const isBrief = trial.awaySinceMs !== null && nowMs - trial.awaySinceMs < AGAIN_MS;
    if (before !== null || !isBrief) trial.obstacle = now;
    trial.untilMs = nowMs + (fault === null ? KEPT_MS : AGAIN_MS);
    if (trial.obstacle !== (before ?? null)) log.warn("claims_tried", { coin: chain.ticker, obstacle: trial.obstacle });
    return now;
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }
}

const unknownText = (contract: EvmAddress): string =>
  `whether a claim of a token from the swap contract ${checksumAddress(contract)} would be paid, the nodes do not say`;
const neededText = (platform: string): string =>
  `enable ${platform} with nodes that carry out calls whose sender has code, as geth, Erigon, Nethermind, Besu and reth of today do`;
