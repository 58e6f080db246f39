import type { CoinEntry } from "../../../core/coin/coinEntry.ts";
import { FieldReader } from "../../../core/coin/fieldReader.ts";
import type { EvmAddress } from "../../../core/evm/address.ts";
import { type EvmKind, evmKind, parseContractAddress } from "../../../core/evm/evmKind.ts";
import type { HdAddressId } from "../../../core/keys/hd.ts";
import type { KeyPair } from "../../../core/keys/keyPair.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import type { AccountChain } from "../../../ports/accountChain.ts";
import type { AccountNodes, EnableTokensError, EvmEnableError } from "../evmParts.ts";
import { lookAgain } from "../lookAgain.ts";
import { AccountPool, type AccountPoolDeps, awayText, type NodesCheck, type PlatformKind } from "./accountPool.ts";
import type { EvmAccount } from "./evmAccount.ts";
import { EvmCoin } from "./evmCoin.ts";
import { EvmSwapCoin } from "./evmSwapCoin.ts";
import { badUrls } from "./namedNodes.ts";
import { TokenFollowers } from "./tokenFollowers.ts";

export type EvmCoinsDeps = AccountPoolDeps & {
  readonly entries: ReadonlyMap<string, CoinEntry>;
  readonly keyOf: (entry: CoinEntry) => Result<KeyPair, { readonly kind: "NotSupported"; readonly coin: string; readonly reason: string }>;
  readonly hdKeyOf: ((entry: CoinEntry, id: HdAddressId) => KeyPair | null) | null;
  /** See `SafetyRules`. */
  readonly feeCeilingFactor: number;
};

export type EvmEnable = {
  readonly nodes: AccountNodes;
  readonly requiredConfirmations: number | undefined;
  readonly requiresNotarization: boolean | undefined;
  /** Through the platform's own call, where a token inherits the prefix of signed messages (rpc.md 8.2). */
  readonly inheritsPrefix: boolean;
};

/**
 * `away`: why it is there for swaps alone, a sentence; null: it is there. `refused`: what nodes show of it is not what the request and the coins
 * file say; absent where they have not shown it yet.
 */
export type OpenedEvmCoin = { readonly coin: EvmCoin; readonly away: string | null; readonly refused?: EvmEnableError };

/** Stands in for the decimal places of a token that neither its entry nor its contract has told. */
const UNTOLD_DECIMALS = 18;

type Wanted = {
  readonly entry: CoinEntry;
  readonly kind: EvmKind;
  readonly contract: EvmAddress;
  readonly requiredConfirmations: number | undefined;
};

/** Of tokens beside their platform coin. */
const NO_NODES: AccountNodes = { urls: undefined, swapContract: undefined, fallbackSwapContract: undefined };

type Contracts = { readonly swap: EvmAddress | null; readonly fallback: EvmAddress | null };
const contractsOf = ({ swap, fallback }: Contracts): readonly EvmAddress[] => [swap, fallback].filter((contract) => contract !== null);

/** Opens and closes the coins of account chains. Loaded when the first of them is enabled. */
export class EvmCoins {
  readonly #deps: EvmCoinsDeps;
  readonly #pool: AccountPool;
  readonly #tokens = new TokenFollowers();

  constructor(deps: EvmCoinsDeps) {
    this.#deps = deps;
    this.#pool = new AccountPool(deps);
  }

