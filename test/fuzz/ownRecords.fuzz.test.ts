import { expect, test } from "vitest";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { parseEventText } from "../../src/adapters/sqlite/storedEvent.ts";
import { createSwapStore, SWAP_SCHEMA } from "../../src/adapters/sqlite/swapStore.ts";
import { activationToText, parseActivation } from "../../src/app/coin/activationRecord.ts";
import { ActivationSeal } from "../../src/app/coin/activationSeal.ts";
import type { EnableRequest } from "../../src/app/coin/enabling.ts";
import { orderToRecord, parseOrderRecord } from "../../src/app/orders/orderRecord.ts";
import { rational } from "../../src/core/money/rational.ts";
import type { StoredEvent } from "../../src/core/swap/events.ts";
import { fold } from "../../src/core/swap/swapState.ts";
import { Secret } from "../../src/core/util/secret.ts";
import { type SqlDatabase, StorageError } from "../../src/ports/sql.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";
import { mutateText, type Pick, RUNS, SEED, source, watchMemory } from "./support/fuzz.ts";

/** One character replaced, as a flipped bit on the disk does it, or a larger damage. */
const damage = (text: string, pick: Pick): string => {
  if (pick(2) === 0) return mutateText(text, pick);
  const at = pick(text.length);
  return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << pick(7))) + text.slice(at + 1);
};

/** The rows a whole swap leaves on the maker's and the taker's disk. */
async function realRows(): Promise<readonly { readonly uuid: string; readonly rows: readonly string[] }[]> {
  const world = await SwapWorld.open();
  const uuid = await world.start();
  await world.finish(uuid);
  const read = (db: SqlDatabase) => db.read("SELECT event FROM swap_events WHERE uuid = ? ORDER BY seq", [uuid]);
  const logs = [await read(world.maker.db), await read(world.taker.db)];
  await world.close();
  return logs.map((rows) => ({ uuid, rows: rows.map((r) => String(r.event)) }));
}
const LOGS = await realRows();

test(`${RUNS} damaged rows of the swap log (seed ${SEED}) are refused by the check sum, whatever the damage`, () => {
  const pick = source(SEED);
  const memory = watchMemory();
  const texts = LOGS.flatMap((l) => l.rows);
  let refused = 0;
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const good = texts[pick(texts.length)] ?? "";
    const bad = damage(good, pick);
    const read = parseEventText(bad);
    if (!read.ok) {
      refused++;
      if (read.error.detail.length > 300) throw new Error(`input ${i}: ${read.error.detail.length} characters`);
    } else if (JSON.stringify(read.value) !== JSON.stringify(JSON.parse(good), (k, v) => (k === "sum" ? undefined : v))) {
      throw new Error(`input ${i} was read as something else: ${bad}`);
    }
  }
  memory.check();
  expect(refused).toBeGreaterThan(RUNS / 2);
});

test(`${RUNS} damaged rows without a sum (seed ${SEED}) are read or refused, and what is read can be folded`, () => {
  const pick = source(SEED + 1);
  const memory = watchMemory();
  const plain = LOGS.map(({ rows }) => rows.map((r) => JSON.stringify(JSON.parse(r), (k, v) => (k === "sum" ? undefined : v))));
  let accepted = 0;
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const rows = plain[pick(plain.length)] ?? [];
    const at = pick(rows.length);
    const events: StoredEvent[] = [];
    for (const [seq, row] of rows.entries()) {
      if (seq !== at && seq > at + 1) break;
      const read = parseEventText(seq === at ? damage(row, pick) : row);
      if (!read.ok) break;
      events.push(read.value);
    }
    const [first] = events;
    if (events.length <= at || !first || !("terms" in first.event)) continue;
    accepted++;
    fold(events.map((e) => e.event));
  }
  memory.check();
  expect(accepted).toBeGreaterThan(0);
});

test(`a swap whose log lost, swapped or damaged rows is named by the store (seed ${SEED})`, async () => {
  const pick = source(SEED + 2);
  const runs = Math.min(RUNS, 2_000);
  const db = openInlineDatabase(":memory:", [SWAP_SCHEMA]);
  const store = createSwapStore(db);
  for (let i = 0; i < runs; i++) {
    const log = LOGS[pick(LOGS.length)];
    if (!log) throw new Error("no log");
    const rows = log.rows.map((event, seq) => ({ seq, event }));
    const at = pick(rows.length - 1);
    if (pick(3) === 0) rows.splice(at, 1);
    else rows[at] = { seq: at, event: damage(rows[at]?.event ?? "", pick) };
    const insert = rows.map((r) => ({
      sql: "INSERT INTO swap_events (uuid, seq, event) VALUES (?, ?, ?)",
      params: [log.uuid, r.seq, r.event],
    }));
    await db.write([{ sql: "DELETE FROM swap_events" }, ...insert]);
    const outcome: unknown = await store.log(log.uuid).catch((cause: unknown) => cause);
    if (Array.isArray(outcome)) expect(outcome).toHaveLength(log.rows.length);
    else {
      expect(outcome, `input ${i}`).toBeInstanceOf(StorageError);
      expect(outcome).toMatchObject({ kind: "Corrupt", message: expect.stringContaining(log.uuid) });
    }
  }
  await db.close();
});

