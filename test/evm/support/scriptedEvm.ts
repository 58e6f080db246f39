import { keccak_256 } from "@noble/hashes/sha3.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { EvmBackend } from "../../../src/adapters/evmRpc/evmNode.ts";
import { type EvmRpcChain, type EvmRpcOptions, openEvmRpcChain } from "../../../src/adapters/evmRpc/evmRpcChain.ts";
import { VirtualClock } from "../../../src/adapters/virtualClock/virtualClock.ts";
import { encodeWords } from "../../../src/core/evm/abi.ts";
import { addressFromBytes, type EvmAddress } from "../../../src/core/evm/address.ts";
import { signEvmTx } from "../../../src/core/evm/signTx.ts";
import { encodeSwapCall, paymentId, SWAP_TOPICS } from "../../../src/core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../src/core/evm/tx.ts";
import { keyPairFromScalar } from "../../../src/core/keys/keyPair.ts";
import { concatBytes, fromHex, toHex } from "../../../src/core/util/bytes.ts";
import { err, ok, type Result } from "../../../src/core/util/result.ts";
import { hash160 } from "../../../src/core/utxo/hash.ts";
import { Aborted, type Clock } from "../../../src/ports/clock.ts";
import type { DaemonCall, DaemonCallOptions, DaemonError, DaemonRpc } from "../../../src/ports/daemonRpc.ts";
import { SilentLog } from "../../fakes/silentLog.ts";

export const SCRIPT_CHAIN_ID = 7n;
export const SWAP_CONTRACT: EvmAddress = addressFromBytes(new Uint8Array(20).fill(0xcc));
export const OWNER: EvmAddress = addressFromBytes(new Uint8Array(20).fill(0xaa));
export const SECRET = "5e".repeat(32);
export const LOCK = 0x65542df0;
export const PAYMENT_ID = toHex(paymentId(LOCK, hash160(fromHex(SECRET))));
const KEY = keyPairFromScalar(new Uint8Array(32).fill(3));

export type Json = unknown;
type Event = { readonly kind: "sent" | "spent" | "refunded"; readonly id: string };
type Mined = { readonly tx: SignedEvmTx; readonly event: Event | null };
type Block = {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: number;
  readonly txs: readonly Mined[];
  /** State of each payment after this block. */
  readonly payments: ReadonlyMap<string, number>;
};

const hex = (n: number | bigint): string => `0x${n.toString(16)}`;
const hashOf = (text: string): string => `0x${toHex(keccak_256(utf8ToBytes(text)))}`;
const STATE = { sent: 1, spent: 2, refunded: 3 } as const;

/** A chain that exists only as the answers of its nodes: blocks when told, with payments of one swap contract. */
export class ScriptedEvm {
  readonly clock: VirtualClock;
  blocks: Block[] = [];
  readonly pool = new Map<string, SignedEvmTx>();
  #salt = "";
  #nonce = 0n;

  constructor(clock = new VirtualClock()) {
    this.clock = clock;
    this.mine();
  }

  get tip(): Block {
    const block = this.blocks.at(-1);
    if (block === undefined) throw new Error("no block");
    return block;
  }

