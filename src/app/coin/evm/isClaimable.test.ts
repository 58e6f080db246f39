import { expect, test } from "vitest";
import { encodeWords } from "../../../core/evm/abi.ts";
import { addressFromBytes, type EvmAddress } from "../../../core/evm/address.ts";
import { encodeSwapCall, paymentHash, paymentsCall } from "../../../core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { toHex } from "../../../core/util/bytes.ts";
import { hash160 } from "../../../core/utxo/hash.ts";
import type { AccountChain, CallRequest } from "../../../ports/accountChain.ts";
import { isClaimable } from "./isClaimable.ts";

const address = (n: number): EvmAddress => addressFromBytes(new Uint8Array(20).fill(n));
const [SELF, SENDER, TOKEN, CONTRACT] = [address(1), address(2), address(3), address(4)];
const [ID, SECRET] = [new Uint8Array(32).fill(5), new Uint8Array(32).fill(6)];
const CLAIM = { kind: "receiverSpend", id: ID, amount: 7n, secret: SECRET, token: TOKEN, sender: SENDER } as const;
const AGREED = { receiver: SELF, sender: SENDER, secretHash: hash160(SECRET), token: TOKEN, amount: 7n };
const [NONE, SENT, SPENT, REFUNDED] = [0n, 1n, 2n, 3n];

async function ask(answer: Uint8Array | null): Promise<{ readonly said: boolean | null; readonly asked: readonly CallRequest[] }> {
  const asked: CallRequest[] = [];
  const chain = {
    call: async (request: CallRequest) => {
      asked.push(request);
      return answer ? { ok: true, value: answer } : { ok: false, error: { kind: "Unreachable", message: "no node answered" } };
    },
  } as unknown as AccountChain;
  const signed = { tx: { to: CONTRACT, data: encodeSwapCall(CLAIM) } } as unknown as SignedEvmTx;
  return { said: await isClaimable({ chain, address: SELF }, signed, new AbortController().signal), asked };
}
const record = (state: bigint, payment: Partial<typeof AGREED> = {}): Uint8Array =>
  encodeWords(["bytes20", "uint64", "uint8"], [paymentHash({ ...AGREED, ...payment }), 8n, state]);

test.each<readonly [string, Uint8Array | null, boolean | null]>([
  ["it is there", record(SENT), true],
  ["it was never made", record(NONE), false],
  ["it was claimed", record(SPENT), false],
  ["it has gone back", record(REFUNDED), false],
  ["another is there under its id, of less", record(SENT, { amount: 6n }), false],
  ["another is there under its id, for somebody else", record(SENT, { receiver: SENDER }), false],
  ["what answers is no swap contract", new Uint8Array(0), null],
  ["no node answers", null, null],
])("what the contract says of the payment that a claim asks for: %s", async (_, answer, expected) => {
  const { said, asked } = await ask(answer);
  expect(said).toBe(expected);
  expect(asked.map(({ to, data }) => [to, toHex(data)])).toEqual([[CONTRACT, toHex(paymentsCall(ID))]]);
});
