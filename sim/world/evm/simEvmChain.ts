import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { addressFromBytes, addressOfPubkey, type EvmAddress } from "../../../src/core/evm/address.ts";
import { parseTransferEvent, transferCall } from "../../../src/core/evm/erc20.ts";
import { nextBaseFee } from "../../../src/core/evm/gas.ts";
import { parseEvmTx } from "../../../src/core/evm/parseTx.ts";
import { signEvmTx } from "../../../src/core/evm/signTx.ts";
import { type PaymentRecord, parseSwapEvent, SWAP_TOPICS } from "../../../src/core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../src/core/evm/tx.ts";
import { textToKeyPair } from "../../../src/core/keys/iguana.ts";
import type { KeyPair } from "../../../src/core/keys/keyPair.ts";
import { toHex } from "../../../src/core/util/bytes.ts";
import { err, ok, type Result } from "../../../src/core/util/result.ts";
import type { CallRequest, PaymentEvent, Receipt, TokenArrival, TokenTrip } from "../../../src/ports/accountChain.ts";
import type { BlockRef } from "../../../src/ports/chain.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { EvmLog, NativeContract } from "./evmCall.ts";
import { EvmPool, feeCap, type PoolAnswer, type PoolRules } from "./evmPool.ts";
import { EvmState, type Undo } from "./evmState.ts";
import { BLOCK_MAKER, BURNED, executeTx, type MinedTx, type Ran, runCall } from "./executeTx.ts";
import { SimSwapContract } from "./simSwapContract.ts";
import { SimToken, type TokenManners } from "./simToken.ts";

const GWEI = 1_000_000_000n;
/** What the chain begins with, all at the faucet. */
const SUPPLY_WEI = 10n ** 30n;
const TOKEN_SUPPLY = 10n ** 30n;
const FAUCET_GAS = 100_000n;

export type SimEvmOptions = {
  readonly ticker: string;
  readonly chainId: bigint;
  readonly clock: Clock;
  /** Default one, at `simAddress("swap contract")`. */
  readonly swapContracts?: readonly EvmAddress[];
  readonly tokens?: readonly TokenManners[];
  /** What the base fee swings around while nothing is wrong; wei per gas. Default 10 gwei. */
  readonly usualBaseFee?: bigint;
  /** What others pay beside it; wei per gas. Default 1 gwei. */
  readonly usualTip?: bigint;
  /** Blocks on top of one that is final; null: this chain knows no finality. Default 64. */
  readonly finalDepth?: number | null;
  readonly pool?: Partial<PoolRules>;
};

export type EvmBlock = BlockRef & {
  readonly parentHash: string;
  readonly timeSec: number;
  readonly baseFee: bigint;
  /** By strangers, too. */
  readonly gasUsed: bigint;
  readonly gasLimit: bigint;
  readonly txs: readonly MinedTx[];
};

/** A transaction of the chain or of its pool. */
export type FoundTx = {
  readonly signed: SignedEvmTx;
  readonly block: EvmBlock | null;
  readonly receipt: Receipt | null;
  /** What it paid beside its gas. */
  readonly dataFee?: bigint;
};
type EventKind = "sent" | "spent" | "refunded";

/** An address that a name stands for. */
export const simAddress = (name: string): EvmAddress => addressFromBytes(sha256(utf8ToBytes(name)).subarray(0, 20));

/**
 * One chain of accounts of the world, with swap contracts and tokens carried out in TypeScript. Blocks come when told (`mine`);
 * strangers fill them so that the base fee swings around the usual one. All nodes share it; each looks at it through its own view.
 */
