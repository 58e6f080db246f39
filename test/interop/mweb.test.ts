import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type DevNode, until } from "../../src/devnet/devnet.ts";
import type { TestNetwork } from "../e2e/support/network.ts";
import { expectChange, expectEndedWell, expectTradedWell, match, sidesOf, wealthOf } from "../e2e/support/trade.ts";
import { MWEB_LTC, type MwebChain, startMwebLitecoin } from "./support/mwebLitecoin.ts";
import { isSkipped, skipReason } from "./support/programs.ts";
import { withRealChains } from "./support/realNetwork.ts";
import { BTC } from "./support/regtestChains.ts";

const LTC = MWEB_LTC.coin;
const BOTH = [LTC, BTC.coin];

/** A seed, a maker and a taker over btcd and a litecoind whose extension block is in use. */
async function withExtensionBlocks(work: (network: TestNetwork, ltc: MwebChain) => Promise<void>, blockTimeSec = 0.5): Promise<void> {
  let ltc: MwebChain | null = null;
  const startLitecoin = async (blockTimeMs: number): Promise<MwebChain> => {
    ltc = await startMwebLitecoin(blockTimeMs);
    return ltc;
  };
  await withRealChains({ ltc: MWEB_LTC, startLitecoin, blockTimeSec }, async (network) => {
    if (!ltc) throw new Error("litecoind was not started");
    await work(network, ltc);
  });
}

type Block = { readonly kernels: number; readonly last: { readonly vin: readonly unknown[]; readonly vout: readonly unknown[] } };

const SEEN_BLOCKS = 10;

/** Transactions within the extension block are its kernels; what goes in and out of it the last transaction spends and pays beside the rest. */
async function lastBlocks({ daemon }: MwebChain, count: number): Promise<readonly Block[]> {
  const tip = Number(await daemon.call("getblockcount", []));
  const blocks: Block[] = [];
  for (let height = tip - count + 1; height <= tip; height++) {
    const hash = await daemon.call("getblockhash", [height]);
    const block = (await daemon.call("getblock", [hash, 2])) as { tx: readonly Block["last"][]; mweb: { num_kernels: number } };
    const last = block.tx.at(-1);
    if (last) blocks.push({ kernels: block.mweb.num_kernels, last });
  }
  return blocks;
}

test.skipIf(isSkipped)(
  `litecoind with its extension block: swaps complete in both directions while coins go in, within and out${skipReason}`,
  async () => {
    await withExtensionBlocks(async ({ node }, ltc) => {
      const [maker, taker] = [node("maker"), node("taker")];
      await expect(maker.rpc.call("withdraw", { coin: LTC, to: ltc.wallet.address, amount: "1" })).rejects.toThrow(
        /extension block \(MWEB\)/,
      );
      ltc.wallet.trade();
      const steps = [
        { maker, taker, trade: { base: LTC, rel: BTC.coin, price: "0.5", volume: "4", taken: "3", by: "buy" } },
        { maker: taker, taker: maker, trade: { base: BTC.coin, rel: LTC, price: "3", volume: "0.3", taken: "0.3", by: "sell" } },
      ] as const;
      for (const { maker: m, taker: t, trade } of steps) await expectTradedWell(m, t, trade, BOTH);
      const blocks = await lastBlocks(ltc, SEEN_BLOCKS);
      expect(Math.max(...blocks.map((b) => b.kernels))).toBeGreaterThan(0);
      expect(Math.max(...blocks.map((b) => b.last.vin.length))).toBeGreaterThan(1);
      expect(Math.max(...blocks.map((b) => b.last.vout.length))).toBeGreaterThan(1);
    });
  },
);

test.skipIf(isSkipped)(
  `litecoind with its extension block: a reorganisation and kill -9 amid a swap, while coins go in and out, lose nothing${skipReason}`,
  async () => {
    await withExtensionBlocks(async ({ node, logs, kill, revive }, ltc) => {
      const [maker, taker] = [node("maker"), node("taker")];
      const trade = { base: LTC, rel: BTC.coin, price: "0.5", volume: "2", taken: "2", by: "buy" } as const;
      const before = await sidesOf(maker, taker, BOTH);
      ltc.wallet.trade();
      const paid = logs.next("taker", { event: "swap_event", type: "tx_confirmed", slot: "makerPayment" });
      const uuid = await match(maker, taker, trade);
      const { height } = await paid;
      await kill("taker");
      await ltc.reorg(Number(height));
      const again = await revive("taker");
      await expectEndedWell({ maker, taker: again, trade, before, uuid });
    });
  },
);

/** What may be spent of a coin, and what may not yet. */
async function balanceOf(node: DevNode): Promise<{ readonly free: string; readonly bound: string }> {
  const { balance, unspendable_balance } = await node.rpc.call("my_balance", { coin: LTC });
  return { free: String(balance), bound: String(unspendable_balance) };
}

/** Everything that may be spent, to the node's own address. @returns the transaction's id */
async function sendAll(node: DevNode): Promise<string> {
  const drafted = await node.rpc.call("withdraw", { coin: LTC, to: node.addresses[LTC], max: true });
  const sent = await node.rpc.call("send_raw_transaction", { coin: LTC, tx_hex: drafted.tx_hex });
  return String(sent.tx_hash);
}

/** Blocks at which what came out of the extension block may be spent: litecoind refuses earlier spends. */
const PEG_OUT_BLOCKS = 6;
/** No block comes by itself. */
const BY_HAND_SEC = 3_600;
/** Longer than what is read block by block for an address without a birthday. */
const LONG_CHAIN = 2_100;

test.skipIf(isSkipped)(
  `litecoind with its extension block: what came out of it is no money for six blocks, whether it came before or after a start${skipReason}`,
  async () => {
    await withExtensionBlocks(async ({ node, revive }, ltc) => {
      const comes = (to: DevNode, bound: string) =>
        until("what was paid out of the extension block is seen", async () => ((await balanceOf(to)).bound === bound ? true : null));
      await ltc.mine(LONG_CHAIN);
      const maker = node("maker");
      const address = maker.addresses[LTC] ?? "";
      const before = await wealthOf(maker, [LTC]);
      await ltc.wallet.pay(address, "2");
      await ltc.mine(1);
      await comes(maker, "2");
      await sendAll(maker);
      await maker.process.stop();
      await ltc.wallet.pay(address, "3");
      await ltc.mine(1);
      const again = await revive("maker");
      await comes(again, "5");
      await sendAll(again);
      // Whoever has lost the data reads what is unspent from the daemon, which does not tell it from other coins.
      await again.process.stop();
      await rm(join(again.dataDir, "DB"), { recursive: true });
      await ltc.wallet.pay(address, "4");
      await ltc.mine(1);
      const anew = await revive("maker");
      await comes(anew, "9");
      await sendAll(anew);
      await ltc.mine(PEG_OUT_BLOCKS);
      await until("all may be spent", async () => ((await balanceOf(anew)).bound === "0" ? true : null));
      expectChange("the maker", LTC, before, await wealthOf(anew, [LTC]), "9", "0.001");
    }, BY_HAND_SEC);
  },
);
