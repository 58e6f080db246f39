import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { createPeerStore, PEER_SCHEMA } from "../../src/adapters/sqlite/peerStore.ts";
import { PeerPolicy } from "../../src/app/peers/peerPolicy.ts";
import { decimal, toUnits } from "../../src/core/money/rational.ts";
import type { Outcome } from "../../src/core/swap/events.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { FEE_UNITS, type Purse, type SwapSide, TICKERS } from "../fakes/swapWorld.ts";
import type { Adversary, Loss, Treatment } from "./adversary.ts";
import { EVIL_MAKERS } from "./evilMakers.ts";
import { EVIL_TAKERS } from "./evilTakers.ts";
import { PLAYED_ELSEWHERE } from "./playedElsewhere.ts";
import { PAYS, Stage } from "./stage.ts";
import { STRANGERS } from "./strangers.ts";

const ADVERSARIES: readonly Adversary[] = [...EVIL_MAKERS, ...EVIL_TAKERS, ...STRANGERS];

/** Miner fees of one side of one swap, claims and children in a fee spike included. */
const MINER_FEES = 100_000n;
const LOST: { readonly [L in Loss]: bigint } = { nothing: 0n, "miner fees": MINER_FEES, "dex fee and miner fees": FEE_UNITS + MINER_FEES };

/** Thousands of messages are read in a flood. */
const LIMIT_MS = 120_000;

/** What a side gave and got, against what its trades and the loss allowed come to. */
function expectPurse(side: SwapSide, before: Purse, ends: readonly Outcome[], loses: Loss): void {
  const [own, theirs] = side.role === "maker" ? [PAYS.maker, PAYS.taker] : [PAYS.taker, PAYS.maker];
  const after = side.purse();
  const trades = BigInt(ends.filter((e) => e === "success").length);
  const given = before[own.ticker] - after[own.ticker] - trades * own.units;
  const got = after[theirs.ticker] - before[theirs.ticker] - trades * theirs.units;
  // A trade has its fees: the own payment's and the claim's, and the taker's dex fee.
  const fees = trades * (MINER_FEES + (side.role === "taker" ? FEE_UNITS : 0n));
  expect(given).toBeGreaterThanOrEqual(0n);
  expect(given).toBeLessThanOrEqual(fees + LOST[loses]);
  expect(got).toBeLessThanOrEqual(0n);
  expect(got).toBeGreaterThanOrEqual(-trades * MINER_FEES);
}

/** Nothing is promised, taken or waited for any more: all there is can be spent. */
async function expectNothingLocked(side: SwapSide): Promise<void> {
  for (const ticker of TICKERS) {
    const coin = side.coin(ticker);
    expect([ticker, coin.ledger.held(), toUnits(coin.spendable(), 8)]).toEqual([ticker, 0n, side.units(ticker)]);
  }
  expect(await side.store.unsettled()).toEqual([]);
}

/** The grade that a kind of silence makes of a key without history (docs/safety-peers.md). */
const GRADE = { neverConnected: "note", late: "note", noFee: "note", noPayment: "throttle", ban: "ban" } as const;

/** The real policy of a side, fed as the node feeds it. */
async function policyOf(stage: Stage) {
  const log = new SilentLog();
  const db = openInlineDatabase(":memory:", [PEER_SCHEMA]);
  const coin = (): { spendable: ReturnType<typeof decimal>; decimals: number } => ({ spendable: decimal("10"), decimals: 8 });
  const policy = new PeerPolicy({ clock: stage.world.clock, log, store: createPeerStore(db), coin });
  await policy.open();
  stage.honest.onEvent = (uuid, events) => void policy.onSwapEvent(uuid, events);
  const key = toHex(stage.villain.key.publicKey);
  const expectTreated = (treated: Treatment): void => {
    const graded = log.lines.filter((l) => l.event === "peer_graded");
    expect(policy.banned().map((b) => b.pubkey)).toEqual(treated === "ban" ? [key.slice(2)] : []);
    const what = graded.map(({ fields }) => [fields.pubkey, fields.is, fields.silence ?? "ban"]);
    expect(what).toEqual(treated === "none" ? [] : [[key.slice(2), GRADE[treated], treated]]);
  };
  return { policy, db, expectTreated };
}

async function play(adversary: Adversary): Promise<void> {
  const { plays, world: options, play: script, ends, loses, treated, says } = adversary;
  const stage = await Stage.open(plays, options ?? {});
  const { world, honest } = stage;
  const { policy, db, expectTreated } = await policyOf(stage);
  if (options?.coin) for (const t of TICKERS) world.chain(t).policy.replacement = true;
  const before = honest.purse();
  await script(stage);
  const outcomes = async (): Promise<(string | null)[]> => Promise.all(stage.uuids.map((uuid) => world.outcome(honest, uuid)));
  await world.until("every swap is over", async () => !(await outcomes()).includes(null));
  expectTreated(treated);
  const { abandoned, refund } = await honest.state(stage.uuids.at(-1) ?? "");
  if (says !== undefined) expect((abandoned ?? refund)?.reason).toContain(says);
  // The swap is watched until it is final; whatever the adversary still holds back may come in the meantime.
  await world.advance(400);
  expect(await outcomes()).toEqual(ends);
  expectPurse(honest, before, ends, loses);
  await world.settled(honest);
  await expectNothingLocked(honest);
  await world.close();
  await world.drive(policy.close());
  await db.close();
}

for (const adversary of ADVERSARIES) {
  test(
    `${adversary.name}: the honest ${adversary.plays === "maker" ? "taker" : "maker"} ends with ${adversary.ends.join(", ")}, loses ${adversary.loses}`,
    () => play(adversary),
    LIMIT_MS,
  );
}

test("no two adversaries share a name", () => {
  const names = [...ADVERSARIES, ...PLAYED_ELSEWHERE].map((a) => a.name);
  expect(new Set(names).size).toBe(names.length);
});

test.each(PLAYED_ELSEWHERE)("$name: the test that plays it is there", ({ test: { file, name } }) => {
  expect(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")).toContain(`"${name}`);
});