export class SimEvmChain {
  readonly ticker: string;
  readonly chainId: bigint;
  readonly swapContracts: readonly EvmAddress[];
  readonly tokens: ReadonlyMap<EvmAddress, SimToken>;
  readonly pool: EvmPool;
  /** Transactions that are left out of blocks. */
  readonly held = new Set<string>();
  /** Swap contracts that do not look at what a token brought them, as deployments of others. */
  readonly trusting = new Set<EvmAddress>();
  /** Blocks take nothing that bids less, wei per gas: others fill them. */
  leastPrice = 0n;
  /** Gas of every transaction beside its own, as on chains that write their data to another one. */
  dataGas = 0n;
  /** Wei for each byte of a transaction, taken from its sender beside its gas, as on chains of the OP stack. */
  dataFeePerByte = 0n;
  readonly usualTip: bigint;
  readonly #state = new EvmState();
  readonly #contracts: Map<EvmAddress, NativeContract>;
  readonly #clock: Clock;
  readonly #usualBaseFee: bigint;
  readonly #finalDepth: number | null;
  readonly #faucet: KeyPair;
  #blocks: { readonly block: EvmBlock; undo: Undo }[] = [];
  readonly #mined = new Map<string, FoundTx>();
  readonly #events = new Map<string, Map<EventKind, PaymentEvent>>();
  readonly #listeners = new Set<() => void>();
  #finalized: number | null;
  #spike: { readonly factor: bigint; readonly untilMs: number; readonly isSudden: boolean } | null = null;
  #stopAutoMine: () => void = () => undefined;
  /** Tells blocks of different branches apart. */
  #branch = 0;

