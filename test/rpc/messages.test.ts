import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { coinNode } from "../fakes/coinNode.ts";
import { keyFacts } from "../vectors/keys/keyVectors.ts";

/** sign_message and verify_message through the RPC (interface document; vectors of reference rpc.md 8.4). */

const { messages, seedA, seedBch, hd } = keyFacts;
const RICK = {
  coin: "RICK",
  pubtype: 60,
  p2shtype: 85,
  wiftype: 188,
  mm2: 1,
  segwit: true,
  bech32_hrp: "rck",
  sign_message_prefix: messages.komodoPrefix,
  derivation_path: "m/44'/141'",
  protocol: { type: "UTXO" },
};
const BCH = {
  coin: "BCH",
  pubtype: 0,
  p2shtype: 5,
  wiftype: 128,
  fork_id: "0x40",
  address_format: { format: "cashaddress", network: "bitcoincash" },
  mm2: 1,
  sign_message_prefix: messages.bitcoinPrefix,
  protocol: { type: "UTXO" },
};
const TBCH = { ...BCH, coin: "tBCH", pubtype: 111, p2shtype: 196, address_format: { format: "cashaddress", network: "bchtest" } };

test.each([
  ["2", RICK, seedA.passphrase, messages.komodoSeedA, [seedA.address60, seedA.segwit.rck]],
  ["2c", { ...RICK, bech32_hrp: "doc" }, seedA.passphrase, messages.komodoSeedA, [seedA.segwit.doc]],
  ["3", BCH, seedA.passphrase, messages.bitcoinSeedA, [seedA.cash.bitcoincash]],
  ["4", TBCH, seedBch.passphrase, messages.bitcoinSeedBch, [seedBch.cash.bchtest]],
])("vector %s signs and verifies", async (_, entry, passphrase, signature, addresses) => {
  const node = await coinNode([entry], passphrase);
  await node.enable(entry.coin);
  const signed = await node.v2("sign_message", { coin: entry.coin, message: messages.text });
  expect(signed).toEqual({ status: 200, reply: { mmrpc: "2.0", result: { signature }, id: 0 } });
  for (const address of addresses) {
    const checked = await node.v2("verify_message", { coin: entry.coin, message: messages.text, signature, address });
    expect(checked).toEqual({ status: 200, reply: { mmrpc: "2.0", result: { is_valid: true }, id: 0 } });
    const other = await node.v2("verify_message", { coin: entry.coin, message: "other", signature, address });
    expect(other.reply.result).toEqual({ is_valid: false });
  }
});

test.each([
  ["7", { derivation_path: "m/44'/141'/0'/0/0" }, messages.komodoHd0],
  ["7", { account_id: 0, chain: "External", address_id: 0 }, messages.komodoHd0],
  ["8", { derivation_path: "m/44'/141'/0'/0/1" }, messages.komodoHd1],
  ["8", { account_id: 0, chain: "External", address_id: 1 }, messages.komodoHd1],
])("vector %s: an HD wallet signs with the address %j", async (_, address, signature) => {
  const node = await coinNode([RICK], hd.mnemonic, true);
  await node.enable("RICK");
  expect((await node.v2("sign_message", { coin: "RICK", message: messages.text, address })).reply.result).toEqual({ signature });
});

test("without an address an HD wallet signs with the one it shows", async () => {
  const node = await coinNode([RICK], hd.mnemonic, true);
  await node.enable("RICK");
  const { reply } = await node.v2("sign_message", { coin: "RICK", message: messages.text });
  expect(reply.result).toEqual({ signature: messages.komodoHd0 });
  const { address } = node.coin("RICK");
  const params = { coin: "RICK", message: messages.text, address };
  expect((await node.v2("verify_message", { ...params, signature: messages.komodoHd0 })).reply.result).toEqual({ is_valid: true });
  expect((await node.v2("verify_message", { ...params, signature: messages.komodoHd1 })).reply.result).toEqual({ is_valid: false });
});