  /**
   * @param keep it is wanted for swaps that wait for it, also while its nodes are away: then nothing of it has been checked, and it must
   * be opened once more before anything else may use it, which leaves this one as it is
   */
  async open(entry: CoinEntry, request: EvmEnable, signal: AbortSignal, keep: boolean): Promise<Result<OpenedEvmCoin, EvmEnableError>> {
    const kind = evmKind(entry);
    if (!kind.ok) return notSupported(entry.ticker, kind.error.reason);
    const platform = this.#platform(kind.value);
    if (!platform.ok) return platform;
    const key = this.#keyOf(entry, platform.value.ticker);
    if (!key.ok) return key;
    const refused = this.#pool.refusal(platform.value, key.value, request.nodes.urls);
    if (refused !== null) return err({ kind: "BadAccountNodes", reason: refused });
    const contracts = readContracts(entry, request.nodes);
    if (!contracts.ok) return contracts;
    const check = contractsCheck(entry.ticker, [contracts.value.swap, contracts.value.fallback]);
    const taken = await this.#pool.take(entry.ticker, platform.value, key.value, request.nodes.urls ?? [], check, signal, keep);
    if (!taken.ok) return taken;
    const { account, away, isNew } = taken.value;
    if (away !== null) return ok({ coin: this.#unchecked(entry, kind.value, account, contracts.value, request), away });
    const giveBack = async (): Promise<void> => {
      if (isNew) await this.#pool.release(entry.ticker, account);
    };
    try {
      const unused = await this.#useNodes(entry.ticker, platform.value, account, request.nodes.urls, check, signal);
      const coin = unused ? err(unused) : await this.#check(entry, kind.value, account, contracts.value, request, signal);
      if (coin.ok) {
        if (request.nodes.gasPolicy !== undefined) coin.value.gasPolicy.choose(request.nodes.gasPolicy);
        return ok({ coin: coin.value, away: null });
      }
      // They showed the account, and went away since; or the contract or token is another by what they or the coins file say now.
      const { error } = coin;
      const why = keep ? awayText(error) : null;
      if (why !== null) {
        const kept = { coin: this.#unchecked(entry, kind.value, account, contracts.value, request), away: why };
        return ok(error.kind === "DaemonFailed" ? kept : { ...kept, refused: error });
      }
      await giveBack();
      return coin;
    } catch (cause) {
      await giveBack();
      throw cause;
    }
  }

  /** A token beside its platform coin, whose nodes are away; see `open`. */
  openUnchecked(platform: EvmCoin, entry: CoinEntry, requiredConfirmations: number | undefined): Result<EvmCoin, EnableTokensError> {
    const { account, spec } = platform;
    const wanted = this.#wanted(account, entry, requiredConfirmations);
    if (!wanted.ok) return wanted;
    this.#pool.share(entry.ticker, account);
    const contracts = { swap: spec.swapContract, fallback: spec.fallbackSwapContract };
    const request = { nodes: NO_NODES, requiredConfirmations, requiresNotarization: undefined, inheritsPrefix: true };
    return ok(this.#unchecked(entry, wanted.value.kind, account, contracts, request));
  }

  #unchecked(entry: CoinEntry, kind: EvmKind, account: EvmAccount, contracts: Contracts, request: EvmEnable): EvmCoin {
    const { asset } = kind;
    if (asset.kind === "token") {
      this.#tokens.follow(account, [asset.contract]);
      this.#followTrials(account, [asset.contract], contracts);
      // It ends when the chain is closed, at the latest; the token stays watched whatever comes of it.
      account.chain.watchTokens(account.address, [asset.contract]).catch(() => undefined);
    }
    // What swaps have agreed on is in base units.
    return this.#coin(entry, kind, kind.decimals ?? UNTOLD_DECIMALS, account, contracts, request);
  }

  /** One of them goes, and another one of the same ticker stays on its account. */
  leave({ account, contract }: EvmCoin): void {
    if (contract !== null) this.#tokens.unwatch(account, [contract]);
  }

  /**
   * An open platform coin goes on with the nodes a request names, and all that is on its account with it. A token's request changes no
   * nodes: many name fewer, or none. What no start could open the coin with is refused: the request may be remembered for the next.
   */
  async useNodes({ spec, account, ticker }: EvmCoin, nodes: AccountNodes, signal: AbortSignal): Promise<EvmEnableError | null> {
    const platform = this.#platform(spec.kind);
    if (!platform.ok) return platform.error;
    const refused = ticker === platform.value.ticker ? badUrls(nodes.urls) : null;
    if (refused !== null) return { kind: "BadAccountNodes", reason: refused };
    const contracts = readContracts(spec, nodes);
    if (!contracts.ok) return contracts.error;
    const { swap, fallback } = contracts.value;
    const known = [spec.swapContract, spec.fallbackSwapContract];
    const others = [swap, fallback].filter((contract) => !known.includes(contract));
    // Those in use had the ones it came with. With others that do not its swaps would see no payment.
    const check: NodesCheck = (chain, until) =>
      contractsCheck(ticker, chain === account.chain ? others : [...known, ...others])(chain, until);
    return this.#useNodes(ticker, platform.value, account, nodes.urls, check, signal);
  }

  /** Refused by the check, those in use stay. */
  async #useNodes(
    ticker: string,
    platform: PlatformKind,
    account: EvmAccount,
    urls: readonly string[] | undefined,
    check: NodesCheck,
    signal: AbortSignal,
  ): Promise<EvmEnableError | null> {
    if (ticker !== platform.ticker || urls === undefined) return check(account.chain, signal);
    return this.#pool.useNodes(ticker, platform, account, urls, check, signal);
  }

  /**
   * Opens tokens beside their platform coin, all or none of them: its swap contracts, its prefix of signed messages, and a
   * handful of requests however many they are.
   */
  async openTokens(
    platform: EvmCoin,
    tokens: readonly { readonly entry: CoinEntry; readonly requiredConfirmations: number | undefined }[],
    signal: AbortSignal,
  ): Promise<Result<readonly EvmCoin[], EnableTokensError>> {
    const { account } = platform;
    const { chain } = account;
    const wanted: Wanted[] = [];
    for (const { entry, requiredConfirmations } of tokens) {
      const one = this.#wanted(account, entry, requiredConfirmations);
      if (!one.ok) return one;
      wanted.push(one.value);
    }
    const contracts = wanted.map((w) => w.contract);
    const decimals = await chain.tokensDecimals(contracts, signal);
    if (!decimals.ok) return chainFault(account.platform, decimals.error);
    const watched = await this.#tokens.watch(account.platform, account, contracts, signal);
    if (!watched.ok) return watched;
    const opened = this.#besides(platform, wanted, decimals.value);
    if (!opened.ok) {
      this.#tokens.unwatch(account, contracts);
      return opened;
    }
    const { swapContract: swap, fallbackSwapContract: fallback } = platform.spec;
    await this.#tryTokens(account, contracts, { swap, fallback }, signal);
    for (const { entry } of wanted) this.#pool.share(entry.ticker, account);
    return opened;
  }

  #wanted(account: EvmAccount, entry: CoinEntry, requiredConfirmations: number | undefined): Result<Wanted, EnableTokensError> {
    const kind = evmKind(entry);
    if (!kind.ok) return notSupported(entry.ticker, kind.error.reason);
    const { asset } = kind.value;
    if (asset.kind !== "token" || asset.platform !== account.platform)
      return err({ kind: "PlatformCoinMismatch", ticker: entry.ticker, platform: account.platform });
    const key = this.#keyOf(entry, account.platform);
    return key.ok ? ok({ entry, kind: kind.value, contract: asset.contract, requiredConfirmations }) : key;
  }

  #besides(
    platform: EvmCoin,
    wanted: readonly Wanted[],
    decimals: readonly Result<number, { readonly kind: string; readonly message: string }>[],
  ): Result<readonly EvmCoin[], EnableTokensError> {
    const { account } = platform;
    const contracts = { swap: platform.spec.swapContract, fallback: platform.spec.fallbackSwapContract };
    const coins: EvmCoin[] = [];
    for (const [i, { entry, kind, contract, requiredConfirmations }] of wanted.entries()) {
      const told = decimals[i];
      if (!told) throw new Error("fewer answers than tokens");
      if (!told.ok) return chainFault(entry.ticker, told.error);
      const fault = decimalsFault(kind, told.value);
      if (fault) return fault;
      if (!account.chain.token(contract, account.address)) return noBalance(entry.ticker, account.chain);
      const request = { nodes: NO_NODES, requiredConfirmations, requiresNotarization: undefined, inheritsPrefix: true };
      coins.push(this.#coin(entry, kind, told.value, account, contracts, request));
    }
    return ok(coins);
  }

  /**
   * A token's account is its platform coin's, which pays its fees. In an HD wallet an entry with another path would be another
   * address, whichever way the token is enabled.
   */
  #keyOf(entry: CoinEntry, platform: string): Result<KeyPair, EvmEnableError> {
    const { entries, keyOf, hdKeyOf } = this.#deps;
    const other = entries.get(platform) ?? entry;
    const { ticker, derivationPath: path } = entry;
    if (hdKeyOf === null || path === null || path === other.derivationPath) return keyOf(other);
    return notSupported(
      ticker,
      `its derivation_path is ${path}, and that of its platform coin ${platform}, which pays its fees, is another`,
    );
  }

