import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import headerVectors from "../../../test/vectors/headers/headers.json" with { type: "json" };
import { parseCoinEntry } from "../coin/coinEntry.ts";
import { utxoKind } from "../coin/utxoKind.ts";
import { fromHex, reversed, toHex } from "../util/bytes.ts";
import { ByteWriter } from "../utxo/byteWriter.ts";
import { hash256 } from "../utxo/hash.ts";
import { targetOfBits } from "./compactTarget.ts";
import { type HeaderRules, headerRulesOf } from "./headerRules.ts";

const shared = process.env.SWAPNODE_SHARED ?? new URL("../../../../shared", import.meta.url).pathname;
const coinsFile = `${shared}/data/coins.json`;

function rulesOf(fields: object) {
  const entry = parseCoinEntry({ protocol: { type: "UTXO" }, ...fields });
  if (!entry.ok) throw new Error(entry.error.detail);
  const kind = utxoKind(entry.value);
  if (!kind.ok) throw new Error(kind.error.reason);
  return headerRulesOf(entry.value, kind.value);
}
function mustRules(fields: object): HeaderRules {
  const rules = rulesOf(fields);
  if (!rules.ok) throw new Error(rules.error.reason);
  return rules.value;
}

const SEGWIT = { segwit: true, bech32_hrp: "bc" };
const KMD = { coin: "KMD", txversion: 4, overwintered: 1 };
const HASH = "000000000000000000024bead8df69990852c202db0e0097c1a12ea637d7e96d";

test("Bitcoin and Litecoin have their work and targets checked, under their second tickers too", () => {
  expect(mustRules({ coin: "BTC", ...SEGWIT })).toMatchObject({
    layouts: ["plain"],
    work: { kind: "sha256d" },
    target: { kind: "period", limitBits: 0x1d00ffff, spanSec: 1_209_600, measuredFrom: 0 },
  });
  expect(mustRules({ coin: "BTC-segwit", ...SEGWIT })).toEqual(mustRules({ coin: "BTC", ...SEGWIT }));
  expect(mustRules({ coin: "LTC", ...SEGWIT })).toMatchObject({ work: { kind: "scrypt" }, target: { spanSec: 302_400, measuredFrom: 1 } });
});

test("the first blocks of known chains are theirs, and of no other chain one is known", () => {
  const made = (merkleRoot: string, timeSec: number, bits: number, nonce: number): string => {
    const w = new ByteWriter(80)
      .u32(1)
      .bytes(new Uint8Array(32))
      .bytes(reversed(fromHex(merkleRoot)));
    return toHex(reversed(hash256(w.u32(timeSec).u32(bits).u32(nonce).done())));
  };
  const bitcoin = made("4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b", 1_231_006_505, 0x1d00ffff, 2_083_236_893);
  for (const coin of ["BTC", "BCH", "XEC"]) expect(mustRules({ coin, ...SEGWIT }).firstBlock, coin).toBe(bitcoin);
  expect(mustRules({ coin: "DOGE" }).firstBlock).toBe(
    made("5b2a3f53f605d62c53e62932dac6925e3d74afa5a4b459745c36d42d0ed26a69", 1_386_325_540, 0x1e0ffff0, 99_943),
  );
  for (const [fields, { header }] of [
    [{ coin: "LTC", ...SEGWIT }, headerVectors.litecoin.genesis],
    [KMD, headerVectors.komodo.genesis],
  ] as const)
    expect(mustRules(fields).firstBlock).toBe(toHex(reversed(hash256(fromHex(header)))));
  expect(mustRules({ coin: "ANY" }).firstBlock).toBeNull();
  expect(mustRules({ coin: "BTC", ...SEGWIT, is_testnet: true }).firstBlock).toBeNull();
});

test("blocks say at which height they stand where the chain's rules are known to ask for it", () => {
  for (const fields of [{ coin: "BTC", ...SEGWIT }, { coin: "LTC", ...SEGWIT }, { coin: "DOGE" }, { coin: "BCH" }, { coin: "XEC" }])
    expect(mustRules(fields).tellsHeights, fields.coin).toBe(true);
  for (const fields of [KMD, { coin: "ANY" }, { coin: "LTC", ...SEGWIT, is_testnet: true }])
    expect(mustRules(fields).tellsHeights).toBe(false);
});

test("anchors may be far easier than known blocks of their chains, and no easier than that", () => {
  const bits = (fields: object) => targetOfBits(mustRules(fields).anchorBits ?? 0) ?? 0n;
  const times = (known: number, limit: bigint): bigint => limit / (targetOfBits(known) ?? 1n);
  // Bitcoin's block 840000, Litecoin's 2000000, Dogecoin's 3631810.
  expect(times(0x17034219, bits({ coin: "BTC", ...SEGWIT }))).toBe(78n);
  expect(times(0x1a01a4a0, bits({ coin: "LTC", ...SEGWIT }))).toBe(155n);
  expect(times(0x1a0370c2, bits({ coin: "DOGE" }))).toBe(74n);
});

