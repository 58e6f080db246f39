import { err, ok, type Result } from "../../core/util/result.ts";
import { Aborted, type Clock, type Stoppable, withStop } from "../../ports/clock.ts";
import type { DaemonCall, DaemonCallOptions, DaemonError, DaemonRpc } from "../../ports/daemonRpc.ts";
import {
  type AnswerParser,
  type HeaderAnswer,
  parseHash,
  parseHeader,
  parseMempool,
  parseRawBlock,
  parseRawTx,
  parseTxOut,
} from "./answers.ts";
import type { ChainFault } from "./fault.ts";

/** Calls put into one batch request. */
const BATCH_SIZE = 50;
/** A block may take a slow daemon longer than a plain question. */
const BLOCK_DEADLINE_FACTOR = 4;

/** Bitcoin Core's `rpc/protocol.h`. */
export const RPC_METHOD_NOT_FOUND = -32601;
export const RPC_MISC_ERROR = -1;
const RPC_INVALID_ADDRESS_OR_KEY = -5;
const RPC_INVALID_PARAMETER = -8;
const RPC_IN_WARMUP = -28;
/** Codes old daemons answer to a number where they want true or false. */
const WRONG_TYPE_CODES: readonly number[] = [-1, -3, -8, -32602, -32700];

export type Answer<T> = Result<T, ChainFault>;

/** The daemon's methods as the index uses them: deadlines on every call, every answer parsed. */
export class DaemonCalls {
  readonly #rpc: DaemonRpc;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #closed: AbortSignal;
  #verbosityIsBoolean = false;

  constructor(rpc: DaemonRpc, clock: Clock, timeoutMs: number, closed: AbortSignal) {
    this.#rpc = rpc;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#closed = closed;
  }

