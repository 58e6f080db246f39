import { secp256k1 } from "@noble/curves/secp256k1.js";
import { expect, test } from "vitest";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { openInlineDatabase } from "../../adapters/sqlite/inlineDatabase.ts";
import { createPeerStore, PEER_SCHEMA } from "../../adapters/sqlite/peerStore.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { nobleVerify } from "../../core/crypto/nobleVerifier.ts";
import { signEnvelope, type VerifySignature } from "../../core/message/envelope.ts";
import { encodeOrderMessage } from "../../core/message/orderMessage.ts";
import { encodeSwapMessage } from "../../core/message/swapMessage.ts";
import { OwnKeyWatch } from "./ownKeyWatch.ts";

const T = 1_795_000_000_000;
const SECRET = new Uint8Array(32).fill(9);
const TOPIC = "orbk/AAA:BBB";
const SWAP = "swap/00000000-0000-4000-8000-000000000001";
const QUIET_MS = 600_000;

function world() {
  const clock = new VirtualClock(T);
  const log = new SilentLog();
  const store = createPeerStore(openInlineDatabase(":memory:", [PEER_SCHEMA]));
  let skewMs = 0;
  const ownClock = { nowMs: () => clock.nowMs() + skewMs, after: (ms: number, task: () => void) => clock.after(ms, task) };
  const open = async (verify: VerifySignature = nobleVerify): Promise<OwnKeyWatch> => {
    const watch = new OwnKeyWatch({ clock: ownClock, log, store, verify, publicKey: secp256k1.getPublicKey(SECRET, true) });
    await watch.open();
    return watch;
  };
  return {
    clock,
    log,
    store,
    open,
    setSkew: (ms: number) => {
      skewMs = ms;
    },
    keepAlive: (agoSec = 0, secret = SECRET, root = 1): Uint8Array => {
      const timestamp = Math.floor(ownClock.nowMs() / 1_000) - agoSec;
      const trieRoots = [["AAA:BBB", new Uint8Array(8).fill(root)] as const];
      return signEnvelope(encodeOrderMessage({ type: "PubkeyKeepAlive", body: { trieRoots, timestamp } }), secret);
    },
    connect: (n: number): Uint8Array => {
      const uuid = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
      return signEnvelope(encodeOrderMessage({ type: "TakerConnect", body: { takerOrderUuid: uuid, makerOrderUuid: uuid } }), SECRET);
    },
    negotiation: (): Uint8Array => {
      const startedAt = Math.floor(ownClock.nowMs() / 1_000);
      const data = {
        ...{ version: 1 as const, startedAt, paymentLocktime: startedAt + 7_800 },
        ...{ secretHash: new Uint8Array(20), persistentPubkey: new Uint8Array(33).fill(2) },
      };
      return signEnvelope(encodeSwapMessage({ type: "Negotiation", data }), SECRET);
    },
  };
}

test("a keep-alive of our key that we did not send stops us until the other has been silent for ten minutes", async () => {
  const { clock, log, open, keepAlive } = world();
  const watch = await open();
  await clock.advance(5_000);
  expect(watch.elsewhere()).toBe(null);
  watch.onMessage(TOPIC, keepAlive());
  expect(watch.elsewhere()).toMatchObject({
    kind: "KeyInUseElsewhere",
    message: "PubkeyKeepAlive",
    heardAtMs: T + 5_000,
    untilMs: T + 5_000 + QUIET_MS,
  });
  await clock.advance(QUIET_MS / 2);
  watch.onMessage(TOPIC, keepAlive());
  await clock.advance(QUIET_MS - 1);
  expect(watch.elsewhere()).not.toBe(null);
  await clock.advance(1);
  expect(watch.elsewhere()).toBe(null);
  expect(log.lines.map(({ level, event }) => `${level} ${event}`)).toEqual([
    "error key_in_use_elsewhere",
    "info key_no_longer_heard_elsewhere",
  ]);
});

