import { beforeEach, expect, test } from "vitest";
import { ETH_ENTRY, evmCoinOf, tokenEntry } from "../../../../test/fakes/evmCoins.ts";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import { addressFromBytes, addressOfPubkey, type EvmAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import { encodeSwapCall } from "../../../core/evm/swapContract.ts";
import { keyPairFromScalar } from "../../../core/keys/keyPair.ts";
import { ok } from "../../../core/util/result.ts";
import type { SwapCoin } from "../../swap/swapCoin.ts";
import { AccountFunds } from "./accountFunds.ts";
import { NonceLedger } from "./nonceLedger.ts";

const key = keyPairFromScalar(new Uint8Array(32).fill(7)) ?? expect.fail("no key");
const address = addressOfPubkey(key.publicKey);
const at = (byte: number): EvmAddress => addressFromBytes(new Uint8Array(20).fill(byte));
const SWAPS = at(0x5a);
const TOKEN = at(0x11);
/** Tokens that are not enabled. */
const [HUNGRY, FRUGAL] = [at(0x12), at(0x13)];

let chain: FakeAccountChain;
let eth: SwapCoin;
let token: SwapCoin;
beforeEach(async () => {
  chain = new FakeAccountChain();
  chain.balance = 10n ** 20n;
  const clock = new VirtualClock();
  const store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
  const nonces = new NonceLedger({ chain, address, store, log: new SilentLog() });
  await chain.watchAccount(address);
  const parts = { chain, key, nonces, clock, funds: new AccountFunds({ chain, address, nonces, clock }) };
  [eth, token] = [evmCoinOf(ETH_ENTRY, parts).swapCoin, evmCoinOf(tokenEntry(TOKEN), parts).swapCoin];
});

function claimOf(of: EvmAddress, gasLimit: bigint): Uint8Array {
  const call = {
    kind: "receiverSpend",
    id: new Uint8Array(32),
    amount: 1n,
    secret: new Uint8Array(32),
    token: of,
    sender: address,
  } as const;
  const tx = { chainId: 1n, nonce: 0n, gasLimit, to: SWAPS, value: 0n, data: encodeSwapCall(call), gasPrice: 10n };
  return signEvmTx({ type: "legacy", ...tx }, key).raw;
}

test("a claim of the platform coin lacks no gas where a token looks after it: what a token's usually needs is not asked of it", () => {
  const claim = claimOf(ZERO_ADDRESS, 65_000n);
  expect([eth.lacksGas?.(claim), token.lacksGas?.(claim)]).toEqual([false, false]);
  expect(token.lacksGas?.(claimOf(TOKEN, 149_999n))).toBe(true);
});

test("a claim of a coin that is not there lacks gas once data needs what it was signed with: as it is it would fail with its secret shown", () => {
  const lack = (): readonly unknown[] => [token.lacksGas?.(claimOf(ZERO_ADDRESS, 65_000n)), eth.lacksGas?.(claimOf(FRUGAL, 150_000n))];
  const usual = ((21_000n + 40n * 196n) * 102n) / 100n;
  expect(lack()).toEqual([false, false]);
  chain.data = { gas: usual + 60_000n, wei: 0n };
  expect(lack()).toEqual([true, true]);
  const built = token.buildDearer?.(claimOf(ZERO_ADDRESS, 65_000n), 10n ** 15n);
  expect(built?.ok && token.lacksGas?.(built.value.raw)).toBe(false);
});

test("nor is it signed with so much once it is to be dearer, which the account may not have; a token's claim gets what is usual for tokens", () => {
  const price = token.spendRates().rate.perKb / 1_000n;
  chain.balance = 100_000n * (price + price / 4n + 1n);
  expect(token.spendSize("claim", claimOf(ZERO_ADDRESS, 65_000n))).toBe(65_000);
  expect(eth.spendSize("claim", claimOf(TOKEN, 150_000n))).toBe(150_000);
});

test("what a claim of a coin that is not there is found to need is asked of that coin's alone", async () => {
  const [hungry, frugal] = [claimOf(HUNGRY, 150_000n), claimOf(FRUGAL, 150_000n)];
  chain.estimate = ({ to }) => ok(to === HUNGRY ? 900_000n : 21_000n);
  const { signal } = new AbortController();
  for (const claim of [hungry, frugal]) expect(await eth.isHopeless?.(claim, true, signal)).toBe(false);
  expect([hungry, frugal].map((claim) => eth.lacksGas?.(claim))).toEqual([true, false]);
  expect(eth.spendSize("claim", hungry)).toBe(1_248_000);
  expect(eth.spendSize("claim", frugal)).toBe(150_000);
});
