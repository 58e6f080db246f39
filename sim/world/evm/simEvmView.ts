import type { LookResult } from "../../../src/adapters/evmRpc/chainLook.ts";
import { type ChainView, paymentKey, tokenKey } from "../../../src/adapters/evmRpc/chainView.ts";
import type { LookFault } from "../../../src/adapters/evmRpc/fault.ts";
import { LookLoop } from "../../../src/adapters/evmRpc/lookLoop.ts";
import { Unshown } from "../../../src/adapters/evmRpc/unshown.ts";
import { Watches } from "../../../src/adapters/evmRpc/watches.ts";
import { TransportFault } from "../../../src/chain/faults.ts";
import { RpcError } from "../../../src/chain/rpc/rpcError.ts";
import type { EvmAddress } from "../../../src/core/evm/address.ts";
import { parseEvmTx } from "../../../src/core/evm/parseTx.ts";
import { toHex } from "../../../src/core/util/bytes.ts";
import { err, ok, type Result } from "../../../src/core/util/result.ts";
import type {
  AccountChain,
  AccountChainStatus,
  AccountState,
  AccountTx,
  CallRequest,
  ChainReadError,
  NodeHealth,
  PaymentKey,
  ShownSecret,
  SwapPayment,
  TokenState,
  TokenTrip,
} from "../../../src/ports/accountChain.ts";
import type { BlockRef, BroadcastOutcome, ChainChange } from "../../../src/ports/chain.ts";
import { Aborted, type Clock, withDeadline } from "../../../src/ports/clock.ts";
import type { Log } from "../../../src/ports/log.ts";
import type { Life } from "../life.ts";
import type { BroadcastHook } from "../simChain.ts";
import { type EvmLink, SEND } from "./evmLink.ts";
import { lookAt } from "./evmLook.ts";
import type { SimEvmChain } from "./simEvmChain.ts";

export type SimEvmViewDeps = {
  readonly chain: SimEvmChain;
  readonly link: EvmLink;
  /** The process it belongs to. */
  readonly life: Life;
  /** That process's own clock. */
  readonly clock: Clock;
  readonly log: Log;
  readonly pollMs: number;
  readonly onBroadcast?: BroadcastHook;
};

const HEX_64 = /^[0-9a-f]{64}$/;
const LEAST_MS = 1_000;
const QUESTION_MS = 20_000;
const REFUSED_CODE = -32_000;

type Answer<T> = Promise<Result<T, ChainReadError>>;

/**
 * The account chain of one process: looks as the product's own adapter takes them (its `LookLoop`, its watches), at a chain in
 * memory instead of over JSON-RPC. Nothing is stored; the next process of the node opens another one over the same link.
 */
export class SimEvmView implements AccountChain {
  readonly ticker: string;
  readonly chainId: bigint;
  readonly #deps: SimEvmViewDeps;
  readonly #watches = new Watches();
  readonly #unshown = new Unshown();
  readonly #loop: LookLoop;
  readonly #done: Promise<void>;
  readonly #unsubscribe: () => void;
  #trouble: string | null = null;
  #known: { readonly view: ChainView; readonly version: number } | null = null;

