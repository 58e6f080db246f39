import { expect, test } from "vitest";
import { parseCoinEntry } from "../../core/coin/coinEntry.ts";
import { MakerAddresses } from "./makerAddresses.ts";

const entry = (coin: string, protocol: object) => {
  const parsed = parseCoinEntry({ coin, mm2: 1, protocol });
  if (!parsed.ok) throw new Error(parsed.error.kind);
  return [coin, parsed.value] as const;
};
const ENTRIES = new Map([
  entry("RICK", { type: "UTXO" }),
  entry("ETH", { type: "ETH", protocol_data: { chain_id: 1 } }),
  entry("TOK", { type: "ERC20", protocol_data: { platform: "ETH", contract_address: `0x${"ab".repeat(20)}` } }),
  entry("ATOM", { type: "TENDERMINT" }),
]);
/** Of reference rpc.md 2.4. */
const PUBKEY = "02031d4256c4bc9f99ac88bf3dba21773132281f65f9bf23a59928bce08961e2f3";
const ETH_ADDRESS = "0xbAB36286672fbdc7B250804bf6D14Be0dF69fa29";

test("a maker's address is its key's on the coin: base58 on UTXO chains, with the checksum of EIP-55 on account chains", async () => {
  const addressOf = await new MakerAddresses(ENTRIES).on(["TOK", "RICK"]);
  const shown = ["ETH", "TOK", "RICK", "ATOM", "NONE"].map((ticker) => addressOf(ticker, PUBKEY));
  expect(shown).toEqual([ETH_ADDRESS, ETH_ADDRESS, "R9o9xTocqr6CeEDGDH6mEYpwLoMz6jNjMW", null, null]);
});

test("a key that a relay made up has no address on an account chain", async () => {
  const addressOf = await new MakerAddresses(ENTRIES).on(["ETH"]);
  expect([addressOf("ETH", `02${"ff".repeat(32)}`), addressOf("ETH", "")]).toEqual([null, null]);
});

test("what addresses of account chains take is loaded only when they are asked for", async () => {
  const addressOf = await new MakerAddresses(ENTRIES).on(["RICK"]);
  expect(() => addressOf("ETH", PUBKEY)).toThrow("the address of ETH was not asked for");
});

test("an address is worked out once for as many keys as a book may have, on account chains for all coins", async () => {
  const worked: string[] = [];
  const work = (_: unknown, pubkey: string): null => {
    worked.push(pubkey);
    return null;
  };
  const addresses = new MakerAddresses(ENTRIES, { account: work, utxo: work });
  for (let i = 0; i < 2; i++) {
    const addressOf = await addresses.on(["ETH", "RICK"]);
    for (const ticker of ["ETH", "TOK", "RICK"]) addressOf(ticker, PUBKEY);
  }
  expect(worked).toEqual([PUBKEY, PUBKEY]);
  const addressOf = await addresses.on(["ETH"]);
  for (let i = 0; i < 20_000; i++) addressOf("ETH", String(i));
  for (let i = 0; i < 20_000; i++) addressOf("ETH", String(i));
  expect(worked.length).toBe(20_002);
  addressOf("ETH", PUBKEY);
  expect(worked.length).toBe(20_003);
});
