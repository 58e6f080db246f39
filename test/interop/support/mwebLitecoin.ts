import { setTimeout as later } from "node:timers/promises";
import { createDaemonClient } from "../../../src/adapters/jsonRpc/daemonClient.ts";
import { createSystemClock } from "../../../src/adapters/system/systemClock.ts";
import { Secret } from "../../../src/core/util/secret.ts";
import { type Daemon, startDaemon } from "./daemonProcess.ts";
import { MINER_ADDRESS, OTHER_ADDRESS } from "./miner.ts";
import { mwebLitecoinProgram } from "./programs.ts";
import { LTC, litecoinMining, type RegtestChain, regtestChain } from "./regtestChains.ts";

/** By this ticker a node knows that the chain has an extension block. */
export const MWEB_LTC = { ...LTC, coin: "LTC" };

/** Somebody else's wallet, whose coins are in the extension block. */
export type MwebWallet = {
  /** Its address there. */
  readonly address: string;
  /** Pays out of the extension block, or within it, with the next blocks. */
  pay(address: string, amount: string): Promise<unknown>;
  /** From now on, as long as the chain runs, coins go into the extension block, within it and out of it again and again. */
  trade(): void;
};

export type MwebChain = RegtestChain & { readonly wallet: MwebWallet };

/** Whole coins of each of the first 149 blocks. */
const REWARD = "50";
/** Rewards of the tests' miner, which pay the nodes. */
const TO_NODES = 10;
/** Rewards that pay into the extension block, each whole, for change would go there, too. */
const TO_WALLET = 130;
/** Of these at once: each output can be spent once in a block. */
const POT = 20;
const LAST_PLAIN = 431;
const PAUSE_MS = 300;
/** One payment in so many goes in: there is a reward for a minute. */
const PAYS_IN_EVERY = 2;
/** What is moved at a time within the extension block, and out of it. */
const SMALL = "0.01";

/** A litecoind as those of the main network are since MWEB: a transaction of the extension block ends each block, whose data follow it. */
export async function startMwebLitecoin(blockTimeMs: number): Promise<MwebChain> {
  const daemon = await startDaemon(mwebLitecoinProgram());
  try {
    const wallets = await openWallets(daemon);
    const chain = await regtestChain(MWEB_LTC, daemon, blockTimeMs, litecoinMining(daemon));
    return withWallets(chain, wallets);
  } catch (cause) {
    await daemon.close();
    throw cause;
  }
}

type Wallet = { readonly call: Daemon["call"]; close(): void };
type Wallets = { readonly plain: Wallet; readonly extension: Wallet; readonly address: string };

/** One has rewards alone, the other what the first pays into the extension block: so it is known what a payment is made from. */
async function openWallets(daemon: Daemon): Promise<Wallets> {
  const [plain, extension] = [await openWallet(daemon, "plain"), await openWallet(daemon, "extension")];
  const [rewards, address] = [await newAddress(plain, "bech32"), await newAddress(extension, "mweb")];
  await daemon.call("generatetoaddress", [TO_NODES, MINER_ADDRESS]);
  await daemon.call("generatetoaddress", [TO_WALLET, rewards]);
  await daemon.call("generatetoaddress", [LAST_PLAIN - TO_NODES - TO_WALLET, MINER_ADDRESS]);
  for (let n = 0; n < POT; n++) await payIn(plain, address);
  await daemon.call("generatetoaddress", [1, MINER_ADDRESS]);
  return { plain, extension, address };
}

const payIn = (plain: Wallet, address: string): Promise<unknown> => plain.call("sendtoaddress", [address, REWARD, "", "", true]);

const newAddress = async (wallet: Wallet, kind: string): Promise<string> => String(await wallet.call("getnewaddress", ["", kind]));

async function openWallet(daemon: Daemon, name: string): Promise<Wallet> {
  await daemon.call("createwallet", [name]);
  const { username: user, password, origin } = new URL(daemon.rpcUrl);
  const client = createDaemonClient(
    { url: new URL(`${origin}/wallet/${name}`), user, password: new Secret(password) },
    createSystemClock(),
  );
  return {
    call: async (method, params = []) => {
      const answer = await client.call(method, params, { timeoutMs: 60_000 });
      if (!answer.ok) throw new Error(`the wallet's ${method}: ${answer.error.message}`);
      return answer.value;
    },
    close: () => client.close(),
  };
}

function withWallets(chain: RegtestChain, { plain, extension, address }: Wallets): MwebChain {
  const stopped = new AbortController();
  let trading: Promise<void> = Promise.resolve();
  // One waits for the other: litecoind 0.21.2.1 was seen to end by itself where its wallets paid while blocks were undone.
  let [payments, reorg]: readonly [Promise<unknown>, Promise<unknown>] = [Promise.resolve(), Promise.resolve()];
  const pay = (to: string, amount: string): Promise<unknown> => extension.call("sendtoaddress", [to, amount]);
  const keepTrading = async (): Promise<void> => {
    const payAll = async (n: number): Promise<void> => {
      if (n % PAYS_IN_EVERY === 0) await payIn(plain, address);
      await pay(address, SMALL);
      await pay(OTHER_ADDRESS, SMALL);
    };
    for (let n = 0; !stopped.signal.aborted; n++) {
      await reorg;
      payments = payAll(n);
      await payments;
      await later(PAUSE_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  return {
    ...chain,
    reorg(height) {
      const done = payments.then(() => chain.reorg(height));
      reorg = done.catch(() => undefined);
      return done;
    },
    wallet: {
      address,
      pay,
      trade: () => {
        trading = keepTrading();
        trading.catch((cause: unknown) => console.error(cause));
      },
    },
    async close() {
      stopped.abort();
      await trading.catch(() => undefined);
      for (const wallet of [plain, extension]) wallet.close();
      await chain.close();
    },
  };
}
