import { addressOfPubkey, type EvmAddress } from "../../../core/evm/address.ts";
import type { EvmKind } from "../../../core/evm/evmKind.ts";
import type { KeyPair } from "../../../core/keys/keyPair.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import type { AccountChain } from "../../../ports/accountChain.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import type { EvmEnableError, EvmParts, OpenedAccountChain } from "../evmParts.ts";
import { lookAgain } from "../lookAgain.ts";
import { AccountFunds } from "./accountFunds.ts";
import { FAILING_AGAIN_MS, firstLook, unreached } from "./accountLook.ts";
import { AllowanceKeeper } from "./allowanceKeeper.ts";
import { ClaimTrials } from "./claimTrials.ts";
import type { EvmAccount } from "./evmAccount.ts";
import { badUrl, badUrls, sameNodes } from "./namedNodes.ts";
import { NonceKeeper } from "./nonceKeeper.ts";
import { NonceLedger } from "./nonceLedger.ts";
import { PayoutGate } from "./payoutGate.ts";
import { TokenTrials } from "./tokenTrials.ts";

export type AccountPoolDeps = { readonly clock: Clock; readonly log: Log; readonly parts: EvmParts };

export type PlatformKind = EvmKind & { readonly decimals: number; readonly chainId: bigint; readonly logsBlockRange: number | null };

/** `away`: why its nodes have not shown it yet, a sentence; null: they have. */
type Opened = Result<{ readonly account: EvmAccount; readonly away: string | null }, EvmEnableError>;
type Shared = {
  readonly platform: string;
  /** The nodes in use. */
  urls: readonly string[];
  /** Null until it is open. */
  chain: OpenedAccountChain | null;
  readonly opened: Promise<Opened>;
  /** Null until it is open. */
  account: EvmAccount | null;
  away: string | null;
  readonly users: Set<string>;
};
/** `isNew`: it had no such user before. */
type Taken = { readonly account: EvmAccount; readonly away: string | null; readonly isNew: boolean };

/** What nodes must show before they are used; null: they do. */
export type NodesCheck = (chain: AccountChain, signal: AbortSignal) => Promise<EvmEnableError | null>;

/** The accounts that enabled coins share: one chain, one account and one nonce ledger for a platform coin and all its tokens. */
export class AccountPool {
  readonly #deps: AccountPoolDeps;
  /** By chain id and address: that is what a sequence of nonces belongs to. */
  readonly #shared = new Map<string, Shared>();
  readonly #closing = new Map<string, Promise<void>>();

  constructor(deps: AccountPoolDeps) {
    this.#deps = deps;
  }

  /** Why the account cannot be opened with these; null: it can be tried, or is there already. */
  refusal(platform: PlatformKind, key: KeyPair, urls: readonly string[] | undefined): string | null {
    return this.#shared.has(idOf(platform.chainId, addressOfPubkey(key.publicKey))) ? null : badUrls(urls);
  }

  /**
   * The account of a key, opened with `urls` unless it is there already. `user` gives it back with `release`, unless this fails. One that
   * its nodes had not shown is looked at anew, through `urls` where these are others.
   *
   * @param check what else such others must show before they are used
   * @param keep it is wanted for what waits for it, also while its nodes are away
   */
  async take(
    user: string,
    platform: PlatformKind,
    key: KeyPair,
    urls: readonly string[],
    check: NodesCheck,
    signal: AbortSignal,
    keep = false,
  ): Promise<Result<Taken, EvmEnableError>> {
    const address = addressOfPubkey(key.publicKey);
    const id = idOf(platform.chainId, address);
    const there = this.#shared.get(id);
    if (there && there.platform !== platform.ticker) return err(clash(user, platform, there.platform));
    const shared = there ?? this.#begin(id, user, platform, key, urls, signal, keep);
    const isNew = !shared.users.has(user);
    shared.users.add(user);
    try {
      const opened = await shared.opened;
      if (!opened.ok) {
        this.#forget(id, shared);
        return opened;
      }
      const { account } = opened.value;
      const failed = there && shared.away !== null ? await this.#seeAtLast(user, platform, shared, account, urls, check, signal) : null;
      const away = failed === null ? shared.away : awayText(failed);
      if (failed === null && away === null) return ok({ account, away, isNew });
      if (keep && away !== null) return ok({ account, away, isNew });
      if (isNew) await this.release(user, account);
      return err(failed ?? unreached(user, away ?? ""));
    } catch (cause) {
      if (shared.account === null) this.#forget(id, shared);
      else if (isNew) await this.release(user, shared.account);
      throw cause;
    }
  }

