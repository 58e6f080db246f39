import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { TEST_COINS } from "../../test/fakes/chainWorld.ts";
import { coinEntryToChainParams } from "./chainParams.ts";

const shared = process.env.SWAPNODE_SHARED ?? fileURLToPath(new URL("../../../shared", import.meta.url));
const coinsFile = join(shared, "data", "coins.json");
const missing = !existsSync(coinsFile);

const kind = (entry: unknown): string => {
  const params = coinEntryToChainParams(entry);
  return params.ok ? params.value.kind : params.error.detail;
};

test("an entry's fields say which kind of chain imitates it", () => {
  expect(Object.values(TEST_COINS).map(kind)).toEqual(["legacy", "segwit", "kmd"]);
  expect(kind({ coin: "POS", isPoS: 1 })).toBe("POS: proof-of-stake transactions are not imitated");
  expect(kind({ coin: "X", pubtype: 256 })).toBe("X: pubtype, p2shtype and taddr must be 0 to 255");
  expect(kind({ coin: "X", bech32_hrp: "Ä" })).toContain("bech32_hrp");
  expect([null, 5, [], {}, { coin: 7 }].map(kind).every((t) => t.includes("object") || t.includes("`coin`"))).toBe(true);
});

test("dust of the entry sets the rate that makes it the smallest P2PKH output", () => {
  const params = coinEntryToChainParams({ coin: "LTC", segwit: true, dust: 5460 });
  expect(params.ok && params.value.dustFeePerKb).toBe(30_000n);
});

test("an address prefix of two bytes is taken from taddr", () => {
  const params = coinEntryToChainParams({ coin: "ZZZ", taddr: 28, pubtype: 184, p2shtype: 189 });
  expect(params.ok && params.value.addresses.p2pkhPrefix).toEqual(Uint8Array.of(28, 184));
});

test.skipIf(missing)(
  `every UTXO coin of the coins file is imitated or refused with a sentence${missing ? " (skipped: no shared data)" : ""}`,
  () => {
    const entries: { coin: string; protocol?: { type?: string } }[] = JSON.parse(readFileSync(coinsFile, "utf8"));
    const utxo = entries.filter((e) => e.protocol?.type === "UTXO");
    const kinds = utxo.map((e) => kind(e));
    expect(kinds.filter((k) => ["legacy", "segwit", "kmd"].includes(k)).length).toBeGreaterThan(100);
    for (const k of kinds) expect(k).toMatch(/^(legacy|segwit|kmd|.+: .+ (not imitated|must be .+|is not .+))$/);
  },
);
