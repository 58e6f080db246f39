import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { encodeCall } from "../../src/core/evm/abi.ts";
import { parseAnyCaseAddress } from "../../src/core/evm/address.ts";
import { approveCall } from "../../src/core/evm/erc20.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { type DevNode, until } from "../../src/devnet/devnet.ts";
import { ended, endedAt, expectChange, expectTraded, match, sidesOf, wealthOf } from "../e2e/support/trade.ts";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";
import { type AnvilChain, ETH, type OddToken, TOKEN, UTXO, withAccountNetwork } from "./support/accountNetwork.ts";

const ALL = [UTXO, ETH, TOKEN];
const GAS = "0.01";
const PAYS_TOKENS = { base: TOKEN, rel: UTXO, price: "0.2", volume: "20", taken: "20", by: "buy" } as const;
const TAKES_TOKENS = { base: UTXO, rel: TOKEN, price: "3", volume: "2", taken: "2", by: "buy" } as const;

const artifact = (name: string): { readonly creationCode: string } =>
  JSON.parse(readFileSync(new URL(`../../contracts/build/${name}.json`, import.meta.url), "utf8"));
const codeOf = (name: string): string => artifact(name).creationCode.replace(/^0x/, "");
const word = (value: bigint): string => value.toString(16).padStart(64, "0");

/** Returns nothing, and wants an allowance reset to zero before it is changed. */
const SILENT: OddToken = { creationCode: codeOf("SilentToken") + word(0n), decimals: 6 };
/** Does as it is told. */
const HOSTILE: OddToken = { creationCode: codeOf("HostileToken"), decimals: 18 };

/** Calls a function of the hostile token whose arguments are already words. */
const tell = (anvil: AnvilChain, selector: string, ...words: readonly bigint[]): Promise<void> =>
  anvil.send(anvil.token, `0x${selector}${words.map(word).join("")}`);

async function allowanceOf(anvil: AnvilChain, node: DevNode): Promise<bigint> {
  const [owner, spender] = [node.addresses[ETH] ?? "", anvil.swapContract].map((text) => {
    const parsed = parseAnyCaseAddress(text);
    if (!parsed.ok) throw new Error(`${text} is no address`);
    return parsed.value;
  });
  if (!owner || !spender) throw new Error("no addresses");
  // allowance(address,address)
  const data = `0x${toHex(encodeCall("dd62ed3e", ["address", "address"], [owner, spender]))}`;
  return BigInt(String(await anvil.call("eth_call", { to: anvil.token, data }, "latest")));
}

test.skipIf(noAnvil)(
  `a token that returns nothing and wants its allowance reset swaps on both sides, with an allowance somebody left, and leaves none${noAnvilReason}`,
  async () => {
    await withAccountNetwork({ token: SILENT }, async ({ node }, anvil) => {
      const [maker, taker] = [node("maker"), node("taker")];
      const contract = parseAnyCaseAddress(anvil.swapContract);
      if (!contract.ok) throw new Error("no contract");
      const own = maker.addresses[ETH] ?? "";
      await anvil.call("anvil_impersonateAccount", own);
      await anvil.send(anvil.token, `0x${toHex(approveCall(contract.value, 7n))}`, own);
      const before = await sidesOf(maker, taker, ALL);
      const pays = await match(maker, taker, PAYS_TOKENS);
      const paid = await ended(maker, taker, pays);
      expect([paid.maker.is_success, paid.taker.is_success]).toEqual([true, true]);
      expectTraded(PAYS_TOKENS, before, await sidesOf(maker, taker, ALL), GAS);
      const between = await sidesOf(maker, taker, ALL);
      const takes = await match(maker, taker, TAKES_TOKENS);
      const taken = await ended(maker, taker, takes);
      expect([taken.maker.is_success, taken.taker.is_success]).toEqual([true, true]);
      expectTraded(TAKES_TOKENS, between, await sidesOf(maker, taker, ALL), GAS);
      expect([await allowanceOf(anvil, maker), await allowanceOf(anvil, taker)]).toEqual([0n, 0n]);
    });
  },
);

