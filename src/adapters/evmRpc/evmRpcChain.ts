import { keccak_256 } from "@noble/hashes/sha3.js";
import { MAX_EVM_TX_BYTES, parseEvmTx } from "../../core/evm/parseTx.ts";
import { toHex } from "../../core/util/bytes.ts";
import { err, type Result } from "../../core/util/result.ts";
import type { AccountChain, ChainReadError, PaymentKey } from "../../ports/accountChain.ts";
import type { BlockRef, BroadcastOutcome } from "../../ports/chain.ts";
import { Aborted, type Clock, sleep, steadyClock, withDeadline } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { broadcastTx } from "./broadcastTx.ts";
import { ChainLook } from "./chainLook.ts";
import { paymentKey, tokenKey } from "./chainView.ts";
import {
  type ContractReads,
  checkSwapContract,
  readAllowance,
  readDecimals,
  readGasEstimate,
  readHasCode,
  readIsOwnSwapContract,
  readManyDecimals,
  readTokenTrip,
  tryCall,
} from "./contractReads.ts";
import { type EvmBackend, EvmNode } from "./evmNode.ts";
import { lacksBlock } from "./fault.ts";
import { LookLoop } from "./lookLoop.ts";
import { NodePool } from "./nodePool.ts";
import { SecretSearch } from "./secretSearch.ts";
import { Watches } from "./watches.ts";

export type EvmRpcOptions = {
  /** Time between looks, ms; a new head a node tells of hurries one. Default 4000. */
  readonly pollMs?: number;
  /** Least time between looks, ms, however often a node tells of heads. Default 1000. */
  readonly leastMs?: number;
  /** Deadline of one request, ms. Default 10 000. */
  readonly timeoutMs?: number;
  /** Blocks per log question (`logs_block_range` of the coin). Default 1000. */
  readonly logsBlockRange?: number;
};

export type EvmRpcDeps = {
  /** The platform coin. */
  readonly ticker: string;
  readonly chainId: bigint;
  /** At least one; at most `MAX_NODES`. */
  readonly backends: readonly EvmBackend[];
  readonly clock: Clock;
  readonly log: Log;
  readonly options?: EvmRpcOptions;
};

const MAX_NODES = 32;
/** The first may come before the others have the block. */
const HURRIES_PER_TIP = 2;
const HEX_64 = /^[0-9a-f]{64}$/;
/** Between two blocks, and until most nodes have the second. */
const USUAL_GAP_MS = 120_000;
/** A question waits so long for a fresh look. */
const FRESH_LOOK_MS = 20_000;
/** Of a whole question, failover included. */
const QUESTION_MS = 60_000;

/** Of the machines behind one address some have the newest block later than others: a question about it is asked again after so long. */
const LACKING_MS = 1_000;
const LACKING_TRIES = 4;

export type EvmRpcChain = AccountChain & {
  /**
   * Goes on with other nodes, at least one and at most `MAX_NODES`; the ones before are closed. Nothing they said is kept for what is read
   * from now on.
   */
  exchangeNodes(backends: readonly EvmBackend[]): void;
};

/**
 * Follows one account chain over JSON-RPC nodes. The nodes may be down; reads answer once a look succeeded. Closing it closes
 * the backends.
 */
