import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { reasonOf } from "../../core/util/reasonOf.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { SignatureVerifier } from "../../ports/signatures.ts";
import { BATCH_CHECKS, type Check, encodeChecks, verifyChecks } from "./verifierBatch.ts";

/** Threads at most; one core is left to the event loop. */
const MAX_THREADS = 4;
/** Checks in one second that start the threads. Below, they are done in place: about 2 % of a core. */
const START_ABOVE = 250;
/** The threads end, and give back some 15 MB each, after this long with fewer than a tenth of that. */
const IDLE_MS = 60_000;
/** Pause after a thread has failed before others are started. */
const RETRY_MS = 60_000;
/** Checks handed to threads and not answered; beyond it a check is not taken. */
const MAX_WAITING = 16_384;

type Pending = { readonly resolve: (good: boolean) => void; readonly reject: (cause: Aborted) => void };
type Batch = { readonly checks: Check[]; readonly pending: Pending[]; results: Uint8Array | null };
type Thread = { readonly worker: Worker; readonly batches: Batch[]; isReady: boolean };

export type VerifierThreadsOptions = {
  /** Default: one per core but one, at most four. 0: everything in place. */
  readonly threads?: number;
  readonly startAbove?: number;
  /** Makes a thread; for tests. */
  readonly spawn?: () => Worker;
};

/** A verifier with a life: `close` ends its threads. */
export type ThreadedVerifier = Required<SignatureVerifier> & { close(): Promise<void> };

/**
 * Verification of busy traffic in threads (design D10: gossip is bound by it). They are started when there is something
 * to do for them and end when there is not. A thread that fails costs time, never an answer: its checks are done here.
 */
export function createThreadedVerifier(
  inline: SignatureVerifier,
  deps: { readonly clock: Clock; readonly log: Log },
  options: VerifierThreadsOptions = {},
): ThreadedVerifier {
  return new VerifierThreads(inline, deps, options);
}

class VerifierThreads implements ThreadedVerifier {
  readonly #inline: SignatureVerifier;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #wanted: number;
  readonly #startAbove: number;
  readonly #spawn: () => Worker;
  readonly #threads = new Set<Thread>();
  /** Sent batches in the order of their calls; answers leave only at the head. */
  readonly #sent: Batch[] = [];
  #open: Batch | null = null;
  #waiting = 0;
  /** Calls since `#sinceMs`. */
  #calls = 0;
  #sinceMs = 0;
  #notBeforeMs = 0;
  #cancelIdleCheck: () => void = () => undefined;
  #closed = false;

  constructor(inline: SignatureVerifier, { clock, log }: { readonly clock: Clock; readonly log: Log }, options: VerifierThreadsOptions) {
    this.#inline = inline;
    this.#clock = clock;
    this.#log = log;
    this.#wanted = options.threads ?? Math.min(MAX_THREADS, availableParallelism() - 1);
    this.#startAbove = options.startAbove ?? START_ABOVE;
    this.#spawn = options.spawn ?? spawnWorker;
  }

