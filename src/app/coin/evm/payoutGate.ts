import { ZERO_ADDRESS } from "../../../core/evm/address.ts";
import type { Log } from "../../../ports/log.ts";
import { ChainRounds } from "./chainRounds.ts";
import type { EvmAccount } from "./evmAccount.ts";
import { payoutObstacle } from "./payoutObstacle.ts";

export type PayoutGateDeps = Pick<EvmAccount, "chain" | "address" | "platform"> & { readonly log: Log };

/**
 * Whether new swaps of the platform coin may begin on an account: not while it has code that is not shown to take coins. A
 * delegation uses a nonce of its account (EIP-7702), so it is asked again whenever that has risen. What the code itself decides later is
 * tried before money moves and before a secret is shown (`prepareToSpend`).
 */
export class PayoutGate {
  readonly #deps: PayoutGateDeps;
  #obstacle: string | null = null;
  #hasCode = false;
  /** The nonce at which nothing was in the way. */
  #nonce: bigint | null = null;
  readonly #rounds: ChainRounds;

  constructor(deps: PayoutGateDeps) {
    this.#deps = deps;
    this.#rounds = new ChainRounds(deps, "payouts_not_tried", () => {
      const nonce = deps.chain.account(deps.address)?.nonce ?? null;
      return nonce === this.#nonce ? null : (signal) => this.look(signal);
    });
  }

  /** As last asked: a sentence, or null. */
  get obstacle(): string | null {
    return this.#obstacle;
  }

  /** Whether the account had code when last asked. */
  get hasCode(): boolean {
    return this.#hasCode;
  }

  start(): void {
    this.#rounds.start();
  }

  /** Asks now. */
  async look(signal?: AbortSignal): Promise<void> {
    const { chain, address, log } = this.#deps;
    const nonce = chain.account(address)?.nonce ?? null;
    const before = this.#obstacle;
    let isCodeKnown = false;
    this.#obstacle = await this.#rounds.within(signal, async (s) => {
      const code = await chain.hasCode(address, s);
      if (code.ok) this.#hasCode = code.value;
      isCodeKnown = code.ok;
      const obstacle = code.ok && !code.value ? null : await payoutObstacle(this.#deps, ZERO_ADDRESS, 0n, s);
      return obstacle?.reason ?? null;
    });
    // While something is in the way, every block may have it gone.
    this.#nonce = this.#obstacle === null && isCodeKnown ? nonce : null;
    if (this.#obstacle !== before) log.warn("payouts", { coin: chain.ticker, obstacle: this.#obstacle });
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }
}
