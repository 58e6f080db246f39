import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { decimal } from "../money/rational.ts";
import { type CoinEntry, parseCoinEntry } from "./coinEntry.ts";
import { coinSupport } from "./coinSupport.ts";
import { utxoKind } from "./utxoKind.ts";

const shared = process.env.SWAPNODE_SHARED ?? new URL("../../../../shared", import.meta.url).pathname;
const coinsFile = `${shared}/data/coins.json`;

function entry(fields: Record<string, unknown>): CoinEntry {
  const parsed = parseCoinEntry({ coin: "X", protocol: { type: "UTXO" }, ...fields });
  if (!parsed.ok) throw new Error(`${parsed.error.field} ${parsed.error.detail}`);
  return parsed.value;
}
function kind(fields: Record<string, unknown>, format?: "standard" | "segwit" | "cashaddress") {
  const result = utxoKind(entry(fields), format);
  if (!result.ok) throw new Error(result.error.reason);
  return result.value;
}
const reason = (fields: Record<string, unknown>) => {
  const result = utxoKind(entry(fields));
  return result.ok ? "accepted" : result.error.reason;
};

test("an entry without details is a coin with KDF's defaults", () => {
  expect(kind({})).toEqual({
    template: { version: 1, format: { kind: "bitcoin" } },
    scheme: { kind: "legacy" },
    ticker: "X",
    decimals: 8,
    address: {
      p2pkhPrefix: Uint8Array.of(60),
      p2shPrefix: Uint8Array.of(85),
      hrp: null,
      segwit: false,
      cashPrefix: null,
      format: "standard",
    },
    wifPrefix: 188,
    dust: 1000n,
    feePolicy: { kind: "fixed", rate: { perKb: 1000n, wholeKb: false } },
    forceMinRelayFee: false,
    feeVolatilityPercent: 0.5,
    minTradingVol: 10_000n,
    confirmations: 1,
    notarization: false,
    matureConfirmations: 100,
    paysInterest: false,
    relayPolicy: "overpay",
    mostPerTx: null,
  });
  const btc = kind({ coin: "BTC" });
  expect([btc.address.p2pkhPrefix, btc.address.p2shPrefix, btc.wifPrefix]).toEqual([Uint8Array.of(0), Uint8Array.of(5), 128]);
});

test("Komodo and its asset chains sign Sapling transactions with the Sapling branch id", () => {
  const doc = kind({ coin: "DOC", asset: "DOC", txversion: 4, overwintered: 1 });
  expect([doc.template, doc.scheme]).toEqual([
    { version: 4, format: { kind: "sapling" } },
    { kind: "sapling", branchId: 0x76b809bb },
  ]);
  expect([doc.paysInterest, kind({ coin: "KMD", txversion: 4, overwintered: 1 }).paysInterest]).toEqual([false, true]);
  expect(kind({ txversion: 4, overwintered: 1, version_group_id: "0x892f2085", consensus_branch_id: "0x76b809bb" }).scheme).toEqual(
    doc.scheme,
  );
});

test("the own address is P2WPKH only where the entry or the request asks for it and the coin has it", () => {
  const segwit = { segwit: true, bech32_hrp: "ltc" };
  expect(kind(segwit).address.format).toBe("standard");
  expect(kind({ ...segwit, address_format: { format: "segwit" } }).address.format).toBe("segwit");
  expect(kind(segwit, "segwit").address.format).toBe("segwit");
  expect(kind({ ...segwit, address_format: { format: "segwit" } }, "standard").address.format).toBe("standard");
  expect(reason({ segwit: true, address_format: { format: "segwit" } })).toContain("bech32_hrp");
  expect(utxoKind(entry({}), "cashaddress").ok).toBe(false);
});

test("a Bitcoin Cash entry signs with fork id and writes cash addresses", () => {
  const bch = kind({
    coin: "BCH",
    fork_id: "0x40",
    pubtype: 0,
    p2shtype: 5,
    address_format: { format: "cashaddress", network: "bitcoincash" },
  });
  expect([bch.scheme, bch.address.cashPrefix, bch.address.format]).toEqual([
    { kind: "forkid", forkNumber: 0 },
    "bitcoincash",
    "cashaddress",
  ]);
});

test("fees: absent is 1000, zero is the backend's estimate, n is n, dingo rounds up only an own n", () => {
  expect(kind({ txfee: 0, dingo_fee: true }).feePolicy).toEqual({ kind: "dynamic" });
  expect(kind({ txfee: 5 }).feePolicy).toEqual({ kind: "fixed", rate: { perKb: 5n, wholeKb: false } });
  expect(kind({ txfee: 5, dingo_fee: true }).feePolicy).toEqual({ kind: "fixed", rate: { perKb: 5n, wholeKb: true } });
  expect(kind({ dingo_fee: true }).feePolicy).toEqual({ kind: "fixed", rate: { perKb: 1000n, wholeKb: false } });
});