  constructor(deps: SimEvmViewDeps) {
    const { chain, link, life, clock, log, pollMs } = deps;
    this.#deps = deps;
    this.ticker = chain.ticker;
    this.chainId = chain.chainId;
    const look = { take: () => this.#look() };
    const pool = { health: () => this.#health(), aloneText: () => null, hastyText: () => null };
    this.#loop = new LookLoop({ ticker: chain.ticker, pool, look, clock, log, pollMs, leastMs: Math.min(LEAST_MS, pollMs) });
    this.#unsubscribe = chain.onBlock(() => {
      if (!life.isAlive) this.#unsubscribe();
      else if (link.headDelayMs !== null) clock.after(link.headDelayMs, () => this.#loop.hurry());
    });
    this.#done = this.#loop.run();
  }

  /** A dead process gets no answer. */
  #look(): Promise<Result<LookResult, LookFault>> {
    const { chain, link, clock, life } = this.#deps;
    return life.guard(async () => {
      const answer = await this.#asked("look", (): Result<LookResult, LookFault> => {
        const { version } = this.#watches;
        const known = this.#known?.version === version ? this.#known.view : null;
        if (link.isStuck && known === null) return err({ kind: "too_few", what: "a new block", have: 0, need: 1, troubles: [] });
        const old = this.#known?.view ?? null;
        const view = link.isStuck && known !== null ? known : lookAt(chain, link, this.#watches, this.#unshown, old, clock.nowMs());
        this.#known = { view, version };
        return ok({ view, trouble: null });
      });
      this.#trouble = answer.ok ? null : answer.error;
      return answer.ok ? answer.value : err({ kind: "no_nodes", troubles: [answer.error] });
    });
  }

  /** Carries out `work` as the faults of the nodes let it: also when whoever asked is dead by then. The error: why no answer came. */
  async #asked<T>(method: string, work: () => T): Promise<Result<T, string>> {
    const answers: T[] = [];
    try {
      await this.#deps.link.faults.around(method, () => void answers.push(work()));
    } catch (cause) {
      if (cause instanceof TransportFault) return err(`the simulated nodes: ${cause.message}`);
      throw cause;
    }
    return answers.length > 0 ? ok(answers[0] as T) : err("the simulated nodes gave no answer");
  }

  #health(): readonly NodeHealth[] {
    const height = this.#known?.view.tip.height ?? null;
    const state = this.#trouble !== null ? "away" : height === null ? "new" : "good";
    return [{ name: "simulated", state, height, latencyMs: null, contradictions: 0, calls: 0, trouble: this.#trouble }];
  }

  #parents(signal: AbortSignal | undefined): readonly AbortSignal[] {
    return signal === undefined ? [this.#loop.signal] : [signal, this.#loop.signal];
  }

  async #question<T>(signal: AbortSignal | undefined, read: () => Result<T, ChainReadError>): Answer<T> {
    const parents = this.#parents(signal);
    const away = (why: string): Result<never, ChainReadError> => err({ kind: "Unreachable", message: this.#loop.status().error ?? why });
    try {
      const answer = await this.#deps.life.guard(() =>
        withDeadline(this.#deps.clock, QUESTION_MS, parents, () => this.#asked("eth_call", read)),
      );
      return answer.ok ? answer.value : away(`None of the ${this.ticker} nodes can be used: ${answer.error}.`);
    } catch (cause) {
      if (!(cause instanceof Aborted) || parents.some((parent) => parent.aborted)) throw cause;
      return away(`The ${this.ticker} nodes did not answer in time.`);
    }
  }

  status(): AccountChainStatus {
    return this.#loop.status();
  }
  onChange(listener: (change: ChainChange) => void): () => void {
    return this.#loop.onChange(listener);
  }
  async watchAccount(address: EvmAddress, signal?: AbortSignal): Promise<void> {
    this.#watches.addAccount(address);
    await this.#loop.fresh(signal);
  }
  account(address: EvmAddress): AccountState | undefined {
    return this.#loop.view?.accounts.get(address);
  }
  async watchTokens(owner: EvmAddress, tokens: readonly EvmAddress[], signal?: AbortSignal): Promise<void> {
    this.#watches.addTokens(owner, tokens);
    await this.#loop.fresh(signal);
  }
  token(token: EvmAddress, owner: EvmAddress): TokenState | undefined {
    return this.#loop.view?.tokens.get(tokenKey(token, owner));
  }
  async watchTx(txid: string, _fromHeight: number, signal?: AbortSignal): Promise<void> {
    if (!HEX_64.test(txid)) throw new Error("not a transaction id");
    this.#watches.addTx(txid);
    await this.#loop.fresh(signal);
  }
  tx(txid: string): AccountTx | undefined {
    return this.#loop.view?.txs.get(txid);
  }
  isUnread(txid: string): boolean {
    return this.#loop.view?.unread.has(txid) ?? false;
  }
  async watchPayment(key: PaymentKey & { readonly lockTime?: bigint }, fromHeight: number, signal?: AbortSignal): Promise<void> {
    if (!HEX_64.test(key.id)) throw new Error("not a payment id");
    if (!Number.isSafeInteger(fromHeight) || fromHeight < 0) throw new Error(`fromHeight ${fromHeight} is not a height`);
    this.#watches.addPayment(key, fromHeight);
    await this.#loop.fresh(signal);
  }
  payment(key: PaymentKey): SwapPayment | undefined {
    return this.#loop.view?.payments.get(paymentKey(key));
  }
  shownSecret(key: PaymentKey): ShownSecret | null {
    const { chain, link } = this.#deps;
    if (!link.isOneLeft || this.#trouble === null || !this.#watches.payments.has(paymentKey(key))) return null;
    const claim = chain.event(key.contract, key.id, "spent");
    return claim?.secret ? { txid: claim.txid, secret: claim.secret } : null;
  }
  unwatch({ accounts = [], tokens = [], txids = [], payments = [] }: Parameters<AccountChain["unwatch"]>[0]): void {
    for (const address of accounts) this.#watches.accounts.delete(address);
    for (const { token, owner } of tokens) this.#watches.tokens.delete(tokenKey(token, owner));
    for (const txid of txids) this.#watches.txs.delete(txid);
    for (const key of payments) this.#watches.payments.delete(paymentKey(key));
  }
  confirmations(block: BlockRef | null): number {
    const tip = this.#loop.view?.tip;
    return block === null || tip === undefined ? 0 : Math.max(0, tip.height - block.height + 1);
  }
  isFinal(block: BlockRef): boolean {
    const finalized = this.#loop.view?.tip.finalized ?? null;
    return finalized !== null && block.height <= finalized;
  }
  dataCost(): ReturnType<AccountChain["dataCost"]> {
    return this.#loop.view?.data ?? null;
  }
  gasPrices(): ReturnType<AccountChain["gasPrices"]> {
    return this.#loop.view?.prices ?? null;
  }

  #missing(address: EvmAddress, what: string): ChainReadError {
    const message = `There is no ${what} at 0x${address} on the ${this.ticker} chain.`;
    return { kind: this.#deps.chain.isContract(address) ? "OtherInterface" : "NoCode", address, message };
  }
  #decimals(token: EvmAddress): Result<number, ChainReadError> {
    const found = this.#deps.chain.tokens.get(token);
    return found === undefined ? err(this.#missing(token, "token")) : ok(found.decimals);
  }
  tokenDecimals(token: EvmAddress, signal?: AbortSignal): Answer<number> {
    return this.#question(signal, () => this.#decimals(token));
  }
  tokensDecimals(tokens: readonly EvmAddress[], signal?: AbortSignal): Answer<readonly Result<number, ChainReadError>[]> {
    return this.#question(signal, () => ok(tokens.map((token) => this.#decimals(token))));
  }
  allowance(token: EvmAddress, owner: EvmAddress, spender: EvmAddress, signal?: AbortSignal): Answer<bigint> {
    const { chain } = this.#deps;
    return this.#question(signal, () =>
      chain.tokens.has(token) ? ok(chain.allowance(token, owner, spender)) : err(this.#missing(token, "token")),
    );
  }
  checkSwapContract(contract: EvmAddress, signal?: AbortSignal): Answer<undefined> {
    const isOne = (): boolean => this.#deps.chain.swapContracts.includes(contract);
    return this.#question(signal, () => (isOne() ? ok(undefined) : err(this.#missing(contract, "swap contract"))));
  }
  hasCode(address: EvmAddress, signal?: AbortSignal): Answer<boolean> {
    return this.#question(signal, () => ok(this.#deps.chain.isContract(address)));
  }
  isOwnSwapContract(contract: EvmAddress, signal?: AbortSignal): Answer<boolean> {
    const { chain } = this.#deps;
    return this.#question(signal, () => ok(chain.swapContracts.includes(contract) && !chain.trusting.has(contract)));
  }
  tokenTrip(token: EvmAddress, owner: EvmAddress, contract: EvmAddress, amount: bigint, signal?: AbortSignal): Answer<TokenTrip> {
    return this.#question(signal, () => {
      if (this.#deps.link.hasNoOverrides) return err({ kind: "Refused", message: "The simulated nodes know no state overrides." });
      const trip = this.#deps.chain.tokenTrip(token, owner, contract, amount);
      return trip === null ? err({ kind: "Reverted", data: null, message: "The token refuses the transfer." }) : ok(trip);
    });
  }
  #try(request: CallRequest): Result<{ readonly output: Uint8Array; readonly gas: bigint }, ChainReadError> {
    const ran = this.#deps.chain.try(request);
    if (ran === null) return err({ kind: "Refused", message: `The ${this.ticker} nodes refused the request: too little balance.` });
    if (ran.ok) return ok(ran);
    return err({ kind: "Reverted", data: ran.data, message: `The ${this.ticker} chain would refuse the transaction.` });
  }
  call(request: CallRequest, signal?: AbortSignal, gas: bigint | null = null): Answer<Uint8Array> {
    return this.#question(signal, () => {
      const ran = this.#try(request);
      if (!ran.ok) return ran;
      // In a call no chain counts data.
      const isShort = gas !== null && gas < ran.value.gas - this.#deps.chain.dataGas;
      return isShort ? err({ kind: "Reverted", data: null, message: "out of gas." }) : ok(ran.value.output);
    });
  }
  estimateGas(request: CallRequest, signal?: AbortSignal, most: bigint | null = null): Answer<bigint> {
    return this.#question(signal, () => {
      const ran = this.#try(request);
      if (!ran.ok) return ran;
      const [gas, told] = [ran.value.gas, ran.value.gas + this.#deps.link.moreGas];
      const isDisputed = most !== null && gas <= most && told > most;
      return isDisputed ? err({ kind: "Unreachable", message: "The simulated nodes contradict each other.", isDisputed }) : ok(told);
    });
  }

  async broadcast(raw: Uint8Array, signal?: AbortSignal): Promise<BroadcastOutcome> {
    const parsed = parseEvmTx(raw);
    if (!parsed.ok) throw new Error("broadcast of bytes that are no transaction of this chain");
    const { txid, tx } = parsed.value;
    if (tx.chainId !== null && tx.chainId !== this.chainId)
      throw new Error(`broadcast of a transaction for the chain with id ${tx.chainId}`);
    const { clock, life, onBroadcast = () => undefined } = this.#deps;
    const parents = this.#parents(signal);
    return life.guard(async () => {
      onBroadcast(this.ticker, "before", toHex(raw));
      if (!life.isAlive) return { kind: "unknown", message: "dead" };
      let told: BroadcastOutcome["kind"] = "unknown";
      try {
        const outcome = await withDeadline(clock, QUESTION_MS, parents, () => this.#send(raw, txid));
        told = outcome.kind;
        return outcome;
      } catch (cause) {
        if (!(cause instanceof Aborted) || parents.some((parent) => parent.aborted)) throw cause;
        return { kind: "unknown", message: "no answer in time" };
      } finally {
        onBroadcast(this.ticker, "after", toHex(raw), told);
        if (this.#watches.txs.has(txid)) this.#loop.hurry();
      }
    });
  }

  async #send(raw: Uint8Array, txid: string): Promise<BroadcastOutcome> {
    const { chain, link } = this.#deps;
    const knows = (): boolean => chain.find(txid) !== undefined;
    const refused = (code: number, message: string): BroadcastOutcome =>
      knows() ? { kind: "already_known" } : { kind: "rejected", code, message };
    try {
      const give = (): BroadcastOutcome => {
        if (link.isSwallowing) return { kind: "accepted" };
        const answer = chain.send(raw);
        if (answer.kind === "refused") return refused(REFUSED_CODE, answer.message);
        return { kind: answer.kind === "taken" ? "accepted" : "already_known" };
      };
      // Whoever is left takes it, however few they are.
      const sent = link.isOneLeft ? ok(give()) : await this.#asked(SEND, give);
      return sent.ok ? sent.value : { kind: "unknown", message: sent.error };
    } catch (cause) {
      if (cause instanceof RpcError) return refused(cause.code, cause.message);
      throw cause;
    }
  }

  refresh(signal?: AbortSignal): Promise<void> {
    return this.#loop.fresh(signal);
  }
  async close(): Promise<void> {
    this.#unsubscribe();
    this.#loop.close();
    await this.#done;
  }
}
