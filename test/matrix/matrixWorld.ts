import { sharedVerifier } from "../../sim/world/sharedVerifier.ts";
import { SimChain } from "../../sim/world/simChain.ts";
import { createNativeVerifier } from "../../src/adapters/system/nativeVerifier.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import type { Block } from "../../src/chain/block.ts";
import { type CoinEntry, parseCoinEntry } from "../../src/core/coin/coinEntry.ts";
import { decimal } from "../../src/core/money/rational.ts";
import type { Role } from "../../src/core/swap/events.ts";
import type { SignatureVerifier } from "../../src/ports/signatures.ts";
import { payTo, testKey } from "../fakes/chainWorld.ts";
import { P2pHub } from "../fakes/p2pHub.ts";
import { quietLog } from "../fakes/quietLog.ts";
import { MatrixNode } from "./matrixNode.ts";

export type Ticker = "AAA" | "BBB";
export const TICKERS: readonly Ticker[] = ["AAA", "BBB"];
export const NETID = 9_998;
export const FEE_KEY = testKey("dex fee");
export const DEX_FEE_UNITS = 25_000n;
export const UUID = "00000000-0000-4000-8000-000000000001";

/** Everything scaled down: L = 900 s with a block each 30 s are 30 blocks, as the usual 7800 s are with blocks each 260 s. */
export const LOCK_SEC = 900;
export const BLOCK_SEC = 30;
export const CONFIRMATIONS = 3;
/** One slow block of 3 x 30 s and 120 s, as the safety policy has it. */
export const REVEAL_MARGIN_SEC = 210;
export const POLL_MS = 10_000;
/** The maker gives AAA for the taker's BBB. */
export const GIVES: { readonly [R in Role]: Ticker } = { maker: "AAA", taker: "BBB" };
export const UNITS: { readonly [R in Role]: bigint } = { maker: 200_000_000n, taker: 100_000_000n };
const FUNDS = 1_000_000_000n;

const verifier: SignatureVerifier = sharedVerifier(createNativeVerifier(quietLog));

const coinEntry = (coin: Ticker) => ({
  coin,
  pubtype: 30,
  p2shtype: 22,
  mm2: 1,
  segwit: true,
  relay_policy: "replace",
  bech32_hrp: coin.toLowerCase(),
  is_testnet: true,
  txfee: 0,
  required_confirmations: CONFIRMATIONS,
  avg_blocktime: BLOCK_SEC,
  protocol: { type: "UTXO" },
});

/** The blocks every world begins with, made once: mature coins of the faucet, and in the last one what the nodes begin with. */
const blocks = new Map<Ticker, readonly Block[]>();
function firstBlocks(coin: Ticker): readonly Block[] {
  const known = blocks.get(coin);
  if (known) return known;
  const { chain } = new SimChain(coinEntry(coin), { clock: new VirtualClock(), rng: seededRng(coin === "AAA" ? 3 : 4), verifier });
  for (const role of ["maker", "taker"] as const) {
    if (GIVES[role] !== coin) continue;
    const paid = chain.payFromFaucet(payTo(testKey(role)), FUNDS);
    if (!paid.ok || !chain.mine(1).ok) throw new Error("the faucet failed");
  }
  const made = Array.from({ length: chain.state.tip.height }, (_, i) => chain.state.at(i + 1)?.block).filter((b) => b !== undefined);
  blocks.set(coin, made);
  return made;
}

export class MatrixWorld {
  readonly clock = new VirtualClock();
  readonly hub = new P2pHub(this.clock);
  readonly verifier = verifier;
  readonly entries = new Map<string, CoinEntry>();
  readonly chains = new Map<Ticker, SimChain>();
  readonly maker: MatrixNode;
  readonly taker: MatrixNode;
  beforeBlock: (ticker: Ticker) => void = () => undefined;
  afterBlock: (ticker: Ticker) => void = () => undefined;

  constructor() {
    this.hub.node("relay", { isRelay: true });
    for (const coin of TICKERS) {
      const raw = coinEntry(coin);
      const entry = parseCoinEntry(raw);
      if (!entry.ok) throw new Error(entry.error.detail);
      this.entries.set(coin, entry.value);
      const chain = new SimChain(raw, { clock: this.clock, rng: seededRng(coin === "AAA" ? 1 : 2), verifier, initialBlocks: 0 });
      for (const block of firstBlocks(coin)) chain.chain.submit(block);
      this.chains.set(coin, chain);
    }
    this.maker = new MatrixNode(this, "maker");
    this.taker = new MatrixNode(this, "taker");
    for (const [i, ticker] of TICKERS.entries()) this.clock.after(1_000 * ((BLOCK_SEC / 2) * i + 10), () => this.#mine(ticker));
  }

  #mine(ticker: Ticker): void {
    this.beforeBlock(ticker);
    const mined = this.chain(ticker).chain.mine(1);
    if (!mined.ok) throw new Error(`${ticker}: ${mined.error.reason}`);
    this.afterBlock(ticker);
    this.clock.after(BLOCK_SEC * 1_000, () => this.#mine(ticker));
  }

  node(role: Role): MatrixNode {
    return role === "maker" ? this.maker : this.taker;
  }
  chain(ticker: Ticker): SimChain {
    const chain = this.chains.get(ticker);
    if (!chain) throw new Error("no chain");
    return chain;
  }

  async drive<T>(promise: Promise<T>, limitMs = 120_000): Promise<T> {
    let done = false;
    const mark = (): void => {
      done = true;
    };
    promise.then(mark, mark);
    await this.clock.run({ until: () => done, untilMs: this.clock.nowMs() + limitMs });
    if (!done) throw new Error("not done in time");
    return promise;
  }

  async open(): Promise<void> {
    await this.drive(this.maker.start());
    await this.drive(this.taker.start());
  }

  async startSwap(role: Role): Promise<void> {
    const node = this.node(role);
    const amounts = role === "maker" ? [decimal("2")] : [decimal("0.00025"), decimal("1")];
    const held = node.coin(GIVES[role]).reserve(amounts, 60_000);
    if (!held.ok) throw new Error(`no funds: ${held.error.kind}`);
    const other = role === "maker" ? this.taker : this.maker;
    await node.runner.start({
      role,
      uuid: UUID,
      myOrderUuid: UUID,
      makerCoin: "AAA",
      takerCoin: "BBB",
      makerAmount: decimal("2"),
      takerAmount: decimal("1"),
      counterparty: other.key.publicKey,
      makerConfs: CONFIRMATIONS,
      makerNota: false,
      takerConfs: CONFIRMATIONS,
      takerNota: false,
      lockDurationSec: LOCK_SEC,
      reservation: held.value,
      claimReservation: null,
      safety: { valueConfs: 0, revealMarginSec: REVEAL_MARGIN_SEC, feeConfs: 0 },
    });
  }

  async close(): Promise<void> {
    await this.maker.close();
    await this.taker.close();
    for (const { chain } of this.chains.values()) chain.stop();
  }
}