  #begin(
    id: string,
    user: string,
    platform: PlatformKind,
    key: KeyPair,
    urls: readonly string[],
    signal: AbortSignal,
    keep: boolean,
  ): Shared {
    const before = this.#closing.get(id) ?? Promise.resolve();
    const onChain = (chain: OpenedAccountChain): void => {
      shared.chain = chain;
    };
    const opened = before
      .then(() => this.#open(user, platform, key, urls, onChain, signal, keep))
      .then((done) => {
        if (done.ok) [shared.account, shared.away] = [done.value.account, done.value.away];
        return done;
      });
    const shared: Shared = { platform: platform.ticker, urls, chain: null, opened, account: null, away: null, users: new Set() };
    this.#shared.set(id, shared);
    return shared;
  }

  /** The nodes of an account that was kept without them are looked at again. @returns what is wrong with them still; null: nothing */
  async #seeAtLast(
    user: string,
    platform: PlatformKind,
    shared: Shared,
    account: EvmAccount,
    urls: readonly string[],
    check: NodesCheck,
    signal: AbortSignal,
  ): Promise<EvmEnableError | null> {
    const isOther = urls.length > 0 && !sameNodes(shared.urls, urls) && shared.chain?.useNodes !== undefined;
    if (isOther) return this.useNodes(user, platform, account, urls, check, signal);
    const failed = await firstLook(this.#deps, user, account.chain, account.address, signal, FAILING_AGAIN_MS);
    if (failed === null) await this.#seen(shared, account, signal);
    return failed;
  }

  /** What swaps rest on is looked at before anybody is told that it is there. */
  async #seen(shared: Shared, account: EvmAccount, signal: AbortSignal): Promise<void> {
    await account.payouts.look(signal);
    shared.away = null;
  }

  /**
   * An account that is in use goes on with other nodes, once these were seen to serve its chain and answer: those it had may be why it is
   * enabled anew. Nothing the ones before said counts any more. Without effect where they are the same, and on an account that was closed.
   *
   * @param check what else they must show; asked of those in use where these are the same
   * @returns why they are not used; nothing has changed then
   */
  async useNodes(
    user: string,
    platform: PlatformKind,
    account: EvmAccount,
    urls: readonly string[],
    check: NodesCheck,
    signal: AbortSignal,
  ): Promise<EvmEnableError | null> {
    const shared = this.#shared.get(idOf(account.chain.chainId, account.address));
    if (shared?.account !== account || sameNodes(shared.urls, urls) || !shared.chain?.useNodes) return check(account.chain, signal);
    const refused = badUrls(urls);
    if (refused !== null) return { kind: "BadAccountNodes", reason: refused };
    const { ticker, chainId, logsBlockRange } = platform;
    const tried = await this.#deps.parts.openChain({ ticker, chainId, urls, logsBlockRange });
    if (!tried.ok) return badUrl(urls, tried.error.index);
    try {
      const failed = (await firstLook(this.#deps, user, tried.value, account.address, signal)) ?? (await check(tried.value, signal));
      if (failed !== null) return failed;
    } finally {
      await tried.value.close();
    }
    if (shared.account !== account || this.#shared.get(idOf(account.chain.chainId, account.address)) !== shared) return null;
    const used = shared.chain.useNodes(urls);
    if (!used.ok) return badUrl(urls, used.error.index);
    shared.urls = urls;
    account.tokens.forget();
    account.claims.forget();
    account.nonces.nodesExchanged();
    // How that goes shows in the coin's status.
    await lookAgain(this.#deps.clock, account.chain, signal);
    await this.#seen(shared, account, signal);
    return null;
  }

  #forget(id: string, shared: Shared): void {
    if (this.#shared.get(id) === shared) this.#shared.delete(id);
  }

  /** Another user of an account that is in use; without effect on one that was closed meanwhile. */
  share(user: string, account: EvmAccount): void {
    const shared = this.#shared.get(idOf(account.chain.chainId, account.address));
    if (shared?.account === account) shared.users.add(user);
  }

  async release(user: string, account: EvmAccount): Promise<void> {
    const id = idOf(account.chain.chainId, account.address);
    const shared = this.#shared.get(id);
    if (shared?.account !== account) return;
    shared.users.delete(user);
    if (shared.users.size > 0) return;
    this.#shared.delete(id);
    // Whoever opens the account again must find everything the old ledger still writes.
    const closed = account.keeper
      .close()
      .then(() => account.payouts.close())
      .then(() => account.tokens.close())
      .then(() => account.claims.close())
      .then(() => account.nonces.close())
      .then(() => account.chain.close());
    this.#closing.set(id, closed);
    try {
      await closed;
    } finally {
      if (this.#closing.get(id) === closed) this.#closing.delete(id);
    }
  }

  async #open(
    user: string,
    platform: PlatformKind,
    key: KeyPair,
    urls: readonly string[],
    onChain: (chain: OpenedAccountChain) => void,
    signal: AbortSignal,
    keep: boolean,
  ): Promise<Opened> {
    const { clock, log, parts } = this.#deps;
    const { ticker, chainId, logsBlockRange } = platform;
    const address = addressOfPubkey(key.publicKey);
    const chain = await parts.openChain({ ticker, chainId, urls, logsBlockRange });
    if (!chain.ok) return err(badUrl(urls, chain.error.index));
    onChain(chain.value);
    const nonces = new NonceLedger({ chain: chain.value, address, store: parts.store, log });
    try {
      const failed = await firstLook(this.#deps, user, chain.value, address, signal);
      const away = failed !== null && keep ? awayText(failed) : null;
      if (failed !== null && away === null) {
        await chain.value.close();
        return err(failed);
      }
      await nonces.open(signal);
      const { signMessagePrefix } = platform;
      const gas = { ...platform.gas };
      const funds = new AccountFunds({ chain: chain.value, address, nonces, clock });
      const keeper = new NonceKeeper({ chain: chain.value, key, address, gas, nonces, funds, clock, log });
      const unlimited = parts.unlimitedAllowances;
      const allowances = new AllowanceKeeper({ chain: chain.value, key, address, gas, nonces, funds, log, unlimited });
      const payouts = new PayoutGate({ chain: chain.value, address, platform: ticker, log });
      if (away === null) await payouts.look(signal);
      keeper.start();
      payouts.start();
      const tokens = new TokenTrials({ chain: chain.value, address, clock, log });
      tokens.start();
      const claims = new ClaimTrials({ chain: chain.value, platform: ticker, clock, log });
      claims.start();
      const account: EvmAccount = {
        platform: ticker,
        platformDecimals: platform.decimals,
        gas,
        signMessagePrefix,
        chain: chain.value,
        key,
        address,
        nonces,
        funds,
        keeper,
        payouts,
        allowances,
        tokens,
        claims,
        clock,
      };
      return ok({ account, away });
    } catch (cause) {
      await chain.value.close();
      throw cause;
    }
  }
}

/**
 * Why a coin or account is kept for swaps alone; null: it cannot be kept. What is not as it should be by what nodes say is of no use to them, and
 * so no worse than nodes that are away: one of two that names another chain at a start must not keep a swap from what it has to do on its other coin.
 */
export function awayText(failed: EvmEnableError): string | null {
  if (failed.kind === "DaemonFailed") return failed.message;
  return failed.kind === "ChainMismatch" ? failed.reason : null;
}

const idOf = (chainId: bigint, address: EvmAddress): string => `${chainId}/${address}`;
/** The coins file may have two platform coins with one chain id. */
const clash = (coin: string, { ticker, chainId }: PlatformKind, other: string): EvmEnableError => ({
  kind: "ChainMismatch",
  coin,
  reason: `${ticker} has the chain id of ${other}, which is enabled (${chainId}); both would take the same nonces, so disable ${other} first`,
});
