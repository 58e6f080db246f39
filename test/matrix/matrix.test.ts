import { expect, test } from "vitest";
import { type Cell, cellText, EventKeys, parseFilter } from "./cell.ts";
import { enumerate } from "./enumerate.ts";
import { runCell } from "./runCell.ts";
import { partDocument, renewed, tablesOf } from "./table.ts";

const CELL: Cell = {
  pair: "UTXO/UTXO",
  role: "taker",
  road: "straight",
  chain: "calm",
  event: "tx_attempted:takerPayment",
  crash: "after_broadcast",
  restart: "after_lock",
  peer: "malicious",
  move: "late",
};

/** The cell that a filter with all fields names. */
const cellOf = (text: string): Cell => Object.fromEntries(text.split(",").map((part) => part.split("="))) as Cell;

test("the filter printed for a cell selects that cell and no other", () => {
  const isIt = parseFilter(cellText(CELL));
  expect(isIt(CELL)).toBe(true);
  expect([isIt({ ...CELL, chain: "congested" }), isIt({ ...CELL, event: "tx_attempted:fee" }), isIt({ ...CELL, move: "wrong" })]).toEqual([
    false,
    false,
    false,
  ]);
  expect(parseFilter("peer=honest|malicious")(CELL)).toBe(true);
  expect(() => parseFilter("colour=red")).toThrow("no field colour");
});

test("repeated events of one kind are told apart", () => {
  const keys = new EventKeys();
  const seen = { type: "tx_seen", slot: "fee", txid: "", raw: "", block: null } as const;
  expect([keys.next(seen), keys.next(seen), keys.next({ ...seen, slot: "takerPayment" })]).toEqual([
    "tx_seen:fee",
    "tx_seen:fee#2",
    "tx_seen:takerPayment",
  ]);
});

test("a taker that dies having paid, and is back after its lock, gets the other coin from a maker that claims in the last minute", async () => {
  expect(await runCell(CELL)).toMatchObject({ hit: true, ending: "traded", isOutside: false, wrongs: [] });
});

test("the same cell run twice is the same to the unit", async () => {
  const cell: Cell = { ...CELL, chain: "congested", crash: "recovery", restart: "at_once" };
  expect(await runCell(cell)).toEqual(await runCell(cell));
});

test("a taker whose claim confirms in the very look in which its refund is deep has a log that ends as the chain does", async () => {
  const cell = "pair=UTXO/ETH,role=taker,road=late,event=tx_signed:makerPaymentSpend,crash=after_persist,restart=after_deadline,move=late";
  expect(await runCell(cellOf(`${cell},peer=malicious,chain=reorganising`))).toMatchObject({ hit: true, ending: "gained", wrongs: [] });
});

test("a run in which the event never comes says that it was not hit", async () => {
  expect((await runCell({ ...CELL, event: "start_failed", peer: "honest", move: null })).hit).toBe(false);
});

test("renewing one part of the document leaves the other as it was", () => {
  const nothing = { isOutside: false, minerFees: 0, wrongs: [], story: "", cpuMs: 0, ending: "kept" };
  const account: Cell = { ...CELL, pair: "ETH/UTXO" };
  const first = renewed("", "scripts", partDocument("scripts", [{ cell: CELL, ...nothing }], "a"));
  const both = renewed(first, "accounts", partDocument("accounts", [{ cell: account, ...nothing }], "b"));
  expect(both.startsWith(first)).toBe(true);
  expect(both).toContain(tablesOf("accounts", [{ cell: account, ...nothing }]));
  expect(renewed(both, "scripts", partDocument("scripts", [{ cell: CELL, ...nothing }], "a"))).toBe(both);
});

test("cells are made of the events an undisturbed run meets, and each has its place in the table", async () => {
  const { cells, broken } = await enumerate(parseFilter("pair=UTXO/UTXO,role=maker,road=alone,chain=calm"));
  expect(broken).toEqual([]);
  expect([...new Set(cells.map((c) => c.event))]).toEqual(["started", "abandoned", "finished"]);
  expect(new Set(cells.map(cellText)).size).toBe(cells.length);
  const nothing = { isOutside: false, minerFees: 0, wrongs: [], story: "", cpuMs: 0 };
  const table = tablesOf(
    "scripts",
    cells.map((cell) => ({ cell, ending: "kept", ...nothing })),
  );
  expect(table.match(/^\| (started|abandoned|finished) \| K \d/gm)).toHaveLength(3);
});
