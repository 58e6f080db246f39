import { secp256k1 } from "@noble/curves/secp256k1.js";
import { expect, test } from "vitest";
import { P2pHub } from "../../../test/fakes/p2pHub.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { signEnvelope } from "../../core/message/envelope.ts";
import { encodeOrderMessage } from "../../core/message/orderMessage.ts";
import type { MakerOrderCreated } from "../../core/message/types.ts";
import { rational } from "../../core/money/rational.ts";
import { Secret } from "../../core/util/secret.ts";
import { Aborted } from "../../ports/clock.ts";
import type { GossipVerdict } from "../../ports/network.ts";
import type { SignatureVerifier } from "../../ports/signatures.ts";
import { OrderbookService } from "./orderbookService.ts";

const TOPIC = "orbk/AAA:BBB";
const ROOT = new Uint8Array(8);
const secretOf = (n: number): Uint8Array => new Uint8Array(32).fill(n);
const uuid = (n: number): string => `00000000-0000-4000-8000-${n.toString().padStart(12, "0")}`;

/** Threads that answer when they are told to; every signature is good unless `verify` says otherwise. */
class SlowVerifier implements SignatureVerifier {
  readonly waiting: { readonly resolve: (good: boolean) => void; readonly reject: (cause: Error) => void }[] = [];
  isFull = false;
  verify(): boolean {
    return true;
  }
  verifyLater(): null | Promise<boolean> {
    return this.isFull ? null : new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }
}

function setUp(verifier: SignatureVerifier) {
  const clock = new VirtualClock();
  const service = new OrderbookService({
    p2p: new P2pHub(clock).node("R", { isRelay: true }),
    clock,
    log: new SilentLog(),
    verifier,
    ownOrders: { orders: () => [], onChange: () => () => undefined },
    publicKey: secp256k1.getPublicKey(secretOf(1), true),
    secretKey: new Secret(secretOf(1)),
    isBanned: () => false,
    hasHistory: () => false,
  });
  service.start();
  const nowSec = (): number => Math.floor(clock.nowMs() / 1_000);
  const created = (n: number): Uint8Array => {
    const conf = { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false };
    const body: MakerOrderCreated = {
      uuid: uuid(n),
      base: "AAA",
      rel: "BBB",
      price: rational(1n),
      maxVolume: rational(5n),
      minVolume: rational(1n),
      createdAt: nowSec(),
      conf,
      timestamp: nowSec(),
      pairTrieRoot: ROOT,
      baseProtocolInfo: Uint8Array.of(1),
      relProtocolInfo: Uint8Array.of(1),
    };
    return signEnvelope(encodeOrderMessage({ type: "MakerOrderCreated", body }), secretOf(2));
  };
  const cancelled = (n: number): Uint8Array =>
    signEnvelope(
      encodeOrderMessage({ type: "MakerOrderCancelled", body: { uuid: uuid(n), timestamp: nowSec(), pairTrieRoot: ROOT } }),
      secretOf(2),
    );
  const take = (data: Uint8Array, from = "X"): GossipVerdict | Promise<GossipVerdict> => service.handleGossip({ topic: TOPIC, data, from });
  return { clock, service, created, cancelled, take, count: () => service.entries("AAA", "BBB").length };
}

test("what waits for its signature changes nothing; afterwards it counts in the order it came", async () => {
  const verifier = new SlowVerifier();
  const { created, cancelled, take, count } = setUp(verifier);
  const verdicts = Promise.all([take(created(1)), take(cancelled(1)), take(created(2))]);
  expect(count()).toBe(0);
  for (const { resolve } of verifier.waiting) resolve(true);
  expect(await verdicts).toEqual(["accept", "accept", "accept"]);
  expect(count()).toBe(1);
});

test("a bad signature found late is rejected and stores nothing", async () => {
  const verifier = new SlowVerifier();
  const { created, take, count } = setUp(verifier);
  const verdict = take(created(1));
  verifier.waiting[0]?.resolve(false);
  expect(await verdict).toBe("reject");
  expect(count()).toBe(0);
});

test("when the verifier takes no more the message counts as not looked at", () => {
  const verifier = new SlowVerifier();
  verifier.isFull = true;
  const { created, take } = setUp(verifier);
  expect(take(created(1))).toBe("busy");
});

test("a verdict that comes after the stop changes nothing, and a closed verifier is no fault of the message", async () => {
  const verifier = new SlowVerifier();
  const { service, created, take, count } = setUp(verifier);
  const [first, second] = [take(created(1)), take(created(2))];
  service.stop();
  verifier.waiting[0]?.resolve(true);
  verifier.waiting[1]?.reject(new Aborted());
  expect([await first, await second]).toEqual(["ignore", "ignore"]);
  expect(count()).toBe(0);
});

test("a peer that hands on forgeries gets 3,000 at once and 1,000 a second looked at; others are not affected", async () => {
  let looked = 0;
  const verifier: SignatureVerifier = {
    verify: () => {
      looked++;
      return false;
    },
  };
  const { clock, created, take } = setUp(verifier);
  const forged = created(1);
  for (let i = 0; i < 10_000; i++) take(forged, "forger");
  expect(looked).toBe(3000);
  expect(take(forged, "forger")).toBe("busy");
  await clock.advance(1_000);
  for (let i = 0; i < 10_000; i++) take(forged, "forger");
  expect(looked).toBeLessThanOrEqual(4001);
  expect(take(forged, "neighbour")).toBe("reject");
});

test("a relay that hands on ten thousand good messages a second is heard in full", async () => {
  const { clock, created, take } = setUp({ verify: () => true });
  const messages = Array.from({ length: 100 }, (_, n) => created(n));
  const verdicts = new Map<string, number>();
  // A hundred calls per key would reach the limit of one key, which is not the question here.
  for (let second = 0; second < 5; second++) {
    for (let i = 0; i < 10_000; i++) {
      const verdict = String(take(messages[i % 100] ?? messages[0] ?? new Uint8Array(), "relay"));
      verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
    }
    await clock.advance(1_000);
  }
  expect(verdicts.get("busy")).toBeUndefined();
});