export function openEvmRpcChain(deps: EvmRpcDeps): EvmRpcChain {
  const { ticker, chainId, clock: wall, options = {} } = deps;
  const clock = steadyClock(wall);
  const { pollMs = 4_000, leastMs = 1_000, timeoutMs = 10_000, logsBlockRange = 1_000 } = options;
  const log = deps.log.child({ coin: ticker });
  const watches = new Watches();

  function sourceOf(backends: readonly EvmBackend[]) {
    if (backends.length === 0 || backends.length > MAX_NODES) throw new RangeError(`${backends.length} nodes for one chain`);
    const nodes = backends.map((backend) => new EvmNode(backend, clock, logsBlockRange, log));
    const pool = new NodePool({ nodes, chainId, clock, wall, log, timeoutMs });
    return { backends, pool, look: new ChainLook({ ticker, chainId, pool, watches, clock }), left: new AbortController() };
  }
  const listen = (backends: readonly EvmBackend[]): readonly (() => void)[] =>
    backends.flatMap((backend) => (backend.onHead ? [backend.onHead(hurrier(loop))] : []));

  let used = sourceOf(deps.backends);
  const loop = new LookLoop({ ticker, pool: used.pool, look: used.look, clock: wall, log, pollMs, leastMs });
  let unsubscribe = listen(used.backends);
  const secrets = new SecretSearch({
    clock,
    log,
    watches,
    nodes: () => used.pool.senders(),
    shortMs: () => Math.max(loop.shortMs, behindMs()),
    timeoutMs,
    onSecret: (id) => loop.tell(new Set([id])),
  });
  /** How long, beyond what is usual, most nodes have shown no new block while one has a higher one: they may all stand still. */
  function behindMs(): number {
    const tip = loop.view?.tip;
    const isAhead = tip !== undefined && used.pool.health().some(({ height }) => height !== null && height > tip.height);
    return isAhead ? wall.nowMs() - tip.timeSec * 1_000 - USUAL_GAP_MS : 0;
  }
  const done = Promise.all([loop.run(), secrets.run(loop.signal).catch(unlessAborted)]);

  function leave(): void {
    for (const stop of unsubscribe) stop();
    used.left.abort();
    for (const { close } of used.backends) close();
  }

  /** Asks at the block of a look just made: the state of old blocks is not kept by every node. */
  async function question<T>(
    signal: AbortSignal | undefined,
    work: (reads: ContractReads) => Promise<Result<T, ChainReadError>>,
  ): Promise<Result<T, ChainReadError>> {
    const parents = signal ? [signal, loop.signal] : [loop.signal];
    try {
      if (loop.ageMs > leastMs) await withDeadline(clock, FRESH_LOOK_MS, parents, (s) => loop.fresh(s));
      const asked = used;
      return await withDeadline(clock, QUESTION_MS, [...parents, asked.left.signal], async (s) => {
        const { quorum } = asked.look;
        if (quorum === null) return err({ kind: "Unreachable", message: loop.status().error ?? `The ${ticker} chain was not read yet.` });
        for (let tries = 1; ; tries++) {
          const answer = await work({ ticker, quorum, signal: s });
          const isAgain = !answer.ok && answer.error.kind === "Refused" && lacksBlock(answer.error.message) && tries < LACKING_TRIES;
          if (!isAgain) return answer;
          await sleep(clock, LACKING_MS, s);
        }
      });
    } catch (cause) {
      if (!(cause instanceof Aborted) || parents.some(({ aborted }) => aborted)) throw cause;
      return err({ kind: "Unreachable", message: loop.status().error ?? `The ${ticker} nodes did not answer in time.` });
    }
  }

  return {
    ticker,
    chainId,
    status: () => loop.status(),
    onChange: (listener) => loop.onChange(listener),
    async watchAccount(address, signal) {
      watches.addAccount(address);
      await loop.fresh(signal);
    },
    account: (address) => loop.view?.accounts.get(address),
    async watchTokens(owner, tokens, signal) {
      watches.addTokens(owner, tokens);
      await loop.fresh(signal);
    },
    token: (token, owner) => loop.view?.tokens.get(tokenKey(token, owner)),
    async watchTx(txid, _fromHeight, signal) {
      if (!HEX_64.test(txid)) throw new Error("not a transaction id");
      watches.addTx(txid);
      await loop.fresh(signal);
    },
    tx: (txid) => loop.view?.txs.get(txid),
    isUnread: (txid) => loop.view?.unread.has(txid) ?? false,
    async watchPayment(key, fromHeight, signal) {
      if (!HEX_64.test(key.id)) throw new Error("not a payment id");
      if (!Number.isSafeInteger(fromHeight) || fromHeight < 0) throw new Error(`fromHeight ${fromHeight} is not a height`);
      watches.addPayment(key, fromHeight);
      await loop.fresh(signal);
    },
    shownSecret: (key) => secrets.shown(paymentKey(key)) ?? used.look.shownSecret(paymentKey(key)),
    payment: (key: PaymentKey) => loop.view?.payments.get(paymentKey(key)),
    unwatch({ accounts = [], tokens = [], txids = [], payments = [] }) {
      for (const address of accounts) watches.accounts.delete(address);
      for (const { token, owner } of tokens) watches.tokens.delete(tokenKey(token, owner));
      for (const txid of txids) watches.txs.delete(txid);
      for (const key of payments) watches.payments.delete(paymentKey(key));
    },
    confirmations(block: BlockRef | null): number {
      const tip = loop.view?.tip;
      return block === null || tip === undefined ? 0 : Math.max(0, tip.height - block.height + 1);
    },
    isFinal(block: BlockRef): boolean {
      const finalized = loop.view?.tip.finalized ?? null;
      return finalized !== null && block.height <= finalized;
    },
    gasPrices: () => loop.view?.prices ?? null,
    dataCost: () => loop.view?.data ?? null,
    tokenDecimals: (token, signal) => question(signal, (reads) => readDecimals(reads, token)),
    tokensDecimals: (tokens, signal) => question(signal, (reads) => readManyDecimals(reads, tokens)),
    allowance: (token, owner, spender, signal) => question(signal, (reads) => readAllowance(reads, token, owner, spender)),
    checkSwapContract: (contract, signal) => question(signal, (reads) => checkSwapContract(reads, contract)),
    hasCode: (address, signal) => question(signal, (reads) => readHasCode(reads, address)),
    isOwnSwapContract: (contract, signal) => question(signal, (reads) => readIsOwnSwapContract(reads, contract)),
    tokenTrip: (token, owner, contract, amount, signal) =>
      question(signal, (reads) => readTokenTrip(reads, token, owner, contract, amount)),
    call: (request, signal, gas = null) => question(signal, (reads) => tryCall(reads, request, gas)),
    estimateGas: (request, signal, most) => question(signal, (reads) => readGasEstimate(reads, request, most)),
    async broadcast(raw, signal): Promise<BroadcastOutcome> {
      const txid = idToSend(raw, chainId);
      const outcome = await broadcastTx(used.pool.senders(), txid, raw, timeoutMs, loop.signal, signal);
      log.info("broadcast", { txid, outcome: outcome.kind });
      if (watches.txs.has(txid)) loop.hurry();
      return outcome;
    },
    refresh: (signal) => loop.fresh(signal),
    exchangeNodes(backends) {
      const next = sourceOf(backends);
      leave();
      used = next;
      unsubscribe = listen(backends);
      loop.exchange(next);
      log.info("nodes_exchanged", { nodes: backends.map(({ name }) => name) });
    },
    async close(): Promise<void> {
      loop.close();
      await done;
      leave();
    },
  };
}

