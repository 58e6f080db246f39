import { expect, test } from "vitest";
import { coinNode } from "../../../../test/fakes/coinNode.ts";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { ok } from "../../../core/util/result.ts";

/** Reference rpc.md 8.4, vectors 9 and 10. */
const MNEMONIC = "tank abandon bind salon remove wisdom net size aspect direct source fossil";
const FIRST =
  "0x36b91a54f905f2dd88ecfd7f4a539710c699eaab2b425ba79ad959c29ec26492011674981da72d68ac0ab72bb35661a13c42bce314ecdfff0e44174f82a7ee2501";
const SECOND =
  "0xc8aa1d54c311e38edc815308dc67018aecbd6d4008a88b9af7aba9c98997b7b56f9e6eab64b3c496c6fff1762ae0eba8228370b369d505dd9087cded0a4d947a01";
const ETH = {
  ...{ coin: "ETH", mm2: 1, sign_message_prefix: "Ethereum Signed Message:\n", derivation_path: "m/44'/60'" },
  protocol: { type: "ETH", protocol_data: { chain_id: 1 } },
};
const NODES = { urls: ["http://127.0.0.1:8545"], swap_contract_address: `0x${"24".repeat(20)}` };

test("in an HD wallet a message is signed by the address shown, or by the one that is named", async () => {
  const parts = {
    openChain: async () => ok(new FakeAccountChain()),
    store: createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA])),
  };
  const node = await coinNode([ETH], MNEMONIC, true, null, "spec", { parts });
  expect(await node.flat("enable", { coin: "ETH", ...NODES })).toMatchObject({ status: 200 });
  const signature = async (address?: { readonly derivation_path: string }): Promise<unknown> =>
    (await node.v2("sign_message", { coin: "ETH", message: "test", ...(address ? { address } : {}) })).reply;
  expect(await signature()).toMatchObject({ result: { signature: FIRST } });
  expect(await signature({ derivation_path: "m/44'/60'/0'/0/1" })).toMatchObject({ result: { signature: SECOND } });
  expect(await signature({ derivation_path: "m/44'/141'/0'/0/1" })).toMatchObject({ error_type: "InvalidRequest" });
});

test("with compatibility kdf an undecodable signature is an internal error, and a wrong address an invalid request", async () => {
  const parts = {
    openChain: async () => ok(new FakeAccountChain()),
    store: createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA])),
  };
  const node = await coinNode([ETH], MNEMONIC, true, null, "kdf", { parts });
  const { reply } = await node.flat("enable", { coin: "ETH", ...NODES });
  const verify = async (fields: object): Promise<unknown> =>
    (await node.v2("verify_message", { coin: "ETH", message: "test", signature: FIRST, address: String(reply.address), ...fields })).reply;
  expect(await verify({})).toMatchObject({ result: { is_valid: true } });
  expect(await verify({ signature: SECOND })).toMatchObject({ result: { is_valid: false } });
  expect(await verify({ signature: "0x00" })).toMatchObject({ error_type: "InternalError", error: "Internal error: Invalid Signature" });
  expect(await verify({ address: String(reply.address).toLowerCase() })).toMatchObject({
    ...{ error_type: "InvalidRequest", error: "Invalid request: Invalid address checksum" },
  });
});