  async close(coin: EvmCoin): Promise<void> {
    this.leave(coin);
    await this.#pool.release(coin.ticker, coin.account);
  }

  /** Of a token what the chain has: its decimals and balance. */
  async #check(
    entry: CoinEntry,
    kind: EvmKind,
    account: EvmAccount,
    contracts: Contracts,
    request: EvmEnable,
    signal: AbortSignal,
  ): Promise<Result<EvmCoin, EvmEnableError>> {
    const { chain, address } = account;
    const { ticker, asset } = kind;
    let { decimals } = kind;
    if (asset.kind === "token") {
      const told = await chain.tokenDecimals(asset.contract, signal);
      if (!told.ok) return chainFault(ticker, told.error);
      const fault = decimalsFault(kind, told.value);
      if (fault) return fault;
      decimals = told.value;
      const watched = await this.#tokens.watch(ticker, account, [asset.contract], signal);
      if (!watched.ok) return watched;
      if (!chain.token(asset.contract, address)) {
        this.#tokens.unwatch(account, [asset.contract]);
        return noBalance(ticker, chain);
      }
      await this.#tryTokens(account, [asset.contract], contracts, signal);
    }
    if (decimals === null) throw new Error(`${ticker} has no decimals`);
    return ok(this.#coin(entry, kind, decimals, account, contracts, request));
  }

  /** Whether they arrive whole where they are paid to, before anybody offers them. Where that is called off they are followed no more. */
  async #tryTokens(account: EvmAccount, tokens: readonly EvmAddress[], contracts: Contracts, signal: AbortSignal): Promise<void> {
    this.#followTrials(account, tokens, contracts);
    const refresh = async (s?: AbortSignal): Promise<void> => {
      for (const token of tokens) await account.tokens.look(token, s);
      await account.claims.look(contractsOf(contracts), s);
    };
    try {
      await lookAgain(account.clock, { refresh }, signal);
    } catch (cause) {
      this.#tokens.unwatch(account, tokens);
      throw cause;
    }
  }

  #followTrials(account: EvmAccount, tokens: readonly EvmAddress[], contracts: Contracts): void {
    for (const contract of contractsOf(contracts)) {
      account.claims.follow(contract);
      for (const token of tokens) account.tokens.follow({ token, contract });
    }
  }

  #coin(entry: CoinEntry, kind: EvmKind, decimals: number, account: EvmAccount, contracts: Contracts, request: EvmEnable): EvmCoin {
    const { hdKeyOf, feeCeilingFactor } = this.#deps;
    const { derivationPath } = entry;
    return new EvmCoin(
      {
        kind,
        decimals,
        signMessagePrefix: request.inheritsPrefix ? account.signMessagePrefix : kind.signMessagePrefix,
        swapContract: contracts.swap,
        fallbackSwapContract: contracts.fallback,
        orderbookTicker: entry.orderbookTicker,
        walletOnly: entry.walletOnly,
        minTradingVol: entry.minTradingVol,
        confirmations: request.requiredConfirmations ?? kind.confirmations,
        notarization: request.requiresNotarization ?? kind.notarization,
        hd: hdKeyOf && derivationPath !== null ? { derivationPath, keyAt: (id) => hdKeyOf(entry, id) } : null,
      },
      account,
      (coin) => new EvmSwapCoin(coin, feeCeilingFactor, (ticker) => this.#isTokenOf(ticker, coin)),
    );
  }

  #isTokenOf(ticker: string, { ticker: platform, contract }: EvmCoin): boolean {
    const entry = this.#deps.entries.get(ticker);
    const kind = entry && contract === null ? evmKind(entry) : null;
    return kind?.ok === true && kind.value.asset.kind === "token" && kind.value.asset.platform === platform;
  }

  /** The platform coin of a coin: itself, or the one its entry names. */
  #platform(kind: EvmKind): Result<PlatformKind, EvmEnableError> {
    const { ticker, asset } = kind;
    const name = asset.kind === "native" ? ticker : asset.platform;
    const entry = this.#deps.entries.get(name);
    const platform = entry ? evmKind(entry) : null;
    if (!entry || !platform) return notSupported(ticker, `its platform coin ${name} is not in the coins file`);
    if (!platform.ok) return notSupported(ticker, `its platform coin ${name}: ${platform.error.reason}`);
    const { asset: native, decimals } = platform.value;
    if (native.kind !== "native" || decimals === null) return notSupported(ticker, `its platform coin ${name} is a token itself`);
    const logsBlockRange = new FieldReader(entry.raw).uint("logs_block_range");
    return ok({ ...platform.value, decimals, chainId: native.chainId, logsBlockRange: logsBlockRange === 0 ? null : logsBlockRange });
  }
}

