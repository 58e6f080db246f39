import { expect, test } from "vitest";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../src/adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { addressFromBytes, checksumAddress } from "../../src/core/evm/address.ts";
import { ok } from "../../src/core/util/result.ts";
import type { BroadcastOutcome } from "../../src/ports/chain.ts";
import { Aborted } from "../../src/ports/clock.ts";
import type { Json } from "../../src/rpc/parseJson.ts";
import { type CoinNode, coinNode } from "../fakes/coinNode.ts";
import { FakeAccountChain } from "../fakes/fakeAccountChain.ts";

/** Withdrawals that are begun as tasks, over backends that take their time. */

const DOC = { coin: "DOC", pubtype: 60, p2shtype: 85, wiftype: 188, txversion: 4, overwintered: 1, txfee: 1_000, mm2: 1 };
const ETH = { coin: "ETH", mm2: 1, protocol: { type: "ETH", protocol_data: { chain_id: 1 } } };
const TO = "RPkj5o9UUWPoMbVhkqaSosNGxTpj2CXVaN";
const ADDRESS = checksumAddress(addressFromBytes(new Uint8Array(20).fill(0x55)));
const CONTRACT = checksumAddress(addressFromBytes(new Uint8Array(20).fill(0x24)));
const COIN = 100_000_000n;

const settle = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** A backend that answers when it is told to, and at once to who does not wait any more. */
function slow() {
  const sent: Uint8Array[] = [];
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const broadcast = async (raw: Uint8Array, signal?: AbortSignal): Promise<BroadcastOutcome> => {
    if (signal?.aborted) throw new Aborted();
    sent.push(raw);
    const left = new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(new Aborted())));
    await Promise.race([answered, left]);
    return { kind: "accepted" };
  };
  return { sent, answer, broadcast };
}

async function withdrawing(node: CoinNode, params: { readonly [key: string]: Json }): Promise<number> {
  const { reply } = await node.v2("task::withdraw::init", { amount: "0.5", broadcast: true, ...params });
  await settle();
  return (reply.result as { task_id: number }).task_id;
}
const cancel = (node: CoinNode, id: number) => node.v2("task::withdraw::cancel", { task_id: id });
const status = async (node: CoinNode, id: number) => (await node.v2("task::withdraw::status", { task_id: id })).reply;
const SENDING = {
  status: 409,
  reply: {
    error_type: "TaskFinished",
    error: "The transaction is being sent and cannot be called back; the status of the task tells what becomes of it",
  },
};

async function accountNode() {
  const chain = new FakeAccountChain();
  chain.balance = 10n ** 20n;
  const store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
  const parts = { openChain: async () => ok(chain), store };
  const node = await coinNode([ETH], "tasks that withdraw", false, null, "spec", { parts });
  const nodes = { urls: ["http://127.0.0.1:8545"], swap_contract_address: CONTRACT };
  expect((await node.flat("enable", { coin: "ETH", ...nodes })).reply).toMatchObject({ result: "success" });
  const backend = slow();
  chain.broadcast = backend.broadcast;
  return { node, backend };
}

test("a withdrawal that is being sent is not cancelled: whoever was told so would pay again", async () => {
  const node = await coinNode([{ ...DOC, protocol: { type: "UTXO" } }], "tasks that withdraw");
  await node.enable("DOC");
  node.fund("DOC", COIN, COIN);
  const backend = slow();
  const chain = node.chains.get("DOC");
  if (chain) chain.broadcast = backend.broadcast;
  const id = await withdrawing(node, { coin: "DOC", to: TO });
  expect(await cancel(node, id)).toMatchObject(SENDING);
  expect(await status(node, id)).toMatchObject({ result: { status: "InProgress" } });
  backend.answer();
  await settle();
  expect(await status(node, id)).toMatchObject({ result: { status: "Ok", details: { tx_hash: expect.any(String) } } });
  expect(backend.sent.length).toBe(1);
});

test("over an account chain neither; and one that is cancelled before its turn is never sent", async () => {
  const { node, backend } = await accountNode();
  const first = await withdrawing(node, { coin: "ETH", to: ADDRESS });
  const second = await withdrawing(node, { coin: "ETH", to: ADDRESS });
  expect(await cancel(node, first)).toMatchObject(SENDING);
  expect(await cancel(node, second)).toMatchObject({ status: 200, reply: { result: "success" } });
  backend.answer();
  await settle();
  expect(await status(node, first)).toMatchObject({ result: { status: "Ok" } });
  // What follows is sent behind what went before.
  const third = await withdrawing(node, { coin: "ETH", to: ADDRESS, amount: "0.25" });
  expect(await status(node, third)).toMatchObject({ result: { status: "Ok" } });
  expect(backend.sent.length).toBe(2);
});

test("a withdrawal that is cut short, as when its coin is disabled, says that it may be done all the same", async () => {
  const node = await coinNode([{ ...DOC, protocol: { type: "UTXO" } }], "tasks that withdraw");
  await node.enable("DOC");
  node.fund("DOC", COIN);
  const chain = node.chains.get("DOC");
  if (!chain) throw new Error("DOC has no chain");
  let close: () => void = () => undefined;
  const closed = new Promise<never>((_, reject) => {
    close = () => reject(new Aborted("closed"));
  });
  chain.broadcast = () => closed;
  const id = await withdrawing(node, { coin: "DOC", to: TO });
  close();
  await settle();
  const error =
    "The task was cut short, as when its coin is disabled; it may be done all the same, so look at the state before you repeat it";
  expect(await status(node, id)).toMatchObject({ result: { status: "Error", details: { error, error_type: "Internal" } } });
});
