import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ACCOUNT_TX_SCHEMA, createAccountTxStore } from "../../src/adapters/sqlite/accountTxStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { AccountFunds } from "../../src/app/coin/evm/accountFunds.ts";
import { AllowanceKeeper } from "../../src/app/coin/evm/allowanceKeeper.ts";
import { NonceKeeper } from "../../src/app/coin/evm/nonceKeeper.ts";
import { NonceLedger } from "../../src/app/coin/evm/nonceLedger.ts";
import { encodeWords } from "../../src/core/evm/abi.ts";
import type { EvmAddress } from "../../src/core/evm/address.ts";
import { approveCall } from "../../src/core/evm/erc20.ts";
import { parseGasLimits } from "../../src/core/evm/gasLimits.ts";
import { signEvmTx } from "../../src/core/evm/signTx.ts";
import { encodeSwapCall, paymentId } from "../../src/core/evm/swapContract.ts";
import { concatBytes, fromHex } from "../../src/core/util/bytes.ts";
import type { AccountChain } from "../../src/ports/accountChain.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { type Anvil, noAnvil, noAnvilReason, startAnvil } from "../support/anvil.ts";
import { artifact, encode } from "../swapContract/support/artifacts.ts";
import { AnvilWorld, CHAIN_ID, openChain, type Party } from "./support/anvilWorld.ts";

const GWEI = 10n ** 9n;
const limits = parseGasLimits(undefined) ?? expect.fail("no limits");
const gas = { policy: "medium", maxTxType: 2, estimatePercent: null, limits } as const;
const { signal } = new AbortController();
const SENT = /^the approval [0-9a-f]{64} of token 0x\w{40} was sent/;

