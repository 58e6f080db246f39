import { ok } from "../../core/util/result.ts";
import { type AnswerParser, type Notarized, parseFeeField, parseFeeRate, parseNotarized } from "./answers.ts";
import { type Answer, type DaemonCalls, RPC_METHOD_NOT_FOUND } from "./daemonCalls.ts";

/** How long a relay floor stays good. */
const RELAY_FEE_MAX_AGE_MS = 60_000;

/** Notarizations also come between blocks. */
const NOTARIZED_MAX_AGE_MS = 10_000;
/** A chain that showed none is asked again after this long. */
const NOT_NOTARIZED_MAX_AGE_MS = 600_000;
/** Below every height. */
const NEVER = -1;

const isOlder = (sinceMs: number | null, nowMs: number, ageMs: number): boolean => sinceMs === null || Math.abs(nowMs - sinceMs) >= ageMs;

/** The daemon has left the chain that is followed since it was looked at last: what is notarized there is not so here, whatever its height. */
function isOnAnother(notarized: Notarized | null, hashAt: (height: number) => string | undefined): boolean {
  const ours = notarized === null ? undefined : hashAt(notarized.height);
  return ours !== undefined && notarized !== null && notarized.hash !== null && notarized.hash !== ours;
}

/** What a daemon says of fees and notarization: asked rarely, kept in between. */
export class FeeRates {
  readonly #calls: DaemonCalls;
  readonly #decimals: number;
  #relayFee: bigint | null = null;
  #relayFeeAtMs: number | null = null;
  /** Assumed until `getinfo` is missing or does not speak of it. */
  #notarizes = true;
  #notarized = NEVER;
  #notarizedAtMs: number | null = null;
  #notarizedAtTip: string | null = null;

  constructor(calls: DaemonCalls, decimals: number) {
    this.#calls = calls;
    this.#decimals = decimals;
  }

  get relayFee(): bigint | null {
    return this.#relayFee;
  }

  /** Last notarized height; -1 where there is none. */
  get notarized(): number {
    return this.#notarized;
  }

  /** Base units per 1000 bytes, rounded up; null without an estimate. */
  async estimate(targetBlocks: number, mode: string | null, signal?: AbortSignal): Promise<bigint | null> {
    const parse = (value: unknown) => parseFeeRate(value, this.#decimals);
    const smart = await this.#optional("estimatesmartfee", mode === null ? [targetBlocks] : [targetBlocks, mode], parse, signal);
    if (smart.ok && smart.value !== null) return smart.value;
    const plain = await this.#optional("estimatefee", [targetBlocks], parse, signal);
    return plain.ok ? plain.value : null;
  }

  /**
   * @param hashAt of the chain as it is followed; undefined where that is not known any more
   * @returns whether a read answer changed
   */
  async refresh(tipHash: string, nowMs: number, hashAt: (height: number) => string | undefined): Promise<Answer<boolean>> {
    const before = `${this.#relayFee} ${this.#notarized}`;
    const notarized = await this.#refreshNotarized(tipHash, nowMs, hashAt);
    if (!notarized.ok) return notarized;
    if (isOlder(this.#relayFeeAtMs, nowMs, RELAY_FEE_MAX_AGE_MS)) {
      const fee = await this.#relayFloor();
      if (!fee.ok) return fee;
      this.#relayFee = fee.value;
      this.#relayFeeAtMs = nowMs;
    }
    return ok(before !== `${this.#relayFee} ${this.#notarized}`);
  }

  async #refreshNotarized(tipHash: string, nowMs: number, hashAt: (height: number) => string | undefined): Promise<Answer<undefined>> {
    const maxAgeMs = this.#notarizes ? NOTARIZED_MAX_AGE_MS : NOT_NOTARIZED_MAX_AGE_MS;
    const moved = this.#notarizes && this.#notarizedAtTip !== tipHash;
    if (!moved && !isOlder(this.#notarizedAtMs, nowMs, maxAgeMs)) return ok(undefined);
    const answer = await this.#calls.ask("getinfo", [], parseNotarized);
    if (!answer.ok && !(answer.error.kind === "rpc" && answer.error.code === RPC_METHOD_NOT_FOUND))
      return answer.error.kind === "rpc" || answer.error.kind === "bad_answer" ? ok(undefined) : answer;
    this.#notarizes = answer.ok && answer.value !== null;
    if (answer.ok && !isOnAnother(answer.value, hashAt)) this.#notarized = answer.value?.height ?? NEVER;
    this.#notarizedAtTip = tipHash;
    this.#notarizedAtMs = nowMs;
    return ok(undefined);
  }

  /** The greater of the configured floor and the one a full mempool sets. */
  async #relayFloor(): Promise<Answer<bigint | null>> {
    const network = await this.#optional("getnetworkinfo", [], parseFeeField("relayfee", this.#decimals));
    if (!network.ok) return network;
    const fixed = network.value === null ? await this.#optional("getinfo", [], parseFeeField("relayfee", this.#decimals)) : network;
    if (!fixed.ok) return fixed;
    const mempool = await this.#optional("getmempoolinfo", [], parseFeeField("mempoolminfee", this.#decimals));
    if (!mempool.ok) return mempool;
    if (fixed.value === null || mempool.value === null) return ok(fixed.value ?? mempool.value);
    return fixed.value > mempool.value ? fixed : mempool;
  }

  /** Null where the daemon refuses or answers in another shape: none of this is needed to follow the chain. */
  async #optional<T>(method: string, params: readonly unknown[], parse: AnswerParser<T>, signal?: AbortSignal): Promise<Answer<T | null>> {
    const answer = await this.#calls.ask(method, params, parse, signal ? { signal } : {});
    if (answer.ok) return answer;
    return answer.error.kind === "rpc" || answer.error.kind === "bad_answer" ? ok(null) : answer;
  }
}
