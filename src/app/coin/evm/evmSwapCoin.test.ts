import { expect, test, vi } from "vitest";
import { ETH_ENTRY, evmCoinOf } from "../../../../test/fakes/evmCoins.ts";
import { FakeAccountChain } from "../../../../test/fakes/fakeAccountChain.ts";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../../adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../../adapters/sqlite/inlineDatabase.ts";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import { addressOfPubkey, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { signEvmTx } from "../../../core/evm/signTx.ts";
import { keyPairFromScalar } from "../../../core/keys/keyPair.ts";
import { AccountFunds } from "./accountFunds.ts";
import { NonceLedger } from "./nonceLedger.ts";

test("of what a waiting swap left all versions are watched: a pool may have an older one than was stored last", async () => {
  const key = keyPairFromScalar(new Uint8Array(32).fill(7)) ?? expect.fail("no key");
  const [chain, clock, address] = [new FakeAccountChain(), new VirtualClock(), addressOfPubkey(key.publicKey)];
  const store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
  const nonces = new NonceLedger({ chain, address, store, log: new SilentLog() });
  await chain.watchAccount(address);
  const coin = evmCoinOf(ETH_ENTRY, { chain, key, nonces, funds: new AccountFunds({ chain, address, nonces, clock }), clock });
  const swapCoin = coin.swapCoin ?? expect.fail("not for swaps");
  const [first, second] = [1n, 2n].map((gasPrice) =>
    signEvmTx(
      { type: "legacy", chainId: 1n, nonce: 0n, gasLimit: 21_000n, to: ZERO_ADDRESS, value: 1n, data: new Uint8Array(0), gasPrice },
      key,
    ),
  );
  if (!first || !second) expect.fail("nothing was signed");
  const watched = vi.spyOn(chain, "watchTx");
  swapCoin.lockNonce?.(first.raw);
  swapCoin.entrust?.(second.raw, null, async () => null);
  expect(watched.mock.calls.map(([txid]: readonly unknown[]) => txid).toSorted()).toEqual([first.txid, second.txid].toSorted());
});
