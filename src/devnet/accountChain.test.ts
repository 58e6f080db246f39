import { describe, expect, test } from "vitest";
import { noAnvil, noAnvilReason } from "../../test/support/anvil.ts";
import { startAccountChain } from "./accountChain.ts";

const account = { mm2: 1, coin: "ETH", protocol: { type: "ETH", protocol_data: { chain_id: 31_337 } } };
const token = { mm2: 1, coin: "TEST-ERC20", decimals: 6, protocol: { type: "ERC20", protocol_data: { platform: "ETH" } } };
const addressOf = (n: number): string => `0x${(0x5000 + n).toString(16).padStart(40, "0")}`;

describe.skipIf(noAnvil)(`the account chain of a network${noAnvilReason}`, () => {
  test("pays sixty coins and tokens asked for at the same time, each once", async () => {
    const { chains } = await startAccountChain({ platform: account, tokens: [token], blockTimeMs: 60_000 });
    const both = ["ETH", "TEST-ERC20"].map((ticker) => {
      const chain = chains.get(ticker);
      if (!chain?.balance) throw new Error(`no chain of ${ticker}`);
      return { ...chain, balance: chain.balance };
    });
    try {
      const asked = Array.from({ length: 30 }, (_, n) => n);
      await Promise.all(both.flatMap((chain) => asked.map((n) => chain.fund(addressOf(n), `${n + 1}.5`))));
      await both[0]?.daemon.call("evm_mine");
      for (const chain of both)
        expect(await Promise.all(asked.map((n) => chain.balance(addressOf(n))))).toEqual(asked.map((n) => `${n + 1}.5`));
    } finally {
      await both[0]?.close();
    }
  });
});
