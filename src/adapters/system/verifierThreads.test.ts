import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { expect, test } from "vitest";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { nobleVerify } from "../../core/crypto/nobleVerifier.ts";
import { Aborted } from "../../ports/clock.ts";
import type { SignatureVerifier } from "../../ports/signatures.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { createNativeVerifier } from "./nativeVerifier.ts";
import { verifyChecks } from "./verifierBatch.ts";
import { createThreadedVerifier, type VerifierThreadsOptions } from "./verifierThreads.ts";

/** A thread that answers when it is told to. */
class FakeThread extends EventEmitter {
  readonly batches: Uint8Array[] = [];
  isEnded = false;
  unref(): void {}
  postMessage(bytes: Uint8Array): void {
    this.batches.push(bytes);
  }
  async terminate(): Promise<number> {
    this.isEnded = true;
    return 0;
  }
  ready(): void {
    this.emit("message", null);
  }
  answer(): void {
    const bytes = this.batches.shift();
    if (bytes) this.emit("message", verifyChecks(bytes, verify));
  }
}

/** Stands in for a signature check: the first byte of signature and digest are the same. */
const verify = (signature: Uint8Array, digest: Uint8Array): boolean => signature[0] === digest[0];
const signatureOf = (n: number): Uint8Array => new Uint8Array(64).fill(n);
const digestOf = (n: number): Uint8Array => new Uint8Array(32).fill(n);
const KEY = new Uint8Array(33);

function setUp(options: VerifierThreadsOptions = {}) {
  const clock = new VirtualClock();
  const log = new SilentLog();
  const threads: FakeThread[] = [];
  const inline: SignatureVerifier = { verify };
  const spawn = (): Worker => {
    const thread = new FakeThread();
    threads.push(thread);
    return thread as unknown as Worker;
  };
  const verifier = createThreadedVerifier(inline, { clock, log }, { threads: 2, startAbove: 3, spawn, ...options });
  const call = (n: number, good = true) => verifier.verifyLater(signatureOf(n), digestOf(good ? n : n + 1), KEY);
  const warmUp = (): void => {
    for (let n = 0; n < 4; n++) call(n);
    for (const thread of threads) thread.ready();
  };
  return { clock, log, threads, verifier, call, warmUp };
}

test("a calm stream of checks is answered in place and starts no thread", async () => {
  const { clock, threads, call } = setUp();
  for (let second = 0; second < 10; second++) {
    expect([call(1), call(2, false), call(3)]).toEqual([true, false, true]);
    await clock.advance(1_000);
  }
  expect(threads).toHaveLength(0);
});

test("a busy second starts the threads; until they are ready everything is answered in place", () => {
  const { threads, call } = setUp();
  expect([1, 2, 3, 4, 5].map((n) => call(n))).toEqual([true, true, true, true, true]);
  expect(threads).toHaveLength(2);
  threads[0]?.ready();
  expect(call(6)).toBeInstanceOf(Promise);
});

test("answers come in the order of the calls, also when a later batch is done first", async () => {
  const { threads, call, warmUp } = setUp();
  warmUp();
  const answers: string[] = [];
  const note = (name: string, answer: boolean | null | Promise<boolean>): void => {
    void Promise.resolve(answer).then((good) => answers.push(`${name} ${good}`));
  };
  note("a", call(1));
  note("b", call(2, false));
  await Promise.resolve();
  note("c", call(3));
  await Promise.resolve();
  expect(threads.map(({ batches }) => batches.length)).toEqual([1, 1]);
  threads[1]?.answer();
  await new Promise((resolve) => setImmediate(resolve));
  expect(answers).toEqual([]);
  threads[0]?.answer();
  await new Promise((resolve) => setImmediate(resolve));
  expect(answers).toEqual(["a true", "b false", "c true"]);
});

test("a check without the right lengths is a bad one and does not shift the others", async () => {
  const { threads, verifier, call, warmUp } = setUp({ threads: 1 });
  warmUp();
  const all = [
    call(1),
    verifier.verifyLater(new Uint8Array(63), digestOf(1), KEY),
    call(2),
    verifier.verifyLater(signatureOf(1), digestOf(1), new Uint8Array(65)),
    call(3),
  ];
  await Promise.resolve();
  // Zeros all over: what the stand-in takes for equal, libsecp256k1 and noble refuse.
  expect(nobleVerify(new Uint8Array(64), new Uint8Array(32), new Uint8Array(33))).toBe(false);
  expect(threads[0]?.batches[0]?.length).toBe(5 * 129);
  threads[0]?.answer();
  const answers = await Promise.all(all);
  expect([answers[0], answers[2], answers[4]]).toEqual([true, true, true]);
});