  verify(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean {
    return this.#inline.verify(signature, digest, publicKey);
  }

  verifyLater(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean | null | Promise<boolean> {
    this.#calls++;
    // While anything waits the next one must wait too, or it would overtake.
    if (this.#waiting === 0 && !this.#hasReady()) {
      this.#startIfBusy();
      return this.#inline.verify(signature, digest, publicKey);
    }
    if (this.#waiting >= MAX_WAITING) return null;
    const batch = this.#openBatch();
    batch.checks.push([signature, digest, publicKey]);
    this.#waiting++;
    const answer = new Promise<boolean>((resolve, reject) => batch.pending.push({ resolve, reject }));
    if (batch.checks.length === BATCH_CHECKS) this.#send();
    return answer;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelIdleCheck();
    const closed = new Aborted("the verifier is closed");
    for (const batch of [...this.#sent.splice(0), ...(this.#open ? [this.#open] : [])])
      for (const { reject } of batch.pending) reject(closed);
    this.#open = null;
    this.#waiting = 0;
    await this.#endThreads();
  }

  #hasReady(): boolean {
    for (const { isReady } of this.#threads) if (isReady) return true;
    return false;
  }

  #openBatch(): Batch {
    if (this.#open) return this.#open;
    this.#open = { checks: [], pending: [], results: null };
    // What the running task still brings shares the batch.
    queueMicrotask(() => this.#send());
    return this.#open;
  }

  #send(): void {
    const batch = this.#open;
    if (!batch) return;
    this.#open = null;
    this.#sent.push(batch);
    let chosen: Thread | null = null;
    for (const thread of this.#threads)
      if (thread.isReady && thread.batches.length < (chosen?.batches.length ?? Number.POSITIVE_INFINITY)) chosen = thread;
    if (!chosen) {
      this.#finishHere(batch);
      return;
    }
    chosen.batches.push(batch);
    const bytes = encodeChecks(batch.checks);
    chosen.worker.postMessage(bytes, [bytes.buffer]);
  }

  #finishHere(batch: Batch): void {
    this.#finish(
      batch,
      verifyChecks(encodeChecks(batch.checks), (...check) => this.#inline.verify(...check)),
    );
  }

  #finish(batch: Batch, results: Uint8Array): void {
    batch.results = results;
    for (let head = this.#sent[0]; head?.results; head = this.#sent[0]) {
      this.#sent.shift();
      this.#waiting -= head.pending.length;
      const { pending, results: bits } = head;
      pending.forEach(({ resolve }, i) => {
        resolve(bits[i] === 1);
      });
    }
  }

  #startIfBusy(): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#sinceMs >= 1_000 || nowMs < this.#sinceMs) {
      this.#sinceMs = nowMs;
      this.#calls = 1;
    }
    if (this.#calls <= this.#startAbove || this.#threads.size > 0 || this.#closed || nowMs < this.#notBeforeMs) return;
    for (let i = 0; i < this.#wanted; i++) this.#start();
    if (this.#threads.size > 0) this.#watchIdle();
  }

  #start(): void {
    const worker = this.#spawn();
    const thread: Thread = { worker, batches: [], isReady: false };
    this.#threads.add(thread);
    worker.unref();
    worker.on("message", (results: Uint8Array | null) => {
      if (results === null) {
        thread.isReady = true;
        return;
      }
      const batch = thread.batches.shift();
      if (batch) this.#finish(batch, results);
    });
    worker.on("error", (cause) => this.#onGone(thread, reasonOf(cause)));
    worker.on("exit", (code) => this.#onGone(thread, `exit code ${code}`));
  }

  /** Also called for threads that were told to end; those are no longer in the set. */
  #onGone(thread: Thread, cause: string): void {
    if (!this.#threads.delete(thread)) return;
    this.#log.warn("verifier_thread_failed", { cause, retry_after_ms: RETRY_MS });
    this.#notBeforeMs = this.#clock.nowMs() + RETRY_MS;
    void thread.worker.terminate();
    for (const batch of thread.batches.splice(0)) this.#finishHere(batch);
  }

  #watchIdle(): void {
    this.#calls = 0;
    this.#cancelIdleCheck = this.#clock.after(IDLE_MS, () => {
      if (this.#threads.size === 0) return;
      const isIdle = this.#waiting === 0 && this.#calls < ((this.#startAbove / 10) * IDLE_MS) / 1_000;
      if (isIdle) void this.#endThreads();
      else this.#watchIdle();
    });
  }

  async #endThreads(): Promise<void> {
    const threads = [...this.#threads];
    this.#threads.clear();
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
  }
}

function spawnWorker(): Worker {
  // The checkout runs .ts, the published package .js: the worker's file has the ending of this one.
  const entry = import.meta.url.endsWith(".ts") ? "./verifierWorker.ts" : "./verifierWorker.js";
  return new Worker(new URL(entry, import.meta.url), { resourceLimits: { maxYoungGenerationSizeMb: 4 } });
}