/**
 * What a node's news of heads sets off: a look, and no more than two while these bring no new block. One that tells of heads all the time would
 * else use up how often the others let themselves be asked.
 */
function hurrier(loop: Pick<LookLoop, "view" | "hurry">): () => void {
  let tip: string | null = null;
  let times = 0;
  return () => {
    const now = loop.view?.tip.hash ?? null;
    if (now !== tip) [tip, times] = [now, 0];
    if (times++ < HURRIES_PER_TIP) loop.hurry();
  };
}

function unlessAborted(cause: unknown): void {
  if (!(cause instanceof Aborted)) throw cause;
}

/** The id of what is to be sent. A transaction of a type this node does not read is passed on; one of another chain is a mistake. */
function idToSend(raw: Uint8Array, chainId: bigint): string {
  if (raw.length > MAX_EVM_TX_BYTES) throw new Error("broadcast of bytes that are no transaction: too many");
  const parsed = parseEvmTx(raw);
  if (!parsed.ok && parsed.error.kind === "NotATransaction")
    throw new Error(`broadcast of bytes that are no transaction: ${parsed.error.detail}`);
  if (parsed.ok && parsed.value.tx.chainId !== null && parsed.value.tx.chainId !== chainId)
    throw new Error(`broadcast of a transaction for the chain with id ${parsed.value.tx.chainId}`);
  return toHex(keccak_256(raw));
}
