import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { err, type Result } from "../../core/util/result.ts";
import { Aborted, type Clock, sleep, withDeadline } from "../../ports/clock.ts";
import type { DaemonCall, DaemonCallOptions, DaemonError, DaemonRpc } from "../../ports/daemonRpc.ts";
import { CallQueue } from "./callQueue.ts";
import { isTurnedAway, parseBatchAnswer, parseSingleAnswer } from "./daemonAnswer.ts";
import type { DaemonEndpoint } from "./daemonEndpoint.ts";
import { type HttpAnswer, postJson } from "./postJson.ts";

export type { DaemonEndpoint };

export type DaemonClientOptions = {
  /** Deadline of a call that names none, ms. Default 15 000. */
  readonly timeoutMs?: number;
  /** Largest answer, bytes. Default 72 MB: a block of 35 MB as hex, and its envelope. */
  readonly maxAnswerBytes?: number;
  /** Calls under way at once. Default 8: half of Bitcoin Core's work queue. */
  readonly parallel?: number;
  /** Calls waiting for their turn; one more is answered `busy`. Default 256. */
  readonly maxWaiting?: number;
  /** What single calls say they are. Default 1.0, which every coin daemon takes; batches are always 2.0. */
  readonly version?: "1.0" | "2.0";
  /**
   * Asked when the login is refused: a daemon makes a new cookie at each start. The request is repeated once with what it gives, if that is
   * another login; null: there is none.
   */
  readonly renewed?: () => Promise<DaemonEndpoint | null>;
};

export interface DaemonClient extends DaemonRpc {
  callBatch(calls: readonly DaemonCall[], options?: DaemonCallOptions): Promise<readonly Result<unknown, DaemonError>[]>;
  /** Closes the kept connections; calls under way end as `unreachable`. */
  close(): void;
}

/** First wait before a request is repeated that a full work queue turned away; doubles up to the deadline. */
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2_000;
/** Who turned a batch away is asked call by call for so long: it may have been starting, or too busy, and many calls would fill the queue. */
const NO_BATCHES_MS = 600_000;
const UNAUTHORIZED = 401;

/**
 * Lets go of the kept connections nobody uses. A daemon that is stopping takes no new ones and, up to Bitcoin Core 0.21,
 * does not end before the kept ones are closed or 30 s idle: an operator's restart must not wait for us.
 */
function closeIdle(agent: HttpAgent): void {
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

/**
 * JSON-RPC over HTTP with kept connections, basic authentication, a deadline and a size limit on everything.
 * Requests are repeated only where the daemon certainly did not take them: its work queue was full, or a kept
 * connection turned out to be closed before a byte came back.
 */
export function createDaemonClient(first: DaemonEndpoint, clock: Clock, options: DaemonClientOptions = {}): DaemonClient {
  const { timeoutMs: usualTimeoutMs = 15_000, maxAnswerBytes = 72_000_000, parallel = 8, maxWaiting = 256, version = "1.0" } = options;
  let endpoint = first;
  const agent =
    endpoint.url.protocol === "https:"
      ? new HttpsAgent({ keepAlive: true, maxSockets: parallel })
      : new HttpAgent({ keepAlive: true, maxSockets: parallel });
  const queue = new CallQueue(parallel, maxWaiting);
  const closed = new AbortController();
  let nextId = 1;
  let batchesFromMs = Number.NEGATIVE_INFINITY;
  let renewing: Promise<void> | null = null;

  /** Reads the login anew, once for all requests that were refused. */
  function renew(): Promise<void> {
    renewing ??= (options.renewed ?? (async () => null))()
      .then((found) => {
        if (found?.url.protocol === endpoint.url.protocol) endpoint = found;
      })
      .finally(() => {
        renewing = null;
      });
    return renewing;
  }

  async function post(body: string, signal: AbortSignal): Promise<Result<HttpAnswer, DaemonError>> {
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(MAX_RETRY_MS, waitMs * 2)) {
      const used = endpoint;
      let answer = await postJson(used, agent, body, maxAnswerBytes, signal);
      if (answer.ok && answer.value.status === UNAUTHORIZED) {
        if (used === endpoint) await renew();
        if (!isSameLogin(used, endpoint)) answer = await postJson(endpoint, agent, body, maxAnswerBytes, signal);
      }
      const turnedAway = answer.ok && isTurnedAway(answer.value);
      if (!answer.ok || turnedAway) closeIdle(agent);
      if (!turnedAway) return answer;
      await sleep(clock, waitMs, signal);
    }
  }

  /** `read` gets the answer of a request that reached the daemon. */
  async function exchange<T>(
    body: string,
    callOptions: DaemonCallOptions,
    read: (answer: Result<HttpAnswer, DaemonError>) => T,
  ): Promise<T> {
    const { signal, timeoutMs = usualTimeoutMs } = callOptions;
    const parents = signal ? [signal, closed.signal] : closed.signal;
    if (queue.isFull) return read(err({ kind: "busy", message: `more than ${maxWaiting} requests wait for it` }));
    try {
      return read(await withDeadline(clock, timeoutMs, parents, (s) => queue.run(s, () => post(body, s))));
    } catch (cause) {
      if (!(cause instanceof Aborted) || signal?.aborted) throw cause;
      return read(
        err({
          kind: "unreachable",
          message: closed.signal.aborted ? "the connection was closed" : `no answer within ${timeoutMs / 1000} s`,
        }),
      );
    }
  }

  const call = (method: string, params: readonly unknown[], callOptions: DaemonCallOptions = {}): Promise<Result<unknown, DaemonError>> => {
    const id = nextId++;
    const body = JSON.stringify({ jsonrpc: version, id, method, params });
    return exchange(body, callOptions, (answer) => parseSingleAnswer(answer, id));
  };

  return {
    call,
    async callBatch(calls, callOptions = {}): Promise<readonly Result<unknown, DaemonError>[]> {
      if (calls.length > 1 && clock.nowMs() >= batchesFromMs) {
        const firstId = nextId;
        nextId += calls.length;
        const body = JSON.stringify(calls.map(({ method, params }, i) => ({ jsonrpc: "2.0", id: firstId + i, method, params })));
        const answers = await exchange(body, callOptions, (answer) => parseBatchAnswer(answer, firstId, calls.length));
        if (answers !== "no_batches") return answers;
        batchesFromMs = clock.nowMs() + NO_BATCHES_MS;
      }
      return Promise.all(calls.map(({ method, params }) => call(method, params, callOptions)));
    },
    close(): void {
      closed.abort();
      agent.destroy();
    },
  };
}

const isSameLogin = (one: DaemonEndpoint, other: DaemonEndpoint): boolean =>
  one.url.href === other.url.href && one.user === other.user && one.password.reveal() === other.password.reveal();
