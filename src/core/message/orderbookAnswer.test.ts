import { expect, test } from "vitest";
import { bytesOf, hexOf, messageVectors } from "../../../test/vectors/wire/wireVectors.ts";
import { MsgpackWriter } from "./msgpackWriter.ts";
import { encodeSyncAnswer, parseOrderbookAnswer, parseSyncAnswer } from "./orderbookAnswer.ts";
import type { OrderbookItem } from "./types.ts";

const MAKER = `02${"11".repeat(32)}`;
const item = (n: number, with_: Partial<OrderbookItem> = {}): OrderbookItem => ({
  pubkey: MAKER,
  base: "AAA",
  rel: "BBB",
  price: { n: 1n, d: 3n },
  maxVolume: { n: 5n, d: 1n },
  minVolume: { n: 1n, d: 100n },
  uuid: `00000000-0000-4000-8000-00000000000${n}`,
  createdAt: 1_700_000_000,
  ...with_,
});
const answer = (...orders: readonly OrderbookItem[]): Uint8Array =>
  encodeSyncAnswer({ pairs: new Map([["AAA:BBB", { type: "FullTrie", orders }]]), protocolInfos: new Map(), confs: new Map() });
function uuidsIn(bytes: Uint8Array): readonly string[] | undefined {
  const parsed = parseSyncAnswer(bytes);
  const diff = parsed.ok ? parsed.value.pairs.get("AAA:BBB") : undefined;
  return diff?.type === "FullTrie" ? diff.orders.map((o) => o.uuid.slice(-1)) : undefined;
}

test("one order beyond our limits is left out and does not spoil the others", () => {
  const huge = { n: 1n << 4000n, d: 1n };
  expect(uuidsIn(answer(item(1), item(2, { price: huge }), item(3)))).toEqual(["1", "3"]);
  expect(uuidsIn(answer(item(1, { base: "X".repeat(65) }), item(2, { pubkey: "no key" }), item(3)))).toEqual(["3"]);
});

test("an order under another uuid than its own is left out", () => {
  const hex = hexOf(answer(item(1), item(2)));
  const uuid = hexOf(new TextEncoder().encode(item(1).uuid));
  const other = hexOf(new TextEncoder().encode(item(9).uuid));
  expect(uuidsIn(bytesOf(hex.replace(uuid, other)))).toEqual(["2"]);
});

test("an answer of nothing but unreadable orders is given up", () => {
  const w = new MsgpackWriter().array(4).array(0).map(1).str("AAA:BBB").variant(1).array(1_001);
  for (let i = 0; i < 1_001; i++) w.nil();
  expect(parseSyncAnswer(w.map(0).map(0).finish()).ok).toBe(false);
});

test("answers of old nodes without the maps of protocol infos and confirmations are read", () => {
  const vector = messageVectors.find((v) => v.name === "get_orderbook_res")?.hex ?? "";
  const short = parseOrderbookAnswer(bytesOf(`91${vector.slice(2)}`));
  expect(short).toMatchObject({ ok: true, value: { protocolInfos: new Map(), confs: new Map() } });
  expect(short.ok && short.value.pubkeys.size).toBe(1);
});