test("Komodo's headers are Equihash ones, with no target of their own", () => {
  expect(mustRules(KMD)).toMatchObject({ layouts: ["equihash"], work: { kind: "equihash", floorBits: 0x200f0f0f }, target: null });
});

test("a coin nothing is known of has its links checked and no work, and says why", () => {
  expect(mustRules({ coin: "NEW" })).toEqual({
    layouts: ["plain", "auxpow", "progpow", "accumulator"],
    work: { kind: "unchecked", reason: "what its work is and how its target moves is not known for certain" },
    target: null,
    anchorBits: null,
    checkpoint: null,
    firstBlock: null,
    tellsHeights: false,
  });
  expect(mustRules({ ...KMD, coin: "DOC", asset: "DOC" })).toMatchObject({ layouts: ["equihash", "plain"], work: { kind: "unchecked" } });
});

test("a test coin with a real one's ticker is held for no real chain", () => {
  const work = { kind: "unchecked", reason: "it is a test chain" };
  for (const fields of [{ coin: "BTC", ...SEGWIT }, { coin: "LTC", ...SEGWIT }, KMD]) {
    expect(mustRules({ ...fields, is_testnet: true })).toMatchObject({ work, target: null });
  }
});

test("a coin whose blocks have another hash is refused by name, on any network", () => {
  expect(rulesOf({ coin: "DASH" })).toMatchObject({
    ok: false,
    error: { kind: "UnsupportedHeaders", reason: expect.stringContaining("X11") },
  });
  expect(rulesOf({ coin: "DASH", is_testnet: true }).ok).toBe(false);
  expect(rulesOf({ coin: "GBX" })).toMatchObject({ ok: false, error: { reason: expect.stringContaining("NeoScrypt") } });
});

test("the checkpoint is KDF's starting header, hash and height, in lower case", () => {
  const start = (starting_block_header: unknown) => rulesOf({ coin: "BTC", ...SEGWIT, spv_conf: { starting_block_header } });
  const full = start({ height: 840_000, hash: HASH.toUpperCase(), time: 1_713_571_767, bits: 386_089_497 });
  expect(full.ok && full.value.checkpoint).toEqual({ height: 840_000, hash: HASH });
  expect(start({ height: 840_000, time: 1 })).toMatchObject({ ok: true, value: { checkpoint: null } });
  for (const none of [{}, { spv_conf: null }, { spv_conf: {} }]) {
    expect(rulesOf({ coin: "BTC", ...SEGWIT, ...none })).toMatchObject({ ok: true, value: { checkpoint: null } });
  }
  for (const bad of [
    7,
    [],
    { hash: HASH },
    { height: -1, hash: HASH },
    { height: 1, hash: "ab" },
    { height: 1, hash: `${HASH}00` },
    { height: 1, hash: 5 },
  ]) {
    expect(start(bad)).toMatchObject({ ok: false, error: { reason: expect.stringContaining("spv_conf.starting_block_header") } });
  }
  expect(rulesOf({ coin: "BTC", ...SEGWIT, spv_conf: 1 }).ok).toBe(false);
});

const withShared = existsSync(coinsFile) ? test : test.skip;

withShared("of the public coins file every coin this node can hold has rules or a reason", () => {
  const coins = JSON.parse(readFileSync(coinsFile, "utf8")) as object[];
  const checked: string[] = [];
  const refused: string[] = [];
  let unchecked = 0;
  for (const fields of coins) {
    const entry = parseCoinEntry(fields);
    const kind = entry.ok ? utxoKind(entry.value) : entry;
    if (!entry.ok || !kind.ok) continue;
    const rules = headerRulesOf(entry.value, kind.value);
    if (!rules.ok) refused.push(entry.value.ticker);
    else if (rules.value.work.kind === "unchecked") unchecked++;
    else checked.push(entry.value.ticker);
  }
  expect(checked).toEqual(["BCH", "BTC", "BTC-segwit", "DOGE", "KMD", "LTC", "LTC-segwit", "XEC"]);
  const namedOtherwise = ["AXE", "BOLI", "CHIPS", "DASH", "EVR", "GBX", "MEWC", "RIN", "RIN-segwit", "RVN", "VRSC", "XNA", "vARRR", "vDEX"];
  expect(refused.sort()).toEqual(namedOtherwise);
  expect(unchecked).toBeGreaterThan(80);
});