test("relay policy: by the code base, unless the entry names one", () => {
  const policies = [
    kind({ segwit: true, bech32_hrp: "bc" }),
    kind({ segwit: true, bech32_hrp: "ltc" }),
    kind({ segwit: false }),
    kind({ txversion: 4, overwintered: 1 }),
    kind({ fork_id: "0x40" }),
    kind({ relay_policy: "child" }),
    kind({ segwit: true, relay_policy: "overpay" }),
    kind({ txversion: 4, overwintered: 1, relay_policy: "replace" }),
  ].map((k) => k.relayPolicy);
  expect(policies).toEqual(["replace", "child", "overpay", "overpay", "overpay", "child", "overpay", "replace"]);
  expect(parseCoinEntry({ coin: "X", protocol: { type: "UTXO" }, relay_policy: "rbf" })).toMatchObject({
    ok: false,
    error: { field: "relay_policy", detail: "must be one of replace, child, overpay" },
  });
});

test("the least volume is 10 dust or 10 fixed spend fees, and min_trading_vol can only raise it, rounded up", () => {
  expect(kind({ txfee: 1_000_000 }).minTradingVol).toBe(4_960_000n);
  expect(kind({ txfee: 0, dust: 5000 }).minTradingVol).toBe(50_000n);
  expect(kind({ min_trading_vol: "0.00001" }).minTradingVol).toBe(10_000n);
  expect(kind({ min_trading_vol: "0.5" }).minTradingVol).toBe(50_000_000n);
  expect(kind({ min_trading_vol: "0.500000001" }).minTradingVol).toBe(50_000_001n);
  expect(entry({ min_trading_vol: 0.25 }).minTradingVol).toEqual(decimal("0.25"));
});

test("formats that no independent vector proves are refused with the reason", () => {
  const cases: [Record<string, unknown>, string][] = [
    [{ isPoS: 1 }, "time field"],
    [{ isPoSV: 1 }, "stake-velocity"],
    [{ fork_id: "0x40", signature_version: "base" }, "fork id"],
    [{ fork_id: "0x40", signature_version: "fork_id_rxd" }, "fork_id_rxd"],
    [{ fork_id: "0x41" }, "fork_id 0x00000041"],
    [{ fork_id: "0x40", segwit: true }, "segwit"],
    [{ signature_version: "witness_v0" }, "witness_v0"],
    [{ txversion: 3 }, "version 3"],
    [{ txversion: 4, overwintered: 1, consensus_branch_id: "0xe9ff75a6" }, "0xe9ff75a6"],
    [{ txversion: 4, overwintered: 1, version_group_id: "0x03c48270" }, "version_group_id"],
    [{ txversion: 3, overwintered: 1 }, "version 4"],
    [{ txversion: 4, overwintered: 1, segwit: true }, "segwit"],
    [{ protocol: { type: "UTXO", chain_variant: "QTUM" } }, "Qtum"],
    [{ protocol: { type: "UTXO", chain_variant: "PIVX" } }, "PIVX"],
    [{ protocol: { type: "UTXO", chain_variant: "NEW" } }, "chain_variant NEW"],
    [{ protocol: { type: "BCH" } }, "SLP"],
    [{ protocol: { type: "ERC20" } }, "protocol ERC20"],
    [{ coin: "GRS" }, "Groestl"],
    [{ coin: "GRS-segwit" }, "Groestl"],
    [{ coin: "DIME" }, "comment"],
    [{ coin: "HTH" }, "output"],
    [{ coin: "KCN-segwit" }, "SHA3"],
    [{ coin: "LCN" }, "SHA3"],
    [{ coin: "XPM" }, "variable length"],
    [{ coin: "LBC-segwit", protocol: { type: "UTXO", chain_variant: "LBC" } }, "one hash more before the time"],
    [{ coin: "SYS-segwit" }, "version-137"],
    [{ address_format: { format: "moon" } }, "moon"],
    [{ bech32_hrp: "B C" }, "bech32_hrp"],
  ];
  for (const [fields, part] of cases) expect(reason(fields)).toContain(part);
  expect(reason({ fork_id: "0x00", signature_version: "base" })).toBe("accepted");
});

