import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { ClaimTrials } from "../../src/app/coin/evm/claimTrials.ts";
import { MOST_NEEDED, NO_DATA } from "../../src/app/coin/evm/gasFigures.ts";
import { tryPayout } from "../../src/app/coin/evm/triedSpend.ts";
import type { EvmAddress } from "../../src/core/evm/address.ts";
import { transferCall } from "../../src/core/evm/erc20.ts";
import type { AccountChain } from "../../src/ports/accountChain.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import { type Anvil, noAnvil, noAnvilReason, startAnvil } from "../support/anvil.ts";
import { chargeForData, OP_STACK_ARGS } from "../support/opStack.ts";
import { AnvilWorld, openChain, type Party } from "./support/anvilWorld.ts";

const { signal } = new AbortController();
const HELD = 500n;

/** Anvil takes the fee for data from whoever calls in a trial, too. */
describe.skipIf(noAnvil)(`claims of tokens on a chain of the OP stack, over anvil${noAnvilReason}`, () => {
  let anvil: Anvil;
  let chain: AccountChain;
  let us: Party;
  let contract: EvmAddress;
  let token: EvmAddress;

  beforeAll(async () => {
    anvil = await startAnvil({ args: OP_STACK_ARGS });
    const world = new AnvilWorld(anvil);
    us = world.party(1);
    contract = await world.deploySwapContract(world.party(0));
    token = await world.deployToken(world.party(0), HELD);
    await world.send(world.party(0), { to: token, data: transferCall(contract, HELD) });
    await chargeForData((method, ...params) => anvil.call(method, params), 400n * 10n ** 9n);
    chain = openChain([anvil.url]);
    await chain.watchAccount(us.address);
  });
  afterAll(async () => {
    await chain?.close();
    await anvil?.stop();
  });

  test("what a swap contract without coins sends is tried: whether nodes say so at all, what is paid, and what is not", async () => {
    expect(chain.dataCost()?.wei).toBeGreaterThan(0n);
    const trials = new ClaimTrials({ chain, platform: "ETH", clock: new VirtualClock(), log: new SilentLog() });
    expect(await trials.check(contract, signal)).toBeNull();
    await trials.close();
    const account = { chain, address: us.address, platform: "ETH" };
    const pay = (units: bigint) => tryPayout(account, contract, token, units, MOST_NEEDED, NO_DATA, signal);
    expect(await pay(HELD)).toMatchObject({ ok: true });
    expect(await pay(HELD + 1n)).toMatchObject({ ok: false, error: { kind: "Reverted" } });
  });
});