const notSupported = (coin: string, reason: string): Result<never, EvmEnableError> => err({ kind: "NotSupported", coin, reason });
const mismatch = (coin: string, reason: string): Result<never, EvmEnableError> => err({ kind: "ChainMismatch", coin, reason });

/** Nodes that did not say alike what a token answered leave the same gap as a token that did not: a look at it may have failed. */
function noBalance(coin: string, chain: AccountChain): Result<never, EvmEnableError> {
  const { error, alone } = chain.status();
  if (error === null || error === alone) return mismatch(coin, "its contract does not answer balanceOf(address)");
  return err({ kind: "DaemonFailed", coin, message: error });
}
const decimalsFault = ({ ticker, decimals }: EvmKind, told: number): Result<never, EvmEnableError> | null =>
  decimals === null || decimals === told
    ? null
    : mismatch(ticker, `its contract has ${told} decimal places, and the coins file says ${decimals}`);

type ChainFault = { readonly kind: string; readonly message: string };

function faultOf(coin: string, fault: ChainFault): EvmEnableError {
  const message = fault.message.replace(/\.$/, "");
  const isOfNodes = fault.kind === "Unreachable" || fault.kind === "Refused";
  return isOfNodes ? { kind: "DaemonFailed", coin, message } : { kind: "ChainMismatch", coin, reason: message };
}

