import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeCall } from "../../src/core/evm/abi.ts";
import type { EvmAddress } from "../../src/core/evm/address.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import type { AccountChain } from "../../src/ports/accountChain.ts";
import { type Anvil, noAnvil, noAnvilReason, startAnvil } from "../support/anvil.ts";
import { AnvilWorld, openChain, type Party } from "./support/anvilWorld.ts";

const { creationCode } = JSON.parse(readFileSync(new URL("../../contracts/build/HostileToken.json", import.meta.url), "utf8"));
const AMOUNT = 1_000n;

describe.skipIf(noAnvil)(`a token moved to a contract and back by a call alone, on anvil${noAnvilReason}`, () => {
  let anvil: Anvil;
  let world: AnvilWorld;
  let chain: AccountChain;
  let us: Party;
  let contract: EvmAddress;
  let token: EvmAddress;

  const tell = async (data: Uint8Array): Promise<void> => {
    await world.send(world.party(0), { to: token, data });
    await chain.refresh();
  };
  const trip = () => chain.tokenTrip(token, us.address, contract, AMOUNT);
  const whole = { left: AMOUNT, arrived: AMOUNT, leftBack: AMOUNT, arrivedBack: AMOUNT };

  beforeAll(async () => {
    anvil = await startAnvil();
    world = new AnvilWorld(anvil);
    us = world.party(1);
    contract = await world.deploySwapContract(world.party(0));
    token = await world.deploy(world.party(0), fromHex(creationCode));
    chain = openChain([anvil.url]);
    await chain.watchAccount(us.address);
    await tell(encodeCall("40c10f19", ["address", "uint256"], [us.address, AMOUNT]));
  });
  afterAll(async () => {
    await chain?.close();
    await anvil?.stop();
  });

  test("a plain transfer arrives whole, and nothing has moved afterwards", async () => {
    expect(await trip()).toEqual({ ok: true, value: whole });
    expect(await trip()).toEqual({ ok: true, value: whole });
  });

  test("more than there is cannot be moved", async () => {
    expect(await chain.tokenTrip(token, us.address, contract, AMOUNT + 1n)).toMatchObject({ ok: false, error: { kind: "Reverted" } });
  });

  test("a fee of what is moved shows in what arrives", async () => {
    await tell(encodeCall("52f7c988", ["uint256", "uint256"], [3n, 0n]));
    const once = AMOUNT - 3n;
    expect(await trip()).toEqual({ ok: true, value: { left: AMOUNT, arrived: once, leftBack: once, arrivedBack: once - 3n } });
    await tell(encodeCall("52f7c988", ["uint256", "uint256"], [0n, 0n]));
  });

  test("an account that has code of its own is tried all the same", async () => {
    await anvil.call("anvil_setCode", [`0x${us.address}`, `0xef0100${"de".repeat(20)}`]);
    await world.mine();
    await chain.refresh();
    expect(await trip()).toEqual({ ok: true, value: whole });
  });

  test("only the contract of this program is taken for it", async () => {
    expect(await chain.isOwnSwapContract(contract)).toEqual({ ok: true, value: true });
    expect(await chain.isOwnSwapContract(token)).toEqual({ ok: true, value: false });
  });
});