test("chains whose blocks hold other transactions say so in their format", () => {
  expect(kind({ coin: "DASH" }).template.format).toEqual({ kind: "bitcoin", specialTx: true });
  for (const coin of ["AXE", "GBX", "RTM", "GRR", "FIRO", "KIIRO"])
    expect(kind({ coin }).template.format).toEqual({ kind: "bitcoin", specialTx: "version 3" });
  for (const coin of ["LTC-segwit", "LC2-segwit", "CY", "DSV", "JKC", "RIN"])
    expect(kind({ coin }).template.format).toEqual({ kind: "bitcoin", mweb: true });
});

test("unknown keys are kept, known ones of a wrong type or range are named", () => {
  expect(entry({ electrum: ["a"], mm2: 1 })).toMatchObject({ mm2: true, raw: { electrum: ["a"] } });
  expect(entry({ mm2: null, segwit: null, txfee: null })).toMatchObject({ mm2: false, segwit: false, txfee: null });
  const cases: [unknown, string][] = [
    [null, ""],
    [[], ""],
    ["X", ""],
    [{ coin: 1, protocol: { type: "UTXO" } }, "coin"],
    [{ coin: "", protocol: { type: "UTXO" } }, "coin"],
    [{ coin: "X".repeat(65), protocol: { type: "UTXO" } }, "coin"],
    [{ coin: "X", protocol: "UTXO" }, "protocol"],
    [{ coin: "X", protocol: {} }, "protocol.type"],
    [{ coin: "X", protocol: { type: "UTXO" }, pubtype: 256 }, "pubtype"],
    [{ coin: "X", protocol: { type: "UTXO" }, pubtype: "60" }, "pubtype"],
    [{ coin: "X", protocol: { type: "UTXO" }, txfee: 0.5 }, "txfee"],
    [{ coin: "X", protocol: { type: "UTXO" }, txfee: -1 }, "txfee"],
    [{ coin: "X", protocol: { type: "UTXO" }, dust: 2 ** 53 }, "dust"],
    [{ coin: "X", protocol: { type: "UTXO" }, decimals: 31 }, "decimals"],
    [{ coin: "X", protocol: { type: "UTXO" }, segwit: "yes" }, "segwit"],
    [{ coin: "X", protocol: { type: "UTXO" }, fork_id: "64" }, "fork_id"],
    [{ coin: "X", protocol: { type: "UTXO" }, derivation_path: "44'/0'" }, "derivation_path"],
    [{ coin: "X", protocol: { type: "UTXO" }, address_format: { format: 1 } }, "address_format.format"],
    [{ coin: "X", protocol: { type: "UTXO" }, min_trading_vol: "0" }, "min_trading_vol"],
    [{ coin: "X", protocol: { type: "UTXO" }, sign_message_prefix: "x".repeat(1001) }, "sign_message_prefix"],
    [Object.fromEntries([["coin", "X"], ["protocol", { type: "UTXO" }], ...Array.from({ length: 200 }, (_, i) => [`k${i}`, i])]), ""],
  ];
  for (const [value, field] of cases) {
    const parsed = parseCoinEntry(value);
    expect(parsed.ok ? "accepted" : parsed.error.field, JSON.stringify(value)?.slice(0, 80)).toBe(field);
  }
});

const withShared = existsSync(coinsFile) ? test : test.skip;

withShared(`all coins of the shared coins file classify (${existsSync(coinsFile) ? "read" : "skipped: no shared data"})`, () => {
  const coins: unknown = JSON.parse(readFileSync(coinsFile, "utf8"));
  if (!Array.isArray(coins)) throw new Error("not a list");
  expect(coins.length).toBeGreaterThan(700);
  const rows = coins.map((value) => {
    const parsed = parseCoinEntry(value);
    if (!parsed.ok) throw new Error(`${parsed.error.coin}: ${parsed.error.field} ${parsed.error.detail}`);
    return { ticker: parsed.value.ticker, ...coinSupport(parsed.value) };
  });
  for (const row of rows) expect(row.tradeable, row.ticker).toBe(row.reason === "");
  const tradeable = new Set(rows.filter((r) => r.tradeable).map((r) => r.ticker));
  for (const ticker of [
    "KMD",
    "DOC",
    "MARTY",
    "BTC",
    "BTC-segwit",
    "LTC",
    "LTC-segwit",
    "DOGE",
    "DGB",
    "BCH",
    "XEC",
    "DASH",
    "RVN",
    "VRSC",
  ])
    expect(tradeable).toContain(ticker);
  for (const ticker of ["ETH", "ZEC", "GRS", "PPC", "RXD", "ARRR", "QTUM", "XPM"]) expect(tradeable).not.toContain(ticker);
});