test("a negotiation of our key in a swap, ours or not, counts as well", async () => {
  const { clock, open, negotiation } = world();
  const watch = await open();
  await clock.advance(5_000);
  watch.onMessage(SWAP, negotiation());
  expect(watch.elsewhere()).toMatchObject({ message: "Negotiation" });
});

test("our own words, echoed at once or late, change nothing", async () => {
  const { clock, open, keepAlive, connect, negotiation } = world();
  const watch = await open();
  await clock.advance(5_000);
  const said = [keepAlive(), keepAlive(0, SECRET, 2), connect(1)];
  for (const data of said) watch.onPublish(TOPIC, data);
  const offer = negotiation();
  watch.onPublish(SWAP, offer);
  for (const waitMs of [0, 10, 1_000, 30_000, 58_000, 3_600_000]) {
    await clock.advance(waitMs);
    for (const data of said) watch.onMessage(TOPIC, data);
    watch.onMessage(SWAP, offer);
    await clock.advance(100);
    expect([waitMs, watch.elsewhere()]).toEqual([waitMs, null]);
  }
});

test("a node that is never silent stores what it says all the same: no old word of a busy day can be replayed, before or after a crash", async () => {
  const { clock, open, connect, keepAlive, store } = world();
  const watch = await open();
  for (let n = 1; n <= 1_400; n++) {
    await clock.advance(1_000);
    watch.onPublish(TOPIC, connect(n));
    if (n % 30 === 0) watch.onPublish(TOPIC, keepAlive());
  }
  // Longer ago than it is kept in memory.
  watch.onMessage(TOPIC, connect(1));
  await clock.advance(1);
  expect(watch.elsewhere()).toBe(null);
  expect(await store.lastDatedSec()).toBeGreaterThan(clock.nowMs() / 1_000);
  const reborn = await open();
  reborn.onMessage(TOPIC, connect(1_390));
  await clock.advance(1);
  expect(reborn.elsewhere()).toBe(null);
});

test("another signature over the same words is still ours", async () => {
  const { clock, open, keepAlive } = world();
  // a verifier that takes both forms, as some do
  const watch = await open((sig, digest, key) => secp256k1.verify(sig, digest, key, { prehash: false, lowS: false }));
  await clock.advance(5_000);
  const data = keepAlive();
  watch.onPublish(TOPIC, data);
  const bytes = Array.from(data);
  // s becomes n - s: a second signature that anybody can make
  const at = bytes.findIndex((_, i) => bytes[i] === 0xc4 && bytes[i + 1] === 64) + 2;
  const s = BigInt(`0x${Buffer.from(data.subarray(at + 32, at + 64)).toString("hex")}`);
  const twin = Uint8Array.from(data);
  twin.set(Buffer.from((secp256k1.Point.CURVE().n - s).toString(16).padStart(64, "0"), "hex"), at + 32);
  watch.onMessage(TOPIC, twin);
  expect(watch.elsewhere()).toBe(null);
  const other = await open((sig, digest, key) => secp256k1.verify(sig, digest, key, { prehash: false, lowS: false }));
  await clock.advance(5_000);
  other.onMessage(TOPIC, keepAlive());
  expect(other.elsewhere()).not.toBe(null);
});

test("what a former run said is not the other, dated or not, crash or orderly stop, even with a clock that was ahead", async () => {
  const { clock, open, setSkew, keepAlive, connect } = world();
  setSkew(40_000);
  const watch = await open();
  await clock.advance(5_000);
  const said: Uint8Array[] = [];
  for (let i = 0; i < 10; i++) {
    said.push(keepAlive(), connect(i));
    for (const data of said.slice(-2)) watch.onPublish(TOPIC, data);
    await clock.advance(10_000);
  }
  // the process dies, the clock is set right
  setSkew(0);
  const next = await open();
  for (let i = 0; i < 10; i++) {
    await clock.advance(10_000);
    for (const data of said) next.onMessage(TOPIC, data);
  }
  await clock.advance(1_000);
  expect(next.elsewhere()).toBe(null);
  // but the other one is still heard
  await clock.advance(120_000);
  next.onMessage(TOPIC, keepAlive());
  expect(next.elsewhere()).not.toBe(null);
});

