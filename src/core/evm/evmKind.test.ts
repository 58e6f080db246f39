import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseCoinEntry } from "../coin/coinEntry.ts";
import { isEvmProtocol } from "../coin/evmProtocol.ts";
import { evmKind, parseContractAddress } from "./evmKind.ts";

const SHARED = process.env.SWAPNODE_SHARED ?? fileURLToPath(new URL("../../../../shared", import.meta.url));
const COINS_FILE = `${SHARED}/data/coins.json`;
const skipped = existsSync(COINS_FILE) ? "" : " (skipped: no shared data)";

const GOOD = "0xbAB36286672fbdc7B250804bf6D14Be0dF69fa29";
const ETH = { coin: "ETH", protocol: { type: "ETH", protocol_data: { chain_id: 1 } } };
const TOKEN = { coin: "T", decimals: 6, protocol: { type: "ERC20", protocol_data: { platform: "ETH", contract_address: GOOD } } };
const read = (value: unknown): ReturnType<typeof evmKind> => {
  const entry = parseCoinEntry(value);
  return entry.ok ? evmKind(entry.value) : expect.fail(entry.error.detail);
};

test("a platform coin and a token are read with KDF's defaults", () => {
  expect(read(ETH)).toMatchObject({
    value: {
      asset: { kind: "native", chainId: 1n },
      decimals: 18,
      confirmations: 1,
      gas: { policy: null, maxTxType: null, estimatePercent: null },
    },
  });
  expect(read(TOKEN)).toMatchObject({
    value: { asset: { kind: "token", platform: "ETH", contract: GOOD.slice(2).toLowerCase() }, decimals: 6 },
  });
  expect(read({ ...TOKEN, decimals: undefined })).toMatchObject({ value: { decimals: null } });
});

test("what an entry says about gas is read", () => {
  const gas = { swap_gas_fee_policy: "Medium", max_eth_tx_type: 2, estimate_gas_mult: 1.3, gas_limit: { eth_max_trade_gas: 200_000 } };
  expect(read({ ...ETH, ...gas })).toMatchObject({
    value: { gas: { policy: "medium", maxTxType: 2, estimatePercent: 130n, limits: { tradeFee: 200_000n, nativeSend: 21_000n } } },
  });
});

test.each([
  [{ ...ETH, protocol: { type: "ETH" } }, "protocol_data.chain_id is missing or no chain id"],
  [{ ...ETH, protocol: { type: "ETH", protocol_data: { chain_id: 0 } } }, "protocol_data.chain_id is missing or no chain id"],
  [{ ...TOKEN, protocol: { type: "ERC20", protocol_data: { platform: "ETH" } } }, "protocol_data needs platform and contract_address"],
  [{ ...ETH, swap_gas_fee_policy: "Cheap" }, "swap_gas_fee_policy must be Legacy, Low, Medium or High"],
  [{ ...ETH, gas_limit: { eth_payment: 1 } }, "gas_limit names an amount of gas that cannot be"],
  [{ ...ETH, estimate_gas_mult: 0.5 }, "estimate_gas_mult must be from 1 to 10"],
])("%j is refused: %s", (value, reason) => {
  expect(read(value)).toEqual({ ok: false, error: { kind: "BadEvmEntry", reason } });
});

test("contract addresses of one case are taken, of mixed case only with the right checksum, and zeros never", () => {
  const value = GOOD.slice(2).toLowerCase();
  for (const text of [GOOD, GOOD.toLowerCase(), `0x${GOOD.slice(2).toUpperCase()}`])
    expect(parseContractAddress(text)).toEqual({ ok: true, value });
  const reason = (text: string): unknown => (parseContractAddress(text) as { error: { reason: string } }).error.reason;
  expect(reason(GOOD.replace("bAB", "BAb"))).toMatch(/^has a wrong checksum: /);
  expect(reason(`0x${"0".repeat(40)}`)).toBe("can't be zero address");
  expect(reason(GOOD.slice(2))).toBe("must be prefixed with 0x");
  expect(reason("0x12")).toBe("must have 40 hex digits after 0x, not 2");
});

test.skipIf(skipped !== "")(`every ETH-like coin and token of the public coins file loads, and every platform is there${skipped}`, () => {
  const coins: readonly unknown[] = JSON.parse(readFileSync(COINS_FILE, "utf8"));
  const entries = coins.flatMap((value) => {
    const entry = parseCoinEntry(value);
    return entry.ok && isEvmProtocol(entry.value.protocol.type) ? [entry.value] : [];
  });
  expect(entries.length).toBeGreaterThanOrEqual(506);
  const kinds = entries.map((entry) => [entry.ticker, evmKind(entry)] as const);
  expect(kinds.flatMap(([ticker, kind]) => (kind.ok ? [] : `${ticker}: ${kind.error.reason}`))).toEqual([]);
  const tickers = new Set(kinds.map(([ticker]) => ticker));
  for (const [, kind] of kinds) if (kind.ok && kind.value.asset.kind === "token") expect(tickers).toContain(kind.value.asset.platform);
});
