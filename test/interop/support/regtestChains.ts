import { setTimeout as later } from "node:timers/promises";
import type { DevChain } from "../../../src/devnet/devChain.ts";
import { type Daemon, startDaemon } from "./daemonProcess.ts";
import { MATURITY, MINER_ADDRESS, OTHER_ADDRESS, payFromReward } from "./miner.ts";
import { btcdProgram, litecoinProgram } from "./programs.ts";

/** Litecoin's regtest: addresses of the key's hash in base58. */
export const LTC = {
  coin: "LTC-REG",
  mm2: 1,
  is_testnet: true,
  pubtype: 111,
  p2shtype: 58,
  wiftype: 239,
  segwit: true,
  bech32_hrp: "rltc",
  txversion: 2,
  txfee: 0,
  dust: 5_460,
  required_confirmations: 1,
  avg_blocktime: 1,
  protocol: { type: "UTXO" },
};

/** Bitcoin's regtest: own addresses in bech32. */
export const BTC = {
  coin: "BTC-REG",
  mm2: 1,
  is_testnet: true,
  pubtype: 111,
  p2shtype: 196,
  wiftype: 239,
  segwit: true,
  bech32_hrp: "bcrt",
  address_format: { format: "segwit" },
  txversion: 2,
  txfee: 2_000,
  required_confirmations: 1,
  avg_blocktime: 1,
  protocol: { type: "UTXO" },
};

/** A regtest chain whose blocks come at an even pace, to nobody's profit. */
export type RegtestChain = DevChain & {
  /** Mines until the median time past is later than `sec`, unix seconds. */
  leapTo(sec: number): Promise<void>;
  mine(count: number): Promise<void>;
  /** Stops the daemon and starts it again, with these arguments more. btcd forgets its regtest chain then: litecoind only. */
  restart(more?: readonly string[]): Promise<void>;
  /** Takes the block of this height and all after it out of the chain and mines one more than there were, from what is in the mempool then. */
  reorg(height: number): Promise<void>;
};

/** Rewards that can be spent before the first half hour of blocks: payments a chain can make. */
const REWARDS = 10;
const BLOCKS_PER_LEAP = 50;

type Mine = (count: number) => Promise<unknown>;

/**
 * How a daemon makes blocks.
 * - `now`: so many, with their reward to the miner of the tests.
 * - `other`: so many of a competing branch: none of them may be one that was there before.
 * - `beforeLeap`: what it needs before its blocks may be dated later than the wall clock.
 */
type Mining = { readonly now: Mine; readonly other: Mine; readonly beforeLeap: (sec: number) => Promise<unknown> };

/** What stands over a daemon besides its nodes. */
export type Followers = {
  /** Called once the daemon has its first blocks and before more come by themselves. */
  start(rpcUrl: string): Promise<unknown>;
  /** Resolves when they have seen the block of this height; no other comes by itself before. */
  inStep(height: number): Promise<unknown>;
};

/** Puts a steady pace, funding and leaps on top of a daemon. Everything that mines takes its turn. Blocks made quickly are dated ahead, one second for six. */
export async function regtestChain(
  entry: object,
  daemon: Daemon,
  blockTimeMs: number,
  { now: mineNow, other, beforeLeap }: Mining,
  extra: string[] = [],
  followers: Followers | null = null,
): Promise<RegtestChain> {
  await mineNow(MATURITY + REWARDS);
  await followers?.start(daemon.rpcUrl);
  let rewardsSpent = 0;
  let turn: Promise<void> = Promise.resolve();
  const takeTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = turn.then(work);
    turn = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  };
  const inTurn = async (work: () => Promise<unknown>): Promise<void> => void (await takeTurn(work));
  const stopped = new AbortController();
  const pace = (async () => {
    while (!stopped.signal.aborted) {
      await later(blockTimeMs, undefined, { signal: stopped.signal }).catch(() => undefined);
      if (followers && !stopped.signal.aborted) await followers.inStep(Number(await takeTurn(() => daemon.call("getblockcount"))));
      if (!stopped.signal.aborted) await inTurn(() => mineNow(1));
    }
  })();
  // A daemon that fails to mine stops the chain; the test that waits for a block says so.
  pace.catch((cause: unknown) => console.error(cause));
  return {
    rpcUrl: daemon.rpcUrl,
    daemon: { call: (method, params) => daemon.call(method, Array.isArray(params) ? params : []) },
    fund: (address, amount) =>
      inTurn(async () => {
        await payFromReward(daemon, entry, ++rewardsSpent, address, amount);
        await mineNow(1);
      }),
    mine: (count) => inTurn(() => mineNow(count)),
    restart: (more = []) =>
      inTurn(() => {
        extra.push(...more);
        return daemon.restart();
      }),
    reorg: (height) =>
      inTurn(async () => {
        const depth = Number(await daemon.call("getblockcount")) - height + 1;
        const gone = await daemon.call("getblockhash", [height]);
        await daemon.call("invalidateblock", [gone]);
        await other(depth + 1);
        if ((await daemon.call("getblockhash", [height])) === gone) throw new Error(`block ${height} is still there`);
      }),
    leapTo: (sec) =>
      inTurn(async () => {
        await beforeLeap(sec);
        for (;;) {
          const { mediantime } = (await daemon.call("getblockchaininfo")) as { mediantime: number };
          if (mediantime > sec) return;
          await mineNow(BLOCKS_PER_LEAP);
        }
      }),
    async close() {
      stopped.abort();
      await turn;
      await daemon.close();
    },
  };
}

/** How litecoind mines. */
export function litecoinMining(daemon: Daemon): Mining {
  const mineTo =
    (address: string): Mine =>
    (count) =>
      daemon.call("generatetoaddress", [count, address]);
  return {
    now: mineTo(MINER_ADDRESS),
    other: mineTo(OTHER_ADDRESS),
    beforeLeap: (sec: number) => daemon.call("setmocktime", [sec + 1]),
  };
}

/** @param more arguments more for the daemon */
export async function startLitecoin(blockTimeMs: number, more: readonly string[] = [], followers?: Followers): Promise<RegtestChain> {
  const extra = [...more];
  const daemon = await startDaemon(litecoinProgram(extra));
  return regtestChain(LTC, daemon, blockTimeMs, litecoinMining(daemon), extra, followers);
}

export async function startBtcd(blockTimeMs: number): Promise<RegtestChain> {
  const daemon = await startDaemon(btcdProgram(MINER_ADDRESS));
  // Each of its blocks has a number drawn by chance in its coinbase.
  const mine: Mine = (count) => daemon.call("generate", [count]);
  return regtestChain(BTC, daemon, blockTimeMs, { now: mine, other: mine, beforeLeap: async () => undefined });
}
