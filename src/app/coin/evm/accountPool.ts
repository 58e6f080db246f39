import { addressOfPubkey, type EvmAddress } from "../../../core/evm/address.ts";
import type { EvmKind } from "../../../core/evm/evmKind.ts";
import type { KeyPair } from "../../../core/keys/keyPair.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import type { AccountChain } from "../../../ports/accountChain.ts";
import { Aborted, type Clock, withDeadline } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import type { EvmEnableError, EvmParts, OpenedAccountChain } from "../evmParts.ts";
import { FAILING_MS, FIRST_BALANCE_MS } from "../firstLook.ts";
import { lookAgain } from "../lookAgain.ts";
import { whenFailing } from "../whenFailing.ts";
import { AccountFunds } from "./accountFunds.ts";
import { AllowanceKeeper } from "./allowanceKeeper.ts";
import type { EvmAccount } from "./evmAccount.ts";
import { NonceKeeper } from "./nonceKeeper.ts";
import { NonceLedger } from "./nonceLedger.ts";
import { PayoutGate } from "./payoutGate.ts";
import { TokenTrials } from "./tokenTrials.ts";

/** The adapter's own bound. */
const MAX_URLS = 32;
/** Characters of a refused address that are shown. */
const MAX_SHOWN = 100;

export type AccountPoolDeps = { readonly clock: Clock; readonly log: Log; readonly parts: EvmParts };

export type PlatformKind = EvmKind & { readonly decimals: number; readonly chainId: bigint; readonly logsBlockRange: number | null };