test("beyond 16384 waiting checks nothing more is taken until answers come", async () => {
  const { threads, call, warmUp } = setUp({ threads: 1 });
  warmUp();
  for (let n = 0; n < 16_384; n++) expect(call(n % 250)).toBeInstanceOf(Promise);
  expect(call(1)).toBeNull();
  await Promise.resolve();
  threads[0]?.answer();
  expect(call(1)).toBeInstanceOf(Promise);
});

test("a thread that dies costs no answer and no order; the others go on, and new ones come a minute later", async () => {
  const { clock, log, threads, call, warmUp } = setUp();
  warmUp();
  const first = [call(1), call(2, false)];
  await Promise.resolve();
  const second = [call(3)];
  await Promise.resolve();
  threads[0]?.emit("error", new Error("out of memory"));
  threads[0]?.emit("exit", 1);
  expect(await Promise.all(first)).toEqual([true, false]);
  threads[1]?.answer();
  expect(await Promise.all(second)).toEqual([true]);
  expect(log.lines.map(({ event }) => event)).toEqual(["verifier_thread_failed"]);
  threads[1]?.emit("exit", 1);
  expect([1, 2, 3, 4, 5, 6].map((n) => call(n))).toEqual([true, true, true, true, true, true]);
  expect(threads).toHaveLength(2);
  await clock.advance(60_000);
  warmUp();
  expect(threads).toHaveLength(4);
  expect(call(1)).toBeInstanceOf(Promise);
});

test("after a quiet minute the threads end, and a busy second starts them again", async () => {
  const { clock, log, threads, call, warmUp } = setUp({ startAbove: 10 });
  for (let n = 0; n < 12; n++) call(n);
  for (const thread of threads) thread.ready();
  await clock.advance(60_000);
  expect(threads.map(({ isEnded }) => isEnded)).toEqual([true, true]);
  for (const thread of threads) thread.emit("exit", 0);
  expect(log.lines).toEqual([]);
  expect(call(1)).toBe(true);
  for (let n = 0; n < 12; n++) call(n);
  expect(threads).toHaveLength(4);
  warmUp();
});

test("closing ends the threads and every waiting check rejects as aborted", async () => {
  const { threads, verifier, call, warmUp } = setUp();
  warmUp();
  const waiting = [call(1), call(2)];
  const outcome = Promise.allSettled(waiting);
  await verifier.close();
  for (const settled of await outcome) expect(settled.status === "rejected" && settled.reason).toBeInstanceOf(Aborted);
  expect(threads.map(({ isEnded }) => isEnded)).toEqual([true, true]);
});

test("real threads agree with noble on good, altered and malformed signatures", async () => {
  const log = new SilentLog();
  const verifier = createThreadedVerifier(createNativeVerifier(log), { clock: new VirtualClock(), log }, { threads: 1, startAbove: 1 });
  try {
    const secret = sha256(Uint8Array.of(7));
    const key = secp256k1.getPublicKey(secret, true);
    const checks = Array.from({ length: 40 }, (_, n) => {
      const digest = sha256(Uint8Array.of(n));
      const signature = secp256k1.sign(digest, secret, { prehash: false });
      if (n % 4 === 1) signature[n] = (signature[n] ?? 0) ^ 1;
      return [n % 4 === 2 ? signature.subarray(1) : signature, digest, n % 4 === 3 ? new Uint8Array(33) : key] as const;
    });
    const expected = checks.map((check) => nobleVerify(...check));
    expect(expected.filter(Boolean)).toHaveLength(10);
    while (typeof verifier.verifyLater(...(checks[0] ?? [KEY, KEY, KEY])) === "boolean")
      await new Promise((resolve) => setImmediate(resolve));
    expect(await Promise.all(checks.map((check) => verifier.verifyLater(...check)))).toEqual(expected);
    expect(log.lines).toEqual([]);
  } finally {
    await verifier.close();
  }
});