/** Approvals and the payments they are for, over a real chain with real tokens. */
describe.skipIf(noAnvil)(`allowances over anvil${noAnvilReason}`, () => {
  let anvil: Anvil;
  let world: AnvilWorld;
  let chain: AccountChain;
  let us: Party;
  let contract: EvmAddress;
  let nonces: NonceLedger;
  let keeper: AllowanceKeeper;
  let nonceKeeper: NonceKeeper;
  const clock = new VirtualClock();
  const log = new SilentLog();

  beforeAll(async () => {
    anvil = await startAnvil();
    world = new AnvilWorld(anvil);
    us = world.party(0);
    contract = await world.deploySwapContract(us);
    chain = openChain([anvil.url]);
    const store = createAccountTxStore(openInlineDatabase(":memory:", [ACCOUNT_TX_SCHEMA]));
    const { address, key } = us;
    nonces = new NonceLedger({ chain, address, store, log });
    const funds = new AccountFunds({ chain, address, nonces, clock });
    keeper = new AllowanceKeeper({ chain, key, address, gas, nonces, funds, log });
    nonceKeeper = new NonceKeeper({ chain, key, address, gas, nonces, funds, clock, log });
    await chain.watchAccount(address);
    await nonces.open(signal);
  });
  afterAll(async () => {
    await nonceKeeper?.close();
    await chain?.close();
    await anvil?.stop();
  });

  const ask = async (token: EvmAddress, key: string, units: bigint): Promise<string | null> => {
    await chain.refresh();
    return keeper.ensure(token, contract, key, units, signal);
  };
  const allowance = async (token: EvmAddress): Promise<bigint> => {
    await chain.refresh();
    const read = await chain.allowance(token, us.address, contract);
    return read.ok ? read.value : expect.fail(read.error.message);
  };
  const minedAll = async (): Promise<void> => {
    for (const { signed } of nonces.waiting()) await world.mined(signed.txid);
    await chain.refresh();
  };
  /** The payment of one that may pay, signed and broadcast as a swap does. */
  async function pay(token: EvmAddress, key: string, units: bigint): Promise<string> {
    const [secretHash, lockTime] = [new Uint8Array(20).fill(units === 0n ? 0 : Number(units % 251n)), 2_000_000_000];
    const id = paymentId(lockTime, concatBytes(secretHash, Buffer.from(key.padEnd(12).slice(0, 12))));
    const common = { amount: units, token, receiver: world.party(1).address, secretHash, lockTime: BigInt(lockTime) };
    const data = encodeSwapCall({ kind: "erc20Payment", id, ...common });
    const price = { maxFeePerGas: 500n * GWEI, maxPriorityFeePerGas: GWEI, accessList: [], gasLimit: 150_000n };
    const tx = { type: "eip1559", chainId: CHAIN_ID, to: contract, value: 0n, data, ...price } as const;
    const taken = nonces.take((nonce) => signEvmTx({ ...tx, nonce }, us.key)) ?? expect.fail("no nonce");
    keeper.done(key);
    expect(await chain.broadcast(taken.raw)).toEqual({ kind: "accepted" });
    return taken.txid;
  }
  const status = async (txid: string): Promise<unknown> =>
    ((await anvil.call("eth_getTransactionReceipt", [`0x${txid}`])) as { readonly status: string } | null)?.status;
  const deploy = (name: "SilentToken" | "HostileToken", ...supply: readonly bigint[]): Promise<EvmAddress> =>
    world.deploy(
      us,
      concatBytes(fromHex(artifact(name).creationCode.replace(/^0x/, "")), ...supply.map((n) => encodeWords(["uint256"], [n]))),
    );

  test("an ordinary token: one exact approval for two payments, both of which are made in the block after it", async () => {
    const token = await world.deployToken(us, 1_000n);
    expect(await ask(token, "a", 300n)).toMatch(SENT);
    await minedAll();
    expect(await ask(token, "a", 300n)).toBeNull();
    expect(await ask(token, "b", 200n)).toMatch(SENT);
    await minedAll();
    expect([await allowance(token), await ask(token, "b", 200n)]).toEqual([500n, null]);
    const paid = [await pay(token, "a", 300n), await pay(token, "b", 200n)];
    await minedAll();
    expect([await status(paid[0] ?? ""), await status(paid[1] ?? ""), await allowance(token)]).toEqual(["0x1", "0x1", 0n]);
  });

  test("a token that wants a reset first and answers nothing: to zero, then to what is needed, then the payment", async () => {
    const token = await deploy("SilentToken", 1_000n);
    await world.send(us, { to: token, data: approveCall(contract, 5n) });
    for (const left of [0n, 50n]) {
      expect(await ask(token, "silent", 50n)).toMatch(SENT);
      await minedAll();
      expect(await allowance(token)).toBe(left);
    }
    expect(await ask(token, "silent", 50n)).toBeNull();
    const txid = await pay(token, "silent", 50n);
    await minedAll();
    expect([await status(txid), await allowance(token)]).toEqual(["0x1", 0n]);
  });

  test("a token that cannot be paid with is found out before anything is paid, with the reason of the chain", async () => {
    const token = await deploy("HostileToken");
    await world.send(us, { to: token, data: fromHex(encode("HostileToken", "mint", { to: `0x${us.address}`, amount: 100n }).slice(2)) });
    expect(await ask(token, "hostile", 10n)).toMatch(SENT);
    await minedAll();
    await world.send(us, { to: token, data: fromHex(encode("HostileToken", "setFails", true).slice(2)) });
    expect(await ask(token, "hostile", 10n)).toMatch(
      /^the swap contract cannot take token 0x\w{40}: The ETH chain would refuse the transaction/,
    );
    keeper.done("hostile");
  });

  test("an approval that base fees left behind is sent again at the market's price, and mined", async () => {
    const token = await world.deployToken(us, 1_000n);
    await anvil.call("evm_setAutomine", [false]);
    expect(await ask(token, "late", 10n)).toMatch(SENT);
    const [first] = nonces.waiting();
    await anvil.call("anvil_setNextBlockBaseFeePerGas", [`0x${(40n * GWEI).toString(16)}`]);
    nonceKeeper.start();
    for (let i = 0; i < 20 && nonces.waiting().length === 1; i++) {
      await world.mine();
      clock.after(6_000, () => undefined);
      await clock.advance(6_000);
      await chain.refresh();
      for (let turns = 0; turns < 50; turns++) await new Promise<void>((resolve) => setImmediate(resolve));
    }
    const all = nonces.waiting().map(({ signed }) => signed);
    expect(all.length).toBe(2);
    expect(new Set(all.map(({ tx }) => tx.nonce)).size).toBe(1);
    for (let i = 0; i < 10 && nonces.waiting().length > 0; i++) {
      await world.mine();
      await chain.refresh();
    }
    await anvil.call("evm_setAutomine", [true]);
    expect([await status(first?.signed.txid ?? ""), await allowance(token), await ask(token, "late", 10n)]).toEqual([undefined, 10n, null]);
  });
});