  /** Rejects only with `Aborted`, when `signal` fires or the chain is closed. */
  async ask<T>(
    method: string,
    params: readonly unknown[],
    parse: AnswerParser<T>,
    options: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
  ): Promise<Answer<T>> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    const answer = await this.#within(method, timeoutMs, options.signal, (given) => this.#rpc.call(method, params, given));
    return readAnswer(method, answer, parse);
  }

  /** The same question with different parameters, many at once; answers in order. */
  async askMany<T>(method: string, paramsList: readonly (readonly unknown[])[], parse: AnswerParser<T>): Promise<Answer<T>[]> {
    const answers: Answer<T>[] = [];
    for (let at = 0; at < paramsList.length; at += BATCH_SIZE) {
      const calls = paramsList.slice(at, at + BATCH_SIZE).map((params): DaemonCall => ({ method, params }));
      const answered = await this.#within(method, this.#timeoutMs, undefined, async (given) => ok(await this.#batch(calls, given)));
      const got = answered.ok ? answered.value : [answered];
      // A request that failed as a whole has one failure for all.
      const lost = got.length === 1 && got[0]?.ok === false ? got[0] : undefined;
      for (const i of calls.keys()) answers.push(readAnswer(method, got[i] ?? lost, parse));
    }
    return answers;
  }

  #batch(calls: readonly DaemonCall[], given: DaemonCallOptions): Promise<readonly Result<unknown, DaemonError>[]> {
    return this.#rpc.callBatch
      ? this.#rpc.callBatch(calls, given)
      : Promise.all(calls.map((c) => this.#rpc.call(c.method, c.params, given)));
  }

  async #within<T>(
    method: string,
    timeoutMs: number,
    parent: AbortSignal | undefined,
    work: (given: DaemonCallOptions) => Promise<Result<T, DaemonError>>,
  ): Promise<Result<T, DaemonError>> {
    try {
      return await withStop(this.#clock, timeoutMs, parent ? [parent, this.#closed] : this.#closed, (given) =>
        work(new CallOptions(given, timeoutMs)),
      );
    } catch (cause) {
      if (!(cause instanceof Aborted) || parent?.aborted || this.#closed.aborted) throw cause;
      return err({ kind: "unreachable", message: `no answer to ${method} within ${timeoutMs / 1000} s` });
    }
  }

  bestHash(): Promise<Answer<string>> {
    return this.ask("getbestblockhash", [], parseHash);
  }

  /** Null above the tip. */
  async hashAt(height: number): Promise<Answer<string | null>> {
    const answer = await this.ask("getblockhash", [height], parseHash);
    if (!answer.ok && answer.error.kind === "rpc" && isOutOfRange(answer.error.code)) return ok(null);
    return answer;
  }

  async hashesAt(from: number, count: number): Promise<Answer<readonly string[]>> {
    const answers = await this.askMany(
      "getblockhash",
      Array.from({ length: count }, (_, i) => [from + i]),
      parseHash,
    );
    const hashes: string[] = [];
    for (const answer of answers) {
      if (answer.ok) hashes.push(answer.value);
      else return answer.error.kind === "rpc" && isOutOfRange(answer.error.code) ? err({ kind: "moved" }) : answer;
    }
    return ok(hashes);
  }

  async header(hash: string): Promise<Answer<HeaderAnswer>> {
    const answer = await this.ask("getblockheader", [hash], parseHeader);
    if (answer.ok || answer.error.kind !== "rpc" || answer.error.code !== RPC_METHOD_NOT_FOUND) return checkHash(answer, hash);
    return checkHash(await this.ask("getblock", [hash], parseHeader), hash);
  }

  /** A block's bytes. `block_gone` when the daemon knows the hash but not the block. */
  async block(hash: string, height: number): Promise<Answer<Uint8Array>> {
    const timeoutMs = this.#timeoutMs * BLOCK_DEADLINE_FACTOR;
    let answer = await this.ask("getblock", [hash, this.#verbosityIsBoolean ? false : 0], parseRawBlock, { timeoutMs });
    if (!this.#verbosityIsBoolean && !answer.ok && answer.error.kind === "rpc" && WRONG_TYPE_CODES.includes(answer.error.code)) {
      const again = await this.ask("getblock", [hash, false], parseRawBlock, { timeoutMs });
      if (again.ok) this.#verbosityIsBoolean = true;
      answer = again;
    }
    if (answer.ok || answer.error.kind !== "rpc") return answer;
    const { code, message } = answer.error;
    return code === RPC_MISC_ERROR || code === RPC_INVALID_ADDRESS_OR_KEY
      ? err({ kind: "block_gone", height, message, isFetched: false })
      : answer;
  }

  /** @param isKnown a txid of an earlier answer: most of a list is what it was a moment ago */
  mempool(isKnown: (txid: string) => boolean): Promise<Answer<readonly string[]>> {
    return this.ask("getrawmempool", [], (value) => parseMempool(value, isKnown));
  }

  /** A transaction the daemon can name without a transaction index: in the mempool, as a rule. Null when it cannot. */
  async rawTx(txid: string, signal?: AbortSignal): Promise<Answer<Uint8Array | null>> {
    return notFoundToNull(await this.ask("getrawtransaction", [txid, 0], parseRawTx, signal ? { signal } : {}));
  }

  /** One of a block, which the daemon finds without a transaction index (Bitcoin Core 0.16 and later). Null when that block has none of it. */
  async rawTxIn(txid: string, blockHash: string): Promise<Answer<Uint8Array | null>> {
    return notFoundToNull(await this.ask("getrawtransaction", [txid, 0, blockHash], parseRawTx));
  }

  async rawTxs(txids: readonly string[]): Promise<Answer<Uint8Array | null>[]> {
    const answers = await this.askMany(
      "getrawtransaction",
      txids.map((id) => [id, 0]),
      parseRawTx,
    );
    return answers.map(notFoundToNull);
  }

  /** Whether an output is in the UTXO set (or the mempool), and whether a coinbase made it. */
  txOut(txid: string, vout: number, signal?: AbortSignal): Promise<Answer<{ readonly coinbase: boolean } | null>> {
    return this.ask("gettxout", [txid, vout, true], parseTxOut, signal ? { signal } : {});
  }
}

/** Makes the signal when the transport asks for it. */
class CallOptions implements DaemonCallOptions {
  readonly timeoutMs: number;
  readonly #given: Stoppable;

  constructor(given: Stoppable, timeoutMs: number) {
    this.#given = given;
    this.timeoutMs = timeoutMs;
  }

  get signal(): AbortSignal {
    return this.#given.signal;
  }
}

const isOutOfRange = (code: number): boolean => code === RPC_INVALID_PARAMETER || code === RPC_MISC_ERROR;

function notFoundToNull(answer: Answer<Uint8Array>): Answer<Uint8Array | null> {
  return !answer.ok && answer.error.kind === "rpc" && answer.error.code === RPC_INVALID_ADDRESS_OR_KEY ? ok(null) : answer;
}

function checkHash(answer: Answer<HeaderAnswer>, hash: string): Answer<HeaderAnswer> {
  if (!answer.ok || answer.value.hash === hash) return answer;
  return err({ kind: "contradiction", detail: `asked for block ${hash} it gave ${answer.value.hash}` });
}

function readAnswer<T>(method: string, answer: Result<unknown, DaemonError> | undefined, parse: AnswerParser<T>): Answer<T> {
  if (answer === undefined) return err({ kind: "bad_answer", method, detail: "an answer is missing" });
  if (!answer.ok) {
    const { error } = answer;
    return err(error.kind === "rpc" && error.code === RPC_IN_WARMUP ? { kind: "busy", message: error.message } : error);
  }
  const parsed = parse(answer.value);
  return parsed.ok ? parsed : err({ kind: "bad_answer", method, detail: parsed.error.detail });
}