const conf = { baseConfs: 1, baseNota: false, relConfs: 2, relNota: true };
const UUID = "11111111-2222-4333-8444-555555555555";
const common = { uuid: UUID, base: "AAA", rel: "BBB", baseOrderbookTicker: null, relOrderbookTicker: "BBB", conf, saveInHistory: true };
const amounts = { base: "AAA", rel: "BBB", baseAmount: rational(1n, 3n), relAmount: rational(7n, 2n) };
const ORDERS = [
  orderToRecord({
    kind: "Maker",
    order: {
      ...common,
      price: rational(1n, 3n),
      maxBaseVol: rational(10n),
      minBaseVol: rational(1n, 1000n),
      createdAtMs: 5,
      updatedAtMs: 6,
      timeoutMinutes: null,
      matches: new Map(),
      startedSwaps: [UUID],
    },
  }),
  orderToRecord({
    kind: "Taker",
    order: {
      ...common,
      action: "Buy",
      ...amounts,
      matchBy: { type: "Pubkeys", data: ["ab".repeat(32)] },
      orderType: "FillOrKill",
      minVolume: rational(1n, 1000n),
      createdAtMs: 5,
      timeoutSec: 30,
      match: null,
    },
  }),
];

test(`${RUNS} damaged records of own orders (seed ${SEED}) are read or refused by name`, () => {
  const pick = source(SEED + 3);
  const memory = watchMemory();
  let refused = 0;
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const order = ORDERS[pick(ORDERS.length)];
    if (!order) throw new Error("no order");
    const kind = pick(20) === 0 ? damage(order.kind, pick) : order.kind;
    try {
      expect(parseOrderRecord({ uuid: order.uuid, kind, record: damage(order.record, pick) }).order.uuid).toBe(UUID);
    } catch (cause) {
      refused++;
      if (!(cause instanceof StorageError && cause.kind === "Corrupt" && cause.message.includes(UUID))) throw cause;
    }
  }
  memory.check();
  expect(refused).toBeGreaterThan(RUNS / 10);
  expect(refused).toBeLessThan(RUNS);
});

test(`${RUNS} damaged notes of how a coin was enabled (seed ${SEED}) are read or refused, and what is read is written as it was read`, () => {
  const pick = source(SEED + 4);
  const memory = watchMemory();
  const servers = [
    { url: "electrum.example:50002", protocol: "SSL", anyCertificate: false, acceptCertificate: "ab".repeat(32), timeoutSec: 20 },
    { url: "ws.example:50003/x", protocol: "WS", anyCertificate: true, timeoutSec: undefined },
  ] as const;
  const plain = {
    coin: "LTC",
    mm2: true,
    requiredConfirmations: 3,
    requiresNotarization: false,
    daemon: undefined,
    birthdayHeight: 7,
  } as const;
  const seal = new ActivationSeal(new Secret(new Uint8Array(32).fill(7)), { bytes: (n) => new Uint8Array(n).fill(9) });
  const textOf = (request: EnableRequest) => activationToText({ kind: "coin", request, aside: false }, seal);
  const texts = [
    textOf({ ...plain, electrum: undefined, txHistory: false }),
    textOf({
      ...plain,
      electrum: { servers, minConnected: 1, maxConnected: 2 },
      txHistory: true,
      addressFormat: "segwit",
      merge: { mergeAt: 50, checkEverySec: 10, maxMergeAtOnce: 100 },
    }),
    textOf({ ...plain, nodes: { urls: ["https://node.example/key"], swapContract: "0x1", fallbackSwapContract: undefined } }),
    activationToText(
      { kind: "token", token: { ticker: "LTC", requiredConfirmations: 2 }, platform: "ETH", batch: "LTC", aside: true },
      seal,
    ),
  ];
  let accepted = 0;
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const bad = damage(texts[i % texts.length] ?? "", pick);
    const read = parseActivation("LTC", bad, seal);
    if (!read.ok) {
      if (read.error.length > 300) throw new Error(`input ${i}: ${read.error.length} characters`);
      continue;
    }
    accepted++;
    const again = parseActivation("LTC", activationToText(read.value, seal) ?? "", seal);
    expect([bad, again]).toEqual([bad, read]);
  }
  memory.check();
  expect(accepted).toBeGreaterThan(0);
  expect(accepted).toBeLessThan(RUNS / 2);
});
