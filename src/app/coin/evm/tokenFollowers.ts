import type { EvmAddress } from "../../../core/evm/address.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import { Aborted, withDeadline } from "../../../ports/clock.ts";
import type { EvmEnableError } from "../evmParts.ts";
import { FIRST_BALANCE_MS } from "../firstLook.ts";
import type { EvmAccount } from "./evmAccount.ts";

/** Follows the balances of enabled tokens; two entries of one contract follow the same one. */
export class TokenFollowers {
  /** How many enabled tokens follow a balance. */
  readonly #followers = new Map<string, number>();

  /** Until they are seen. @returns why they are not followed; then nothing has changed */
  async watch(
    coin: string,
    account: EvmAccount,
    contracts: readonly EvmAddress[],
    signal: AbortSignal,
  ): Promise<Result<undefined, EvmEnableError>> {
    const { chain, address, clock } = account;
    this.follow(account, contracts);
    try {
      await withDeadline(clock, FIRST_BALANCE_MS, signal, (s) => chain.watchTokens(address, contracts, s));
      return ok(undefined);
    } catch (cause) {
      this.unwatch(account, contracts);
      if (!(cause instanceof Aborted) || signal.aborted) throw cause;
      return err({ kind: "DaemonFailed", coin, message: chain.status().error ?? "the nodes did not answer in time" });
    }
  }

  follow(account: EvmAccount, contracts: readonly EvmAddress[]): void {
    for (const contract of contracts) this.#followers.set(followKey(account, contract), this.#followersOf(account, contract) + 1);
  }

  unwatch(account: EvmAccount, contracts: readonly EvmAddress[]): void {
    for (const contract of contracts) {
      const left = this.#followersOf(account, contract) - 1;
      if (left > 0) this.#followers.set(followKey(account, contract), left);
      else {
        this.#followers.delete(followKey(account, contract));
        account.chain.unwatch({ tokens: [{ token: contract, owner: account.address }] });
      }
    }
  }

  #followersOf(account: EvmAccount, contract: EvmAddress): number {
    return this.#followers.get(followKey(account, contract)) ?? 0;
  }
}

const followKey = ({ chain, address }: EvmAccount, contract: EvmAddress): string => `${chain.chainId}/${address}/${contract}`;