test.each([
  [{ derivation_path: "m/44'/60'/0'/0/0" }],
  [{ derivation_path: "m/44'/141'" }],
  [{ derivation_path: "m/44'/141'/0/0/0" }],
  [{ derivation_path: "m/44'/141'/0'/2/0" }],
  [{ derivation_path: "m/44'/141'/0'/0/0/0" }],
  [{ derivation_path: "m/44'/141'/0'/0/2147483648" }],
  [{ derivation_path: "" }],
  [{ account_id: 2_147_483_648, chain: "External", address_id: 0 }],
  [{ account_id: 0, chain: "Internal", address_id: 4_294_967_295 }],
])("an HD wallet refuses the address %j", async (address) => {
  const node = await coinNode([RICK], hd.mnemonic, true);
  await node.enable("RICK");
  const { status, reply } = await node.v2("sign_message", { coin: "RICK", message: "test", address });
  expect([status, reply.error_type]).toEqual([400, "InvalidRequest"]);
  expect(reply.error).toMatch(/^Invalid request: the address must be m\/44'\/141'\/<account>'\/<0 or 1>\/<index>/);
});

test("an address named to a wallet that has one is refused before the coin is looked at", async () => {
  const node = await coinNode([RICK], seedA.passphrase);
  const address = { derivation_path: "m/44'/141'/0'/0/0" };
  const { status, reply } = await node.v2("sign_message", { coin: "NOPE", message: "test", address });
  expect([status, reply.error_type]).toEqual([400, "InvalidRequest"]);
  expect(reply.error).toContain("You need to enable kdf with enable_hd");
});

test("a coin without a prefix neither signs nor verifies", async () => {
  const { sign_message_prefix: _, ...bare } = RICK;
  for (const [passphrase, wallet] of [
    [seedA.passphrase, false],
    [hd.mnemonic, true],
  ] as const) {
    const node = await coinNode([bare], passphrase, wallet);
    await node.enable("RICK");
    const calls = [node.v2("sign_message", { coin: "RICK", message: "x" })];
    if (wallet) calls.push(node.v2("sign_message", { coin: "RICK", message: "x", address: { derivation_path: "m/44'/141'/0'/0/0" } }));
    const params = { coin: "RICK", message: "x", signature: messages.komodoSeedA, address: seedA.address60 };
    for (const call of [...calls, node.v2("verify_message", params)])
      expect(await call).toMatchObject({ status: 500, reply: { error_type: "PrefixNotFound" } });
  }
});

const shared = process.env.SWAPNODE_SHARED ?? fileURLToPath(new URL("../../../shared", import.meta.url));
const coinsFile = join(shared, "data/coins.json");
const hasShared = existsSync(coinsFile);

test.skipIf(!hasShared)(
  `every coin of the public coins file with a prefix signs and verifies${hasShared ? "" : " skipped: no shared data"}`,
  async () => {
    const all: readonly { readonly coin: string; readonly sign_message_prefix?: string; readonly protocol: { readonly type: string } }[] =
      JSON.parse(readFileSync(coinsFile, "utf8"));
    const withPrefix = all.filter((e) => e.sign_message_prefix !== undefined && e.protocol.type === "UTXO");
    const node = await coinNode(withPrefix, seedA.passphrase);
    let signing = 0;
    const refused: string[] = [];
    for (const { coin } of withPrefix) {
      const enabled = await node.enable(coin);
      if (!enabled.ok) {
        refused.push(coin);
        continue;
      }
      signing++;
      const message = `I own this ${coin} address ✓`;
      const { reply } = await node.v2("sign_message", { coin, message });
      const signature = (reply.result as { signature: string }).signature;
      expect(signature).toMatch(/^[HI][A-Za-z0-9+/]{86}=$/);
      const { address } = node.coin(coin);
      const checked = await node.v2("verify_message", { coin, message, signature, address });
      expect([coin, checked.reply.result]).toEqual([coin, { is_valid: true }]);
    }
    expect(signing).toBeGreaterThan(100);
    expect(signing + refused.length).toBe(withPrefix.length);
  },
);

test.each([
  ["", "could not convert slice to array"],
  ["abc", "Invalid padding"],
  [` ${messages.komodoSeedA}`, "Invalid symbol 32, offset 0."],
  ["ab\u{1F600}=", "Invalid symbol 240, offset 2."],
  [messages.komodoSeedA.repeat(1_000).replaceAll("=", "A"), "could not convert slice to array"],
  // 65 bytes: a header below 27, no point on the curve, numbers of zero
  [Buffer.from([26, ...Buffer.from(messages.komodoSeedA, "base64").subarray(1)]).toString("base64"), "Invalid Signature"],
  [Buffer.from([31, ...new Uint8Array(32).fill(255), ...new Uint8Array(32).fill(1)]).toString("base64"), "Invalid Signature"],
  [Buffer.from([31, ...new Uint8Array(64)]).toString("base64"), "Invalid Signature"],
])("a signature that cannot be decoded is told why: %#", async (signature, detail) => {
  const node = await coinNode([RICK], seedA.passphrase);
  await node.enable("RICK");
  const { status, reply } = await node.v2("verify_message", { coin: "RICK", message: "test", signature, address: seedA.address60 });
  expect([status, reply.error_type, reply.error, reply.error_data]).toEqual([
    400,
    "SignatureDecodingError",
    `Signature decoding error: ${detail}`,
    detail,
  ]);
});