  /** A transaction of the contract's, signed and not in a block. */
  transaction(event: Event | null): SignedEvmTx {
    if (KEY === null) throw new Error("a bad key");
    const [id, secret, amount, token] = [event === null ? new Uint8Array(32) : fromHex(event.id), fromHex(SECRET), 1n, OWNER];
    const data = encodeSwapCall({ kind: "receiverSpend", id, secret, amount, token, sender: OWNER });
    const price = { gasPrice: 10n ** 9n, gasLimit: 100_000n, value: 0n };
    return signEvmTx({ type: "legacy", chainId: SCRIPT_CHAIN_ID, nonce: this.#nonce++, to: SWAP_CONTRACT, data, ...price }, KEY);
  }

  /** A block with one transaction for each of `events`, and those given. */
  mine(events: readonly Event[] = [], others: readonly SignedEvmTx[] = []): readonly SignedEvmTx[] {
    const parent = this.blocks.at(-1);
    const number = parent === undefined ? 100 : parent.number + 1;
    const made = events.map((event) => ({ tx: this.transaction(event), event }));
    const payments = new Map(parent?.payments);
    for (const { id, kind } of events) payments.set(id, STATE[kind]);
    const txs = [...made, ...others.map((tx) => ({ tx, event: null }))];
    for (const { tx } of txs) this.pool.delete(tx.txid);
    const hash = hashOf(`${this.#salt}/${number}/${parent?.hash}`);
    const timestamp = Math.floor(this.clock.nowMs() / 1000);
    this.blocks.push({ number, hash, parentHash: parent?.hash ?? hashOf("genesis"), timestamp, txs, payments });
    return txs.map(({ tx }) => tx);
  }

  /** Takes back the last blocks; those mined afterwards have other hashes. */
  rewind(count: number): void {
    this.blocks = this.blocks.slice(0, -count);
    this.#salt += "x";
  }

  /** The same chain up to now, to go another way. */
  fork(): ScriptedEvm {
    const copy = new ScriptedEvm(this.clock);
    copy.blocks = [...this.blocks];
    copy.#salt = `${this.#salt}fork`;
    copy.#nonce = this.#nonce + 1_000n;
    return copy;
  }
}

type Override = (params: readonly Json[], honest: () => Json) => Json;

/** Thrown by an override: the node's own error. */
export class RpcRefusal extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** One node of a scripted chain: honest by default, wrong where a test says so. */
export class ScriptedNode implements DaemonRpc {
  readonly name: string;
  chain: ScriptedEvm;
  /** Answers of methods that are not the honest ones. */
  readonly says = new Map<string, Override>();
  /** Nothing comes back before the deadline. */
  hangs = false;
  /** Connections are refused. */
  dead = false;
  latencyMs = 1;
  /** Blocks it does not have yet. */
  behind = 0;
  /** Heads it tells of. */
  readonly listeners = new Set<() => void>();
  readonly calls: DaemonCall[] = [];
  requests = 0;
  closed = false;

  constructor(name: string, chain: ScriptedEvm) {
    this.name = name;
    this.chain = chain;
  }

  backend(): EvmBackend {
    const onHead = (listener: () => void): (() => void) => {
      this.listeners.add(listener);
      return () => void this.listeners.delete(listener);
    };
    const close = (): void => {
      this.closed = true;
    };
    return { name: this.name, rpc: this, onHead, close };
  }

  async call(method: string, params: readonly unknown[], options: DaemonCallOptions = {}): Promise<Result<unknown, DaemonError>> {
    const [answer] = await this.callBatch([{ method, params }], options);
    return answer ?? err({ kind: "unreachable", message: "nothing" });
  }

  async callBatch(calls: readonly DaemonCall[], options: DaemonCallOptions = {}): Promise<readonly Result<unknown, DaemonError>[]> {
    this.requests++;
    this.calls.push(...calls);
    const lost = (message: string) => calls.map(() => err<DaemonError>({ kind: "unreachable", message }));
    const waitMs = this.hangs ? (options.timeoutMs ?? 10_000) : this.latencyMs;
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        cancel();
        reject(new Aborted());
      };
      const cancel = this.chain.clock.after(waitMs, () => {
        options.signal?.removeEventListener("abort", stop);
        resolve();
      });
      if (options.signal?.aborted) stop();
      else options.signal?.addEventListener("abort", stop, { once: true });
    });
    if (this.hangs) return lost(`no answer within ${waitMs / 1000} s`);
    if (this.dead) return lost("nothing listens there");
    return calls.map((one) => this.#answer(one));
  }