/** Short, so that the maker soon gives up. */
const config = { swapnode: { profile_overrides: { payment_locktime_sec: 60 } } };
/** What the token does, and what is said then. */
const REFUSED = [
  {
    what: "that answers false and moves nothing",
    selector: "setAnswer",
    sentence: /TokenRefused, the token's transfer failed or answered false/,
    offered: /cannot be moved to the swap contract and back now/,
  },
  {
    what: "that keeps a fee of what it moves",
    selector: "setFee",
    sentence: /TokenAmountDiffers, a transfer of the token does not bring exactly its amount/,
    offered: /keeps a part of what it moves, or takes more, and cannot be swapped/,
  },
] as const;

/** From now on the hostile token does so. */
async function misbehave(anvil: AnvilChain, selector: (typeof REFUSED)[number]["selector"]): Promise<void> {
  if (selector === "setFee") return tell(anvil, "52f7c988", 1n, 0n);
  await tell(anvil, "3ee177a7", 32n, 32n, 0n);
  await tell(anvil, "c99a677c", 0n);
}

for (const { what, selector, sentence, offered } of REFUSED) {
  test.skipIf(noAnvil)(`a token ${what} is refused with a clear error before anything is offered${noAnvilReason}`, async () => {
    await withAccountNetwork({ token: HOSTILE, config }, async ({ node }, anvil) => {
      const maker = node("maker");
      await misbehave(anvil, selector);
      await maker.rpc.call("disable_coin", { coin: TOKEN });
      await maker.rpc.call("enable", { coin: TOKEN, urls: [anvil.url], swap_contract_address: anvil.swapContract });
      const { base, rel, price, volume } = PAYS_TOKENS;
      await expect(maker.rpc.call("setprice", { base, rel, price, volume })).rejects.toThrow(offered);
      await expect(maker.rpc.call("sell", { base, rel, price, volume })).rejects.toThrow(offered);
    });
  });

  test.skipIf(noAnvil)(
    `a token ${what} from the match on is refused with a clear error before the maker's money moves${noAnvilReason}`,
    async () => {
      await withAccountNetwork({ token: HOSTILE, config }, async ({ node, logs }, anvil) => {
        const [maker, taker] = [node("maker"), node("taker")];
        const before = await wealthOf(maker, ALL);
        await anvil.pause(true);
        const uuid = await match(maker, taker, PAYS_TOKENS);
        await misbehave(anvil, selector);
        await anvil.pause(false);
        const status = await endedAt(maker, uuid, 200_000);
        expect(status.is_success).toBe(false);
        expect(JSON.stringify(status)).toMatch(sentence);
        expect(logs.all("maker", { event: "swap_event", swap: uuid, type: "tx_signed", slot: "makerPayment" })).toEqual([]);
        const after = await wealthOf(maker, ALL);
        expectChange("the maker", TOKEN, before, after, "0", "0");
        expectChange("the maker", ETH, before, after, "0", GAS);
      });
    },
  );
}

test.skipIf(noAnvil)(
  `another wallet with the maker's key takes the approval away in its own block, and the next nonce with it, before the payment: it is approved again and the swap ends well${noAnvilReason}`,
  async () => {
    await withAccountNetwork({}, async ({ node, logs }, anvil) => {
      const [maker, taker] = [node("maker"), node("taker")];
      const contract = parseAnyCaseAddress(anvil.swapContract);
      if (!contract.ok) throw new Error("no contract");
      const before = await sidesOf(maker, taker, ALL);
      const own = maker.addresses[ETH] ?? "";
      await anvil.call("anvil_impersonateAccount", own);
      const nonceAt = async (block: string): Promise<number> => Number(await anvil.call("eth_getTransactionCount", own, block));
      await anvil.pause(true);
      const uuid = await match(maker, taker, PAYS_TOKENS);
      await until("the approval waits", async () => ((await nonceAt("pending")) > (await nonceAt("latest")) ? true : null));
      await anvil.send(anvil.token, `0x${toHex(approveCall(contract.value, 0n))}`, own, "cheaply");
      expect(await allowanceOf(anvil, maker)).toBe(0n);
      await anvil.pause(false);
      const done = await ended(maker, taker, uuid, 200_000);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expect(logs.all("maker", { event: "approval_sent" })).toHaveLength(2);
      expectTraded(PAYS_TOKENS, before, await sidesOf(maker, taker, ALL), GAS);
    });
  },
);