test("words that cannot be stored at the end keep no node from closing its database", async () => {
  const { store, log, open, keepAlive } = world();
  const watch = await open();
  watch.onPublish(TOPIC, keepAlive());
  store.said = () => Promise.reject(new Error("the disk is full"));
  await watch.close();
  expect(log.lines.map(({ event }) => event)).toEqual(["own_words_not_stored"]);
});

test("old words replayed by somebody change nothing, nor do forgeries, nor the words of others", async () => {
  const { clock, open, keepAlive } = world();
  const watch = await open();
  await clock.advance(3_600_000);
  watch.onMessage(TOPIC, keepAlive(61));
  watch.onMessage(TOPIC, keepAlive(-61));
  watch.onMessage(TOPIC, keepAlive(0, new Uint8Array(32).fill(8)));
  const forged = keepAlive();
  forged[forged.length - 1] = 0xff & ((forged[forged.length - 1] ?? 0) + 1);
  watch.onMessage(TOPIC, forged);
  watch.onMessage(TOPIC, Uint8Array.of(1, 2, 3));
  expect(watch.elsewhere()).toBe(null);
});

test("undated words that we never said stop us too, but somebody who has a thousand old ones for half an hour a day at most", async () => {
  const { clock, open, connect } = world();
  const watch = await open();
  await clock.advance(5_000);
  let stoppedMs = 0;
  for (let i = 0; i < 2_880; i++) {
    if (i % 14 === 0) watch.onMessage(TOPIC, connect(i));
    await clock.advance(30_000);
    if (watch.elsewhere()) stoppedMs += 30_000;
  }
  expect(stoppedMs).toBeGreaterThan(0);
  expect(stoppedMs).toBeLessThanOrEqual(3 * QUIET_MS);
});

test("a flood of forgeries under our key costs a bounded number of signature checks", async () => {
  const clock = new VirtualClock(T);
  let checks = 0;
  const verify = (): boolean => {
    checks++;
    return false;
  };
  const store = createPeerStore(openInlineDatabase(":memory:", [PEER_SCHEMA]));
  const watch = new OwnKeyWatch({ clock, log: new SilentLog(), store, verify, publicKey: secp256k1.getPublicKey(SECRET, true) });
  await watch.open();
  const { connect } = world();
  for (let i = 0; i < 1_000; i++) watch.onMessage(TOPIC, connect(i));
  expect(checks).toBe(200);
});

test("own words on the disk are bounded, and a full disk loses none of those in memory", async () => {
  const { clock, log, open, store, connect } = world();
  const watch = await open();
  const said = store.said;
  let full = true;
  store.said = (...a: Parameters<typeof said>) => (full ? Promise.reject(new Error("full")) : said(...a));
  watch.onPublish(TOPIC, connect(1));
  await clock.advance(6_000);
  expect(log.lines.map((l) => l.event)).toEqual(["own_words_not_stored"]);
  full = false;
  watch.onPublish(TOPIC, connect(2));
  await clock.advance(6_000);
  const next = await open();
  next.onMessage(TOPIC, connect(1));
  next.onMessage(TOPIC, connect(2));
  await clock.advance(1_000);
  expect(next.elsewhere()).toBe(null);
});

test("what others have this node say is stored only where there is room for new things", async () => {
  const asked: unknown[] = [];
  const db = openInlineDatabase(":memory:", [PEER_SCHEMA]);
  await createPeerStore({ ...db, write: async (_batch, options) => void asked.push(options) }).said(["aa"], 1);
  expect(asked).toEqual([{ isNew: true }]);
});
