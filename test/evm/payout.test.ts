import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { ClaimTrials } from "../../src/app/coin/evm/claimTrials.ts";
import { payoutObstacle } from "../../src/app/coin/evm/payoutObstacle.ts";
import { type EvmAddress, ZERO_ADDRESS } from "../../src/core/evm/address.ts";
import { encodeSwapCall, paymentId } from "../../src/core/evm/swapContract.ts";
import type { AccountChain } from "../../src/ports/accountChain.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { type Anvil, noAnvil, noAnvilReason, startAnvil } from "../support/anvil.ts";
import { AnvilWorld, openChain, type Party } from "./support/anvilWorld.ts";

const { signal } = new AbortController();
const UNITS = 10n ** 15n;
const DELEGATE: EvmAddress = "de".repeat(20) as EvmAddress;

/** Runs what a delegated account's code does with coins. */
const CODE = {
  takes: "0x00",
  // Logs four words of nothing, as a wallet that tells of what it gets.
  logs: "0x60805fa000",
  // PUSH0 PUSH0 SSTORE after a first write of 1: 20 thousand gas.
  writes: "0x60015f5500",
  refuses: "0x5f5ffd",
  // Takes coins of nobody but itself: caller == address, else revert.
  takesOwn: "0x333014600857" + "5f5ffd5b00",
  // Reverts for anything but 0 wei.
  takesNothing: "0x34600557005b5f5ffd",
} as const;

describe.skipIf(noAnvil)(`what is paid to an own account with code, on anvil${noAnvilReason}`, () => {
  let anvil: Anvil;
  let world: AnvilWorld;
  let chain: AccountChain;
  let us: Party;
  let contract: EvmAddress;

  beforeAll(async () => {
    anvil = await startAnvil();
    world = new AnvilWorld(anvil);
    us = world.party(1);
    contract = await world.deploySwapContract(world.party(0));
    chain = openChain([anvil.url]);
    await chain.watchAccount(us.address);
    const call = { id: paymentId(1, new Uint8Array(20)), receiver: us.address, secretHash: new Uint8Array(20), lockTime: 1n };
    await world.send(world.party(0), { to: contract, value: UNITS, data: encodeSwapCall({ kind: "ethPayment", ...call }) });
    await chain.refresh();
  });
  afterAll(async () => {
    await chain?.close();
    await anvil?.stop();
  });

  const obstacle = async (payer: EvmAddress, units: bigint): Promise<string | null> => {
    const found = await payoutObstacle({ chain, address: us.address, platform: "ETH" }, payer, units, signal);
    expect(found?.isRefused ?? true).toBe(true);
    return found?.reason ?? null;
  };
  const delegateTo = async (code: string): Promise<void> => {
    await anvil.call("anvil_setCode", [`0x${DELEGATE}`, code]);
    await anvil.call("anvil_setCode", [`0x${us.address}`, `0xef0100${DELEGATE}`]);
    await world.mine();
    await chain.refresh();
  };

  test("an account without code takes coins, and so does one whose code does with what a contract leaves it", async () => {
    expect(await obstacle(contract, UNITS)).toBeNull();
    for (const code of [CODE.takes, CODE.logs]) {
      await delegateTo(code);
      expect([code, await obstacle(ZERO_ADDRESS, 0n), await obstacle(contract, UNITS)]).toEqual([code, null, null]);
    }
  });

  test("what becomes of a call of the swap contract is told, as before a token is received", async () => {
    const trials = new ClaimTrials({ chain, platform: "ETH", clock: new VirtualClock(), log: new SilentLog() });
    expect(await trials.check(contract, signal)).toBeNull();
    await trials.close();
  });

  test("code that refuses, also only some payers or amounts, or that needs more gas than is left for it, is told before money moves", async () => {
    await delegateTo(CODE.refuses);
    expect(await obstacle(ZERO_ADDRESS, 0n)).toMatch(
      /^the account 0x\w{40} has code \(EIP-7702\), .*would refuse.*; take the delegation back/,
    );
    await delegateTo(CODE.writes);
    expect(await obstacle(contract, UNITS)).toMatch(/needs \d{5} gas, and swap contracts leave 23300 for it/);
    for (const code of [CODE.takesOwn, CODE.takesNothing]) {
      await delegateTo(code);
      expect([code, await obstacle(contract, UNITS)]).toEqual([code, expect.stringContaining("is not shown to take ETH")]);
    }
  });
});