const chainFault = (coin: string, fault: ChainFault): Result<never, EvmEnableError> => err(faultOf(coin, fault));

/** What the chain has at the contracts' addresses. */
const contractsCheck =
  (ticker: string, contracts: readonly (EvmAddress | null)[]): NodesCheck =>
  async (chain, signal) => {
    for (const contract of contracts) {
      const checked = contract === null ? null : await chain.checkSwapContract(contract, signal);
      if (checked && !checked.ok) return faultOf(ticker, checked.error);
    }
    return null;
  };

/** The contracts a request names; a coin that may trade needs the first (rpc.md 5.1). */
function readContracts(entry: Pick<CoinEntry, "walletOnly">, nodes: AccountNodes): Result<Contracts, EvmEnableError> {
  const bad = (reason: string): Result<never, EvmEnableError> => err({ kind: "BadAccountNodes", reason });
  const { swapContract, fallbackSwapContract } = nodes;
  if (swapContract === undefined && !entry.walletOnly) return bad("swap_contract_address is required for trading-capable coins");
  const swap = swapContract === undefined ? null : parseContractAddress(swapContract);
  if (swap && !swap.ok) return bad(`swap_contract_address ${swap.error.reason}`);
  const fallback = fallbackSwapContract === undefined ? null : parseContractAddress(fallbackSwapContract);
  if (fallback && !fallback.ok) return bad(`fallback_swap_contract ${fallback.error.reason}`);
  return ok({ swap: swap?.value ?? null, fallback: fallback?.value ?? null });
}