  constructor(options: SimEvmOptions) {
    const { ticker, chainId, clock, swapContracts = [simAddress("swap contract")], tokens = [], finalDepth = 64 } = options;
    const faucet = textToKeyPair(`faucet of ${ticker}`);
    if (faucet === null) throw new Error("no key for the faucet");
    this.ticker = ticker;
    this.chainId = chainId;
    this.swapContracts = swapContracts;
    this.usualTip = options.usualTip ?? GWEI;
    this.tokens = new Map(tokens.map((manners) => [manners.address, new SimToken(manners)]));
    const contracts = new Map<EvmAddress, NativeContract>(this.tokens);
    const isContract = (address: EvmAddress): boolean => contracts.has(address);
    for (const at of swapContracts) contracts.set(at, new SimSwapContract(at, this.tokens, isContract, () => this.trusting.has(at)));
    this.#contracts = contracts;
    this.#clock = clock;
    this.#usualBaseFee = options.usualBaseFee ?? 10n * GWEI;
    this.#finalDepth = finalDepth;
    this.#finalized = finalDepth === null ? null : 0;
    this.#faucet = faucet;
    const rules = { blockGasLimit: 30_000_000n, leastTip: 1n, maxTxs: 5_000, maxAhead: 64n, queuedForMs: 3 * 3_600_000 };
    this.pool = new EvmPool({ ...rules, ...options.pool, chainId }, this.#state, clock, (signed) => this.dataFee(signed.raw.length));
    this.#state.addWei(this.faucetAddress, SUPPLY_WEI);
    for (const token of this.tokens.keys()) this.#state.addToken(token, this.faucetAddress, TOKEN_SUPPLY);
    this.#state.seal();
    this.#connect([], this.#nowSec, null);
  }

  get #nowSec(): number {
    return Math.floor(this.#clock.nowMs() / 1_000);
  }
  get faucetAddress(): EvmAddress {
    return addressOfPubkey(this.#faucet.publicKey);
  }
  get tip(): EvmBlock {
    const last = this.#blocks.at(-1);
    if (last === undefined) throw new Error("a chain without a block");
    return last.block;
  }
  /** Height up to which no reorg goes; null: this chain knows no finality. */
  get finalized(): number | null {
    return this.#finalized;
  }
  at(height: number): EvmBlock | undefined {
    return this.#blocks[height]?.block;
  }
  hashes(): readonly string[] {
    return this.#blocks.map(({ block }) => block.hash);
  }

  // What is at the tip.

  balance(address: EvmAddress): bigint {
    return this.#state.wei(address);
  }
  nonceOf(address: EvmAddress): bigint {
    return this.#state.nonce(address);
  }
  pendingNonce(address: EvmAddress): bigint {
    return this.#state.nonce(address) + BigInt(this.pool.pending(address).length);
  }
  tokenBalance(token: EvmAddress, owner: EvmAddress): bigint {
    return this.#state.token(token, owner);
  }
  allowance(token: EvmAddress, owner: EvmAddress, spender: EvmAddress): bigint {
    return this.#state.allowance(token, owner, spender);
  }
  isContract(address: EvmAddress): boolean {
    return this.#contracts.has(address);
  }
  /** An account delegates to code that is run with whatever is sent there (EIP-7702); null: it takes that back. No reorg does. */
  delegate(account: EvmAddress, code: NativeContract | null): void {
    if (code === null) this.#contracts.delete(account);
    else this.#contracts.set(account, code);
  }
  payment(contract: EvmAddress, id: string): PaymentRecord {
    return this.#state.payment(contract, id);
  }
  /** The transaction that made, claimed or refunded a payment. */
  event(contract: EvmAddress, id: string, kind: EventKind): PaymentEvent | null {
    return this.#events.get(`${contract}/${id}`)?.get(kind) ?? null;
  }
  find(txid: string): FoundTx | undefined {
    const waiting = this.pool.get(txid);
    return this.#mined.get(txid) ?? (waiting === undefined ? undefined : { signed: waiting, block: null, receipt: null });
  }

  /** All wei there are, the burned ones and the block maker's included: the same at every moment. */
  totalWei(): bigint {
    return this.#state.totalWei();
  }
  /** All there is of a token: the same at every moment. */
  totalOf(token: EvmAddress): bigint {
    return this.#state.totalOf(token);
  }
  /** Base fees paid so far, and what was paid beside them; wei. */
  get burned(): bigint {
    return this.#state.wei(BURNED);
  }
  get earned(): bigint {
    return this.#state.wei(BLOCK_MAKER);
  }
  /** Wei taken beside the gas for the data of a transaction of so many bytes. */
  dataFee(bytes: number): bigint {
    return this.dataFeePerByte * BigInt(bytes);
  }
  /** Wei a transaction in a block paid for its gas, and for its data beside that. Throws when it is in none. */
  feeOf(txid: string): bigint {
    const mined = this.#mined.get(txid);
    if (!mined?.receipt) throw new Error(`${txid} is in no block of ${this.ticker}`);
    return mined.receipt.gasUsed * (mined.receipt.effectiveGasPrice ?? 0n) + (mined.dataFee ?? 0n);
  }

  /** What a transaction pays while nothing is wrong, wei per gas. */
  get usualPrice(): bigint {
    return this.#usualBaseFee + this.usualTip;
  }

  // What people do.

  /** What a call would do at the tip, at its time; it does not. Null: `from` has less than `value`. */
  try(request: CallRequest): Ran | null {
    if (this.balance(request.from) < request.value) return null;
    const mark = this.#state.mark();
    const ran = runCall({ state: this.#state, contracts: this.#contracts, timeSec: this.tip.timeSec, dataGas: this.dataGas }, request);
    this.#state.rollback(mark);
    return ran;
  }

  /** What a token that is moved to a contract and back does with it; nothing stays moved. Null: it refuses. */
  tokenTrip(token: EvmAddress, owner: EvmAddress, contract: EvmAddress, amount: bigint): TokenTrip | null {
    const mark = this.#state.mark();
    const around = { state: this.#state, contracts: this.#contracts, timeSec: this.tip.timeSec };
    const move = (from: EvmAddress, to: EvmAddress, units: bigint): readonly [bigint, bigint] | null => {
      const [own, theirs] = [this.tokenBalance(token, from), this.tokenBalance(token, to)];
      const ran = runCall(around, { from, to: token, value: 0n, data: transferCall(to, units) });
      if (!ran.ok || (ran.output.length > 0 && ran.output.at(-1) !== 1)) return null;
      return [own - this.tokenBalance(token, from), this.tokenBalance(token, to) - theirs];
    };
    const there = move(owner, contract, amount);
    const back = there && move(contract, owner, there[1] < amount ? there[1] : amount);
    this.#state.rollback(mark);
    return there && back && { left: there[0], arrived: there[1], leftBack: back[0], arrivedBack: back[1] };
  }

  /** Into the pool, as a node does with what it is sent. */
  send(raw: Uint8Array): PoolAnswer {
    const parsed = parseEvmTx(raw);
    if (!parsed.ok) return { kind: "refused", message: "no transaction this chain can read" };
    if (this.#mined.has(parsed.value.txid)) return { kind: "known" };
    return this.pool.add(parsed.value);
  }

  /** Pays from the faucet, into the pool; a token where one is named. */
  payFromFaucet(to: EvmAddress, value: bigint, data: Uint8Array = new Uint8Array(0)): SignedEvmTx {
    const price = { maxFeePerGas: 1_000_000n * GWEI, maxPriorityFeePerGas: 100n * GWEI, accessList: [] };
    const nonce = this.pendingNonce(this.faucetAddress);
    const tx = { type: "eip1559", chainId: this.chainId, nonce, gasLimit: FAUCET_GAS, to, value, data, ...price } as const;
    const signed = signEvmTx(tx, this.#faucet);
    const sent = this.send(signed.raw);
    if (sent.kind === "refused") throw new Error(`the faucet of ${this.ticker} failed: ${sent.message}`);
    return signed;
  }

  // What the chain does.

  /** Makes blocks from the pool. */
  mine(count = 1): readonly EvmBlock[] {
    return Array.from({ length: count }, () => this.#connect("pool", this.#nowSec));
  }

  /**
   * Blocks so full that the base fee climbs to `factor` times the usual one and stays there. `isSudden`: it is there in one
   * block, which no chain does, so the node can be tried with more than it can reckon with.
   */
  spike(factor: bigint, forMs: number, isSudden = false): void {
    this.#spike = { factor, untilMs: this.#clock.nowMs() + forMs, isSudden };
  }

  /** Makes a block every `intervalMs` from now on; null stops it. */
  autoMine(intervalMs: number | null): void {
    this.#stopAutoMine();
    if (intervalMs === null) return;
    this.#stopAutoMine = this.#clock.after(intervalMs, () => {
      this.mine();
      this.autoMine(intervalMs);
    });
  }

  /**
   * Replaces the last `depth` blocks by one more. What was in them goes back to the pool, where it still may, but for `forget`.
   * The new blocks are empty unless `refill`. Refused below what is final.
   */
  reorg(
    depth: number,
    options: { readonly forget?: readonly string[]; readonly refill?: boolean } = {},
  ): Result<EvmBlock, { kind: "Final" }> {
    const fork = this.tip.height - depth;
    if (depth < 1 || fork < (this.#finalized ?? 0)) return err({ kind: "Final" });
    const off = this.#blocks.splice(fork + 1);
    for (const { block, undo } of [...off].reverse()) this.#disconnect(block, undo);
    this.#branch++;
    const forget = new Set(options.forget);
    for (const { signed } of off.flatMap(({ block }) => block.txs)) if (!forget.has(signed.txid)) this.pool.add(signed);
    for (const txid of forget) this.pool.remove(txid);
    const times = [...off.map(({ block }) => block.timeSec), this.#nowSec];
    for (const timeSec of times) this.#connect(options.refill === true ? "pool" : [], timeSec);
    return ok(this.tip);
  }

  /** Called after each block, those of a reorg included. Returns the unsubscriber. */
  onBlock(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** What the next block asks at least. */
  get nextBaseFee(): bigint {
    return this.#baseFeeAfter(this.tip);
  }

  get #goal(): bigint {
    if (this.#spike !== null && this.#clock.nowMs() >= this.#spike.untilMs) this.#spike = null;
    return this.#usualBaseFee * (this.#spike?.factor ?? 1n);
  }

  #baseFeeAfter(parent: EvmBlock): bigint {
    const next = nextBaseFee(parent);
    const goal = this.#goal;
    return this.#spike?.isSudden === true && next < goal ? goal : next;
  }

  #connect(from: "pool" | readonly [], atSec: number, parent: EvmBlock | null = this.tip): EvmBlock {
    const baseFee = parent === null ? this.#usualBaseFee : this.#baseFeeAfter(parent);
    const timeSec = Math.max(atSec, (parent?.timeSec ?? 0) + 1);
    const around = { state: this.#state, contracts: this.#contracts, timeSec, dataGas: this.dataGas };
    const txs: MinedTx[] = [];
    if (from === "pool") {
      this.pool.fill(baseFee, (signed) => {
        const isLeftOut = this.held.has(signed.txid) || feeCap(signed) < this.leastPrice;
        const mined = isLeftOut ? null : executeTx(around, signed, baseFee, this.dataFee(signed.raw.length));
        if (mined !== null) txs.push(mined);
        return mined?.receipt.gasUsed ?? null;
      });
    }
    const { blockGasLimit } = this.pool.rules;
    const ours = txs.reduce((sum, tx) => sum + tx.receipt.gasUsed, 0n);
    const height = parent === null ? 0 : parent.height + 1;
    const text = [this.ticker, height, parent?.hash, this.#branch, timeSec, ...txs.map((tx) => tx.signed.txid)].join("/");
    const block: EvmBlock = {
      height,
      hash: toHex(sha256(utf8ToBytes(text))),
      parentHash: parent?.hash ?? "0".repeat(64),
      timeSec,
      baseFee,
      gasUsed: ours > this.#strangers(baseFee) ? ours : this.#strangers(baseFee),
      gasLimit: blockGasLimit,
      txs,
    };
    this.#blocks.push({ block, undo: this.#state.seal() });
    for (const mined of txs) this.#index(block, mined);
    if (this.#finalDepth !== null) this.#finalized = Math.max(this.#finalized ?? 0, height - this.#finalDepth);
    const final = this.#blocks[this.#finalized ?? -1];
    if (final !== undefined) final.undo = [];
    this.pool.tidy();
    for (const listener of [...this.#listeners]) listener();
    return block;
  }

  /** Gas used with what strangers send: it brings the base fee to where it should be, as far as a block can. */
  #strangers(baseFee: bigint): bigint {
    const { blockGasLimit } = this.pool.rules;
    const goal = this.#goal;
    return baseFee < goal ? blockGasLimit : baseFee > goal ? 0n : blockGasLimit / 2n;
  }

  #index(block: EvmBlock, { signed, receipt, logs, dataFee }: MinedTx): void {
    const { txid } = signed;
    this.pool.remove(txid);
    this.#mined.set(txid, { signed, block, receipt, dataFee });
    for (const { address, topics, data } of logs) {
      const event = parseSwapEvent(topics, data);
      if (!event.ok) continue;
      const isPayment = event.value.kind === "sent";
      const payments = isPayment ? logs.filter((log) => log.address === address && log.topics[0] === SWAP_TOPICS.sent).length : 0;
      const arrivals = isPayment ? arrivalsAt(address, logs) : [];
      const key = `${address}/${toHex(event.value.id)}`;
      const secret = event.value.kind === "spent" ? event.value.secret : null;
      const ref = { height: block.height, hash: block.hash };
      const events = this.#events.get(key) ?? new Map<EventKind, PaymentEvent>();
      this.#events.set(key, events.set(event.value.kind, { txid, block: ref, secret, payments, arrivals }));
    }
  }

  #disconnect({ txs }: EvmBlock, undo: Undo): void {
    for (const take of undo) take();
    const ids = new Set(txs.map((tx) => tx.signed.txid));
    for (const id of ids) this.#mined.delete(id);
    for (const events of this.#events.values()) for (const [kind, { txid }] of events) if (ids.has(txid)) events.delete(kind);
  }
}

/** What tokens told in a transaction that they brought a contract. */
function arrivalsAt(contract: EvmAddress, logs: readonly EvmLog[]): readonly TokenArrival[] {
  return logs.flatMap(({ address, topics, data }) => {
    const event = parseTransferEvent(topics, data);
    return event.ok && event.value.to === contract ? { token: address, amount: event.value.amount } : [];
  });
}