  #answer({ method, params }: DaemonCall): Result<unknown, DaemonError> {
    const override = this.says.get(method);
    const honest = (): Json => this.#honest(method, params);
    try {
      return ok(override === undefined ? honest() : override(params, honest));
    } catch (cause) {
      if (!(cause instanceof RpcRefusal)) throw cause;
      return err({ kind: "rpc", code: cause.code, message: cause.message, ...(cause.data === undefined ? {} : { data: cause.data }) });
    }
  }

  get #blocks(): readonly Block[] {
    return this.chain.blocks.slice(0, this.chain.blocks.length - this.behind);
  }

  #blockAt(ref: Json): Block | undefined {
    const blocks = this.#blocks;
    if (ref === "latest" || ref === "pending") return blocks.at(-1);
    if (ref === "finalized") return blocks[Math.max(0, blocks.length - 5)];
    if (typeof ref === "string") return blocks.find((b) => hex(b.number) === ref);
    const wanted = (ref as { blockHash: string }).blockHash;
    const block = blocks.find((b) => b.hash === wanted);
    if (block === undefined) throw new RpcRefusal(-32000, "header not found");
    return block;
  }

  #honest(method: string, params: readonly Json[]): Json {
    const [first, second] = params;
    switch (method) {
      case "eth_chainId":
        return hex(SCRIPT_CHAIN_ID);
      case "eth_estimateGas":
        return "0x5208";
      case "eth_gasPrice":
        return hex(2_000_000_000);
      case "eth_feeHistory":
        return { baseFeePerGas: [hex(1_000_000_000)], reward: [["0x1", "0x2", "0x3"]] };
      case "eth_getBlockByNumber": {
        const block = this.#blockAt(first);
        return block === undefined ? null : headerJson(block);
      }
      case "eth_getBalance":
        return hex(1_000 + (this.#blockAt(second)?.number ?? 0));
      case "eth_getTransactionCount":
        this.#blockAt(second);
        return "0x5";
      case "eth_getCode":
        return String((first as string) === `0x${SWAP_CONTRACT}` ? "0x6000" : "0x");
      case "eth_call":
        return this.#call(first as { to?: string; data: string }, this.#blockAt(second));
      case "eth_getTransactionReceipt":
        return this.#receipt(first as string);
      case "eth_getTransactionByHash":
        return this.#transaction(first as string);
      case "eth_getLogs":
        return this.#logs(first as { fromBlock: string; toBlock: string; topics: string[][] });
      case "eth_sendRawTransaction":
        return this.#take(first as string);
      default:
        throw new RpcRefusal(-32601, `the method ${method} does not exist`);
    }
  }

  #take(raw: string): Json {
    const txid = toHex(keccak_256(fromHex(raw.slice(2))));
    if (this.chain.pool.has(txid)) throw new RpcRefusal(-32000, "already known");
    const known = this.pending.get(txid);
    if (known === undefined) throw new RpcRefusal(-32000, "transaction underpriced");
    this.chain.pool.set(txid, known);
    return `0x${txid}`;
  }

  /** Transactions it would take into its pool. */
  readonly pending = new Map<string, SignedEvmTx>();

  #call({ to, data }: { readonly to?: string; readonly data: string }, block: Block | undefined): Json {
    // Init code: the reader of token balances. Every token here has 9.
    if (to === undefined) {
      const tokens = (data.length / 2 - 1 - 80 - 32) / 20;
      return `0x${Array.from({ length: tokens }, () => toHex(encodeWords(["uint256", "uint256"], [1n, 9n]))).join("")}`;
    }
    if (to !== `0x${SWAP_CONTRACT}`) return data.startsWith("0x70a08231") ? `0x${"9".padStart(64, "0")}` : "0x";
    const id = data.slice(10);
    const state = block?.payments.get(id) ?? 0;
    const hash = state === 0 ? "" : "cd".repeat(20);
    return `0x${hash.padEnd(64, "0")}${(state === 0 ? "" : LOCK.toString(16)).padStart(64, "0")}${String(state).padStart(64, "0")}`;
  }

  #find(txid: string): { readonly block: Block; readonly mined: Mined } | undefined {
    for (const block of this.#blocks) {
      const mined = block.txs.find(({ tx }) => `0x${tx.txid}` === txid);
      if (mined !== undefined) return { block, mined };
    }
    return undefined;
  }

  #receipt(txid: string): Json {
    const found = this.#find(txid);
    if (found === undefined) return null;
    const { block, mined } = found;
    const common = { transactionHash: txid, blockHash: block.hash, blockNumber: hex(block.number) };
    return { ...common, status: "0x1", gasUsed: "0x5208", effectiveGasPrice: "0x1", logs: logsJson(block, mined) };
  }

  #transaction(txid: string): Json {
    const tx = this.#find(txid)?.mined.tx ?? this.chain.pool.get(txid.slice(2));
    return tx === undefined ? null : txJson(tx);
  }

  #logs({ fromBlock, toBlock, topics }: { readonly fromBlock: string; readonly toBlock: string; readonly topics: string[][] }): Json {
    const blocks = this.#blocks.filter((b) => b.number >= Number(fromBlock) && b.number <= Number(toBlock));
    const logs = blocks.flatMap((block) => block.txs.flatMap((mined) => logsJson(block, mined)));
    return logs.filter((log) => topics[0]?.includes(log.topics[0] ?? ""));
  }
}

