import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { SilentLog } from "../../test/fakes/silentLog.ts";
import { swapTerms, TERMS_KEY } from "../../test/fakes/swapTerms.ts";
import { openDataDir } from "../adapters/system/dataDir.ts";
import type { Role, StoredEvent, SwapEvent, SwapTerms } from "../core/swap/events.ts";
import { createFileExports } from "./fileExports.ts";

const UUID = "11111111-2222-4333-8444-555555555555";
const COUNTERPARTY = `02${"77".repeat(32)}`;
const terms = (role: Role): SwapTerms => swapTerms(role, { uuid: UUID, myOrderUuid: UUID, counterparty: COUNTERPARTY, gui: "me" });
const stored = (events: readonly SwapEvent[]): StoredEvent[] => events.map((event, i) => ({ v: 1, atMs: i, event }));
const running = (role: Role): SwapEvent[] => [{ type: "started", terms: terms(role) }];
const ended = (role: Role): SwapEvent[] => [
  ...running(role),
  { type: "abandoned", failure: { event: "NegotiateFailed", reason: "no answer" } },
  { type: "finished", outcome: "failed" },
];

let folder = "";
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function open() {
  folder = mkdtempSync(join(tmpdir(), "swapnode-exports-"));
  const dir = openDataDir(folder, "0".repeat(40));
  if (!dir.ok) throw new Error(dir.error.message);
  const log = new SilentLog();
  return { root: dir.value.root, log, files: createFileExports(dir.value, log) };
}

test.each([
  ["maker", "MAKER", "TAKER"],
  ["taker", "TAKER", "MAKER"],
] as const)("the swap of a %s is in SWAPS/MY from its start, and in SWAPS/STATS/%s once it has ended", async (role, side, otherSide) => {
  const { root, files } = open();
  const mine = join(root, "swapnode/SWAPS/MY", `${UUID}.json`);
  const statistics = join(root, "swapnode/SWAPS/STATS", side, `${UUID}.json`);

  files.onSwapEvent(UUID, stored(running(role)));
  await files.close();
  expect([existsSync(mine), existsSync(statistics)]).toEqual([true, false]);

  files.onSwapEvent(UUID, stored(ended(role)));
  await files.close();
  const saved = JSON.parse(readFileSync(statistics, "utf8"));
  expect(saved).toEqual(JSON.parse(readFileSync(mine, "utf8")));
  // Fields and order of reference swap-protocol.md 7.1.
  expect(Object.keys(saved)).toEqual([
    ...["type", "uuid", "my_order_uuid", "events", "maker_amount", "maker_coin", "maker_coin_usd_price"],
    ...["taker_amount", "taker_coin", "taker_coin_usd_price", "gui", "mm_version", "success_events", "error_events"],
  ]);
  expect(saved).toMatchObject({ type: role === "maker" ? "Maker" : "Taker", uuid: UUID, gui: "me" });
  const events = saved.events.map((e: { event: { type: string } }) => e.event.type);
  expect(events).toEqual(["Started", "NegotiateFailed", "Finished"]);
  // Only the own key is reported, and no secret.
  const { data } = saved.events[0].event;
  expect([data.my_persistent_pub, data.maker ?? data.taker, data.p2p_privkey]).toEqual([TERMS_KEY, "0".repeat(64), null]);
  if (role === "maker") expect(data.secret).toBe("0".repeat(64));
  expect(readFileSync(statistics, "utf8")).not.toContain(COUNTERPARTY.slice(2));

  expect(statSync(statistics).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(root, "swapnode/SWAPS/STATS", side))).toEqual([`${UUID}.json`]);
  expect(readdirSync(join(root, "swapnode/SWAPS/STATS", otherSide))).toEqual([]);
});

test("a statistics folder that cannot be written is logged and stops nothing", async () => {
  const { root, files, log } = open();
  rmSync(join(root, "swapnode/SWAPS/STATS/TAKER"), { recursive: true });
  writeFileSync(join(root, "swapnode/SWAPS/STATS/TAKER"), "a file in the way");
  chmodSync(join(root, "swapnode/SWAPS/STATS/TAKER"), 0o600);
  files.onSwapEvent(UUID, stored(ended("taker")));
  await files.close();
  expect(existsSync(join(root, "swapnode/SWAPS/MY", `${UUID}.json`))).toBe(true);
  expect(log.lines.map((l) => l.event)).toEqual(["swap_file_not_written"]);
});

test("a file told many things at once is written once, with the last; one removed meanwhile is gone", async () => {
  const { root, files } = open();
  const path = (uuid: string): string => join(root, "swapnode/ORDERS/MY/MAKER", `${uuid}.json`);
  const writes = Array.from({ length: 500 }, (_, n) => files.orders.write("MAKER", UUID, () => ({ n })));
  const other = "99999999-2222-4333-8444-555555555555";
  writes.push(
    files.orders.write("MAKER", other, () => ({})),
    files.orders.remove("MAKER", other),
  );
  // Nobody's turn is used for it.
  expect([existsSync(path(UUID)), existsSync(path(other))]).toEqual([false, false]);
  await Promise.all(writes);
  expect(JSON.parse(readFileSync(path(UUID), "utf8"))).toEqual({ n: 499 });
  expect([existsSync(path(other)), readdirSync(join(root, "swapnode/ORDERS/MY/MAKER"))]).toEqual([false, [`${UUID}.json`]]);
});