type Opened = Result<EvmAccount, EvmEnableError>;
type Shared = {
  readonly platform: string;
  /** The nodes in use. */
  urls: readonly string[];
  /** Null until it is open. */
  chain: OpenedAccountChain | null;
  readonly opened: Promise<Opened>;
  /** Null until it is open. */
  account: EvmAccount | null;
  readonly users: Set<string>;
};

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

  /** The account of a key, opened with `urls` unless it is there already. `user` gives it back with `release`, unless this fails. */
  async take(user: string, platform: PlatformKind, key: KeyPair, urls: readonly string[], signal: AbortSignal): Promise<Opened> {
    const address = addressOfPubkey(key.publicKey);
    const id = idOf(platform.chainId, address);
    let shared = this.#shared.get(id);
    if (shared && shared.platform !== platform.ticker) return err(clash(user, platform, shared.platform));
    if (!shared) {
      const before = this.#closing.get(id) ?? Promise.resolve();
      const onChain = (chain: OpenedAccountChain): void => {
        if (shared) shared.chain = chain;
      };
      const opened = before.then(() => this.#open(user, platform, key, address, urls, onChain, signal));
      shared = { platform: platform.ticker, urls, chain: null, opened, account: null, users: new Set() };
      this.#shared.set(id, shared);
    }
    shared.users.add(user);
    try {
      const opened = await shared.opened;
      if (opened.ok) shared.account = opened.value;
      else this.#forget(id, shared);
      return opened;
    } catch (cause) {
      this.#forget(id, shared);
      throw cause;
    }
  }

  /**
   * An account that is in use goes on with other nodes, once these were seen to serve its chain and answer: those it had may be why it is
   * enabled anew. Nothing the ones before said counts any more. Without effect where they are the same, and on an account that was closed.
   *
   * @returns why they are not used; nothing has changed then
   */
  async useNodes(
    user: string,
    platform: PlatformKind,
    account: EvmAccount,
    urls: readonly string[],
    signal: AbortSignal,
  ): Promise<EvmEnableError | null> {
    const shared = this.#shared.get(idOf(account.chain.chainId, account.address));
    if (shared?.account !== account || sameNodes(shared.urls, urls) || !shared.chain?.useNodes) return null;
    const refused = badUrls(urls);
    if (refused !== null) return { kind: "BadAccountNodes", reason: refused };
    const { ticker, chainId, logsBlockRange } = platform;
    const tried = await this.#deps.parts.openChain({ ticker, chainId, urls, logsBlockRange });
    if (!tried.ok) return badUrl(urls, tried.error.index);
    try {
      const failed = await this.#firstLook(user, tried.value, account.address, signal);
      if (failed !== null) return failed;
    } finally {
      await tried.value.close();
    }
    if (shared.account !== account || this.#shared.get(idOf(account.chain.chainId, account.address)) !== shared) return null;
    const used = shared.chain.useNodes(urls);
    if (!used.ok) return badUrl(urls, used.error.index);
    shared.urls = urls;
    account.tokens.forget();
    account.nonces.nodesExchanged();
    // What swaps rest on is looked at before anybody is told that it is done; how that goes shows in the coin's status.
    await lookAgain(this.#deps.clock, account.chain, signal);
    await account.payouts.look(signal);
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
    address: EvmAddress,
    urls: readonly string[],
    onChain: (chain: OpenedAccountChain) => void,
    signal: AbortSignal,
  ): Promise<Opened> {
    const { clock, log, parts } = this.#deps;
    const { ticker, chainId, logsBlockRange } = platform;
    const chain = await parts.openChain({ ticker, chainId, urls, logsBlockRange });
    if (!chain.ok) return err(badUrl(urls, chain.error.index));
    onChain(chain.value);
    const nonces = new NonceLedger({ chain: chain.value, address, store: parts.store, log });
    try {
      const failed = await this.#firstLook(user, chain.value, address, signal);
      if (failed === null) {
        await nonces.open(signal);
        const { signMessagePrefix } = platform;
        const gas = { ...platform.gas };
        const funds = new AccountFunds({ chain: chain.value, address, nonces, clock });
        const keeper = new NonceKeeper({ chain: chain.value, key, address, gas, nonces, funds, clock, log });
        const unlimited = parts.unlimitedAllowances;
        const allowances = new AllowanceKeeper({ chain: chain.value, key, address, gas, nonces, funds, log, unlimited });
        const payouts = new PayoutGate({ chain: chain.value, address, platform: ticker, log });
        await payouts.look(signal);
        keeper.start();
        payouts.start();
        const tokens = new TokenTrials({ chain: chain.value, address, clock, log });
        tokens.start();
        return ok({
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
          clock,
        });
      }
      await chain.value.close();
      return err(failed);
    } catch (cause) {
      await chain.value.close();
      throw cause;
    }
  }

  /**
   * The account is seen, and as many nodes as must agree serve this chain; what went wrong otherwise. One of three that names another chain
   * must not keep the coin closed after a restart, while swaps wait for it.
   */
  async #firstLook(user: string, chain: AccountChain, address: EvmAddress, signal: AbortSignal): Promise<EvmEnableError | null> {
    const { clock, log } = this.#deps;
    const foreign = () => chain.status().nodes.filter((node) => node.state === "refused");
    const isForeign = (): boolean => foreign().length * 2 >= chain.status().nodes.length && foreign().length > 0;
    const failing = whenFailing(withoutAnswer(chain), clock, FAILING_MS);
    const wrongChain = new AbortController();
    const off = chain.onChange(() => {
      // Waiting would not help.
      if (isForeign()) wrongChain.abort();
    });
    let failed: EvmEnableError | null = null;
    try {
      const parents = [signal, failing.signal, wrongChain.signal];
      await withDeadline(clock, FIRST_BALANCE_MS, parents, (s) => chain.watchAccount(address, s));
      if (!chain.account(address) || !chain.gasPrices()) failed = unreached(user, "the nodes gave no balance or no price of gas");
    } catch (cause) {
      if (!(cause instanceof Aborted) || signal.aborted) throw cause;
      failed = unreached(user, chain.status().error ?? "the nodes did not answer in time");
    } finally {
      off();
      failing.stop();
    }
    const list = foreign()
      .map((node) => `${node.name}: ${node.trouble}`)
      .join("; ");
    if (list !== "" && failed === null) log.warn("nodes_of_another_chain", { coin: user, nodes: list });
    if (!isForeign()) return failed;
    return { kind: "ChainMismatch", coin: user, reason: `a node of urls serves another chain: ${list}` };
  }
}

/** Unreachable only while no node answers: where too few do, the others have as long as a balance, and one of two then carries on alone. */
const withoutAnswer = (chain: AccountChain): Parameters<typeof whenFailing>[0] => ({
  onChange: (listener) => chain.onChange(listener),
  status() {
    const status = chain.status();
    const answers = status.nodes.some(({ state }) => state === "good" || state === "lagging");
    return answers && status.state === "unreachable" ? { ...status, state: "starting" } : status;
  },
});

const idOf = (chainId: bigint, address: EvmAddress): string => `${chainId}/${address}`;
/** The coins file may have two platform coins with one chain id. */
const clash = (coin: string, { ticker, chainId }: PlatformKind, other: string): EvmEnableError => ({
  kind: "ChainMismatch",
  coin,
  reason: `${ticker} has the chain id of ${other}, which is enabled (${chainId}); both would take the same nonces, so disable ${other} first`,
});

/** Of an address that cannot be used: without login, path and query, which may hold a provider's key. */
function shownUrl(text: string): string {
  const [, scheme = "", rest = ""] = /^([a-z0-9+.-]{0,20}:\/\/)?(.*)$/is.exec(text) ?? [];
  const authority = rest.replace(/[/?#].*$/s, "");
  const host = authority.slice(authority.lastIndexOf("@") + 1).slice(0, MAX_SHOWN);
  return `${scheme}${host}${authority === rest ? "" : "/..."}`;
}

function badUrl(urls: readonly string[], index: number): EvmEnableError {
  const url = shownUrl(urls[index] ?? "");
  return { kind: "BadAccountNodes", reason: `Invalid node address '${url}'. Only http(s) and ws(s) nodes are supported` };
}

/** Their order says nothing. */
const sameNodes = (a: readonly string[], b: readonly string[]): boolean =>
  a.every((url) => b.includes(url)) && b.every((url) => a.includes(url));

const unreached = (coin: string, message: string): EvmEnableError => ({ kind: "DaemonFailed", coin, message });

/** KDF's words for what `urls` lacks (rpc.md 5.1); null: it can be tried. */
function badUrls(urls: readonly string[] | undefined): string | null {
  if (urls === undefined) return "invalid type: null, expected a sequence";
  if (urls.length === 0) return "Enable request for ETH coin must have at least 1 node URL";
  return urls.length > MAX_URLS ? `${urls.length} node URLs; at most ${MAX_URLS} are used` : null;
}