export const headerJson = (block: Block) => ({
  number: hex(block.number),
  hash: block.hash,
  parentHash: block.parentHash,
  timestamp: hex(block.timestamp),
  gasUsed: "0x0",
  gasLimit: "0x1c9c380",
  baseFeePerGas: hex(1_000_000_000),
});

export const eventLogJson = (block: Pick<Block, "hash" | "number">, txid: string, { kind, id }: Event) => ({
  address: `0x${SWAP_CONTRACT}`,
  topics: [`0x${SWAP_TOPICS[kind]}`],
  data: `0x${toHex(concatBytes(fromHex(id), kind === "spent" ? fromHex(SECRET) : new Uint8Array(0)))}`,
  blockNumber: hex(block.number),
  blockHash: block.hash,
  transactionHash: `0x${txid}`,
  removed: false,
});
const logsJson = (block: Block, { tx, event }: Mined) => (event === null ? [] : [eventLogJson(block, tx.txid, event)]);

export const txJson = ({ tx, signature, txid }: SignedEvmTx) => ({
  hash: `0x${txid}`,
  type: "0x0",
  chainId: hex(tx.chainId ?? 0n),
  nonce: hex(tx.nonce),
  gas: hex(tx.gasLimit),
  gasPrice: tx.type === "eip1559" ? "0x0" : hex(tx.gasPrice),
  to: `0x${tx.to}`,
  value: hex(tx.value),
  input: `0x${toHex(tx.data)}`,
  v: hex(BigInt(signature.yParity) + 35n + 2n * (tx.chainId ?? 0n)),
  r: hex(signature.r),
  s: hex(signature.s),
});

export type ScriptedWorld = {
  readonly evm: ScriptedEvm;
  readonly nodes: readonly ScriptedNode[];
  readonly chain: EvmRpcChain;
  readonly log: SilentLog;
  /** How much the wall clock of the one who asks is ahead. */
  skewMs: number;
  /** Runs the clock until the promise is settled; an hour at most. */
  drive<T>(promise: Promise<T>): Promise<T>;
};

/** A chain over so many honest nodes; names `a`, `b`, … */
export function scriptedWorld(
  count: number,
  options: EvmRpcOptions = {},
  prepare: (nodes: readonly ScriptedNode[]) => void = () => undefined,
  chainId = SCRIPT_CHAIN_ID,
): ScriptedWorld {
  const evm = new ScriptedEvm();
  const nodes = Array.from({ length: count }, (_, i) => new ScriptedNode(String.fromCharCode(97 + i), evm));
  if (chainId !== SCRIPT_CHAIN_ID) for (const node of nodes) node.says.set("eth_chainId", () => hex(chainId));
  prepare(nodes);
  const log = new SilentLog();
  const backends = nodes.map((node) => node.backend());
  const clock: Clock = { nowMs: () => evm.clock.nowMs() + world.skewMs, after: (delayMs, task) => evm.clock.after(delayMs, task) };
  const drive = async <T>(promise: Promise<T>): Promise<T> => {
    let done = false;
    const noted = (): void => {
      done = true;
    };
    promise.then(noted, noted);
    await evm.clock.run({ until: () => done, untilMs: evm.clock.nowMs() + 3_600_000 });
    if (!done) throw new Error("not settled within an hour");
    return promise;
  };
  const world = { evm, nodes, log, skewMs: 0, drive };
  return Object.assign(world, { chain: openEvmRpcChain({ ticker: "ETH", chainId, backends, clock, log, options }) });
}
