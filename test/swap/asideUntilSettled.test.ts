import { afterEach, expect, test } from "vitest";
import { ACTIVATION_SCHEMA, createActivationStore } from "../../src/adapters/sqlite/activationStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { ActivationSeal } from "../../src/app/coin/activationSeal.ts";
import { LastCoins } from "../../src/app/coin/lastCoins.ts";
import { Secret } from "../../src/core/util/secret.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const REQUEST = {
  ...{ mm2: true, requiredConfirmations: 1, requiresNotarization: false, daemon: undefined, electrum: undefined },
  ...{ birthdayHeight: undefined, rescan: false, txHistory: false, addressFormat: undefined },
};

test.each([
  ["there", 0],
  ["away for a while", 5],
])(
  "a coin that was put aside stays over a start while its swap has ended and may change yet, the other coin %s: a claim that a reorg takes goes out again",
  async (_, awaySec) => {
    world = await SwapWorld.open();
    const { taker } = world;
    const activations = createActivationStore(openInlineDatabase(":memory:", [ACTIVATION_SCHEMA]));
    const seal = new ActivationSeal(new Secret(new Uint8Array(32)), seededRng(1));
    const lastCoins = () => new LastCoins({ coins: taker.coins, store: activations, seal, clock: world.clock, log: taker.log });
    const rows = async () => (await activations.all()).map(({ coin }) => coin);
    const startAnew = async (): Promise<void> => {
      await taker.stop();
      await taker.restart([]);
      const last = lastCoins();
      taker.rpcOf("BBB").down = awaySec > 0;
      await last.start();
      await world.advance(awaySec);
      taker.rpcOf("BBB").down = false;
      await world.advance(30);
      await last.close();
    };
    const before = lastCoins();
    for (const coin of ["AAA", "BBB"]) await before.remember({ coin, ...REQUEST });
    const uuid = await world.start();
    await world.until("the taker has claimed", async () => (await taker.state(uuid)).own.makerPaymentSpend?.attempted === true);
    expect(await taker.coins.disable("AAA", true)).toMatchObject({ ok: true, value: { passivized: true } });
    await before.setAside(["AAA"]);
    expect((await world.finish(uuid)).taker).toBe("success");

    await startAnew();
    expect([taker.coins.running("AAA")?.ticker, taker.coins.wallet("AAA"), await rows()]).toEqual(["AAA", undefined, ["AAA", "BBB"]]);
    const txid = (await taker.state(uuid)).facts.makerPaymentSpend?.txid ?? "";
    const { state } = world.chain("AAA");
    const height = state.blockOfTx(txid)?.height ?? 0;
    expect(world.chain("AAA").reorg({ depth: state.tip.height - height + 1, forget: [txid] }).ok).toBe(true);
    await world.until("the claim is back", () => world.chain("AAA").state.blockOfTx(txid) !== undefined, 600);

    await world.settled(taker, 1_000);
    await startAnew();
    expect([taker.coins.running("AAA"), await rows()]).toEqual([undefined, ["BBB"]]);
  },
);
