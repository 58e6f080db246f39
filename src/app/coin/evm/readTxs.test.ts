import { expect, test } from "vitest";
import { testKey } from "../../../../test/fakes/chainWorld.ts";
import { ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import { ReadTxs } from "./readTxs.ts";

const bytesOf = (nonce: bigint): Uint8Array =>
  signEvmTx(
    { type: "legacy", chainId: 1n, nonce, gasLimit: 21_000n, to: ZERO_ADDRESS, value: 1n, data: new Uint8Array(0), gasPrice: 1n },
    testKey("maker"),
  ).raw;

test("the same bytes are read once, whichever array they come in; others and nonsense are not mixed up with them", () => {
  const txs = new ReadTxs();
  const [raw, other] = [bytesOf(1n), bytesOf(2n)];
  const read = txs.parse(raw);
  expect(read?.tx.nonce).toBe(1n);
  expect(txs.parse(Uint8Array.from(raw))).toBe(read);
  expect(txs.parse(other)?.tx.nonce).toBe(2n);
  expect([txs.parse(new Uint8Array(0)), txs.parse(raw.subarray(1))]).toEqual([null, null]);
});

test("only the last ones are kept, so many", () => {
  const txs = new ReadTxs(10);
  const first = bytesOf(0n);
  const read = txs.parse(first);
  for (let nonce = 1n; nonce < 10n; nonce++) txs.parse(bytesOf(nonce));
  expect(txs.parse(first)).toBe(read);
  txs.parse(bytesOf(10n));
  expect(txs.parse(first)).not.toBe(read);
});
