import { SimEvmChain } from "../../sim/world/evm/simEvmChain.ts";
import { sharedVerifier } from "../../sim/world/sharedVerifier.ts";
import { SimChain } from "../../sim/world/simChain.ts";
import { SimServers } from "../../sim/world/simServers.ts";
import { createNativeVerifier } from "../../src/adapters/system/nativeVerifier.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import type { Block } from "../../src/chain/block.ts";
import { type CoinEntry, parseCoinEntry } from "../../src/core/coin/coinEntry.ts";
import { transferCall } from "../../src/core/evm/erc20.ts";
import { decimal, type Rational, toUnits } from "../../src/core/money/rational.ts";
import type { Role } from "../../src/core/swap/events.ts";
import type { SignatureVerifier } from "../../src/ports/signatures.ts";
import { payTo, testKey } from "../fakes/chainWorld.ts";
import { P2pHub } from "../fakes/p2pHub.ts";
import { quietLog } from "../fakes/quietLog.ts";
import type { Pair } from "./cell.ts";
import { AccountChainOfSwap, AccountLeg } from "./chains/accountLeg.ts";
import type { Leg, MatrixChain } from "./chains/matrixChain.ts";
import { UtxoLeg } from "./chains/utxoLeg.ts";
import { MatrixNode } from "./matrixNode.ts";
import { CHAIN_ID, coinEntry, coinsOf, familyOf, platformOf, TICKERS, type Ticker, TOKEN_AT, TOKEN_DECIMALS } from "./pairs.ts";

/** Who shows the nodes their chains. */
export const BACKENDS = ["daemon", "electrum"] as const;
export type Backend = (typeof BACKENDS)[number];

export const NETID = 9_998;
export const FEE_KEY = testKey("dex fee");
/** Of one coin of the taker's. */
export const DEX_FEE = decimal("0.00025");
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
export const VOLUME: { readonly [R in Role]: Rational } = { maker: decimal("2"), taker: decimal("1") };
/** Whole coins that a node begins with. */
const FUNDS = 10n;
/** Gas is dear where blocks are full. */
const GAS_FUNDS = 1_000n * 10n ** 18n;

const verifier: SignatureVerifier = sharedVerifier(createNativeVerifier(quietLog));

const entryOf = (pair: Pair, coin: string) => coinEntry(pair, coin, { confirmations: CONFIRMATIONS, blockSec: BLOCK_SEC });

/** The blocks every chain of scripts begins with, made once: mature coins of the faucet, and in the last one what a node begins with. */
const blocks = new Map<Ticker, readonly Block[]>();
function firstBlocks(coin: Ticker): readonly Block[] {
  const known = blocks.get(coin);
  if (known) return known;
  const seed = seededRng(coin === "AAA" ? 3 : 4);
  const { chain } = new SimChain(entryOf("UTXO/UTXO", coin), { clock: new VirtualClock(), rng: seed, verifier });
  const owner = coin === GIVES.maker ? "maker" : "taker";
  const paid = chain.payFromFaucet(payTo(testKey(owner)), FUNDS * 10n ** 8n);
  if (!paid.ok || !chain.mine(1).ok) throw new Error("the faucet failed");
  const made = Array.from({ length: chain.state.tip.height }, (_, i) => chain.state.at(i + 1)?.block).filter((b) => b !== undefined);
  blocks.set(coin, made);
  return made;
}

/** Longer than any cell. */
const ALWAYS_MS = 100 * 3_600_000;

export class MatrixWorld {
  /** What nodes look at their chains through, in worlds made from now on. Of the five servers one lies, one stalls and one lags. */
  static backend: Backend = "daemon";
  readonly servers = new Map<string, SimServers>();
  readonly pair: Pair;
  readonly clock = new VirtualClock();
  readonly hub = new P2pHub(this.clock);
  readonly verifier = verifier;
  readonly entries = new Map<string, CoinEntry>();
  readonly legs = new Map<Ticker, Leg>();
  /** Of scripts. */
  readonly #utxo = new Map<string, UtxoLeg>();
  /** Under the account coins of the pair; null: there are none. */
  readonly account: AccountChainOfSwap | null;
  readonly maker: MatrixNode;
  readonly taker: MatrixNode;
  beforeBlock: (chain: MatrixChain) => void = () => undefined;
  afterBlock: (chain: MatrixChain) => void = () => undefined;

  constructor(pair: Pair) {
    this.pair = pair;
    this.hub.node("relay", { isRelay: true });
    for (const coin of coinsOf(pair)) {
      const entry = parseCoinEntry(entryOf(pair, coin));
      if (!entry.ok) throw new Error(entry.error.detail);
      this.entries.set(coin, entry.value);
    }
    const platform = platformOf(pair);
    this.account = platform === null ? null : new AccountChainOfSwap(this.#accountChain(platform));
    for (const ticker of TICKERS) this.legs.set(ticker, this.#openLeg(ticker));
    this.maker = new MatrixNode(this, "maker");
    this.taker = new MatrixNode(this, "taker");
    if (this.account) this.#fundAccounts(this.account.sim);
    const chains = new Set([...this.legs.values()].map(({ chain }) => chain));
    for (const [i, chain] of [...chains].entries()) this.clock.after(1_000 * ((BLOCK_SEC / 2) * i + 10), () => this.#mine(chain));
  }

  #accountChain(ticker: string): SimEvmChain {
    const tokens = [{ address: TOKEN_AT, decimals: TOKEN_DECIMALS }];
    return new SimEvmChain({ ticker, chainId: BigInt(CHAIN_ID), clock: this.clock, tokens });
  }

  #openLeg(ticker: Ticker): Leg {
    const family = familyOf(this.pair, ticker);
    if (family !== "UTXO") {
      if (!this.account) throw new Error("no account chain");
      return new AccountLeg(this.account, family === "TOKEN" ? TOKEN_AT : null);
    }
    const rng = seededRng(ticker === "AAA" ? 1 : 2);
    const chain = new SimChain(entryOf(this.pair, ticker), { clock: this.clock, rng, verifier, initialBlocks: 0 });
    for (const block of firstBlocks(ticker)) chain.chain.submit(block);
    if (MatrixWorld.backend === "electrum") this.servers.set(ticker, badServers(new SimServers(chain, this.clock)));
    const leg = new UtxoLeg(chain);
    this.#utxo.set(ticker, leg);
    return leg;
  }

  #fundAccounts(chain: SimEvmChain): void {
    for (const node of [this.maker, this.taker]) {
      chain.payFromFaucet(node.purse.account, GAS_FUNDS);
      if (familyOf(this.pair, GIVES[node.role]) === "TOKEN")
        chain.payFromFaucet(TOKEN_AT, 0n, transferCall(node.purse.account, FUNDS * 10n ** BigInt(TOKEN_DECIMALS)));
    }
    // Deeper than any reorganisation goes.
    chain.mine(CONFIRMATIONS + 1);
  }

  #mine(chain: MatrixChain): void {
    this.beforeBlock(chain);
    chain.mine(1);
    this.afterBlock(chain);
    this.clock.after(BLOCK_SEC * 1_000, () => this.#mine(chain));
  }

  get chains(): ReadonlySet<MatrixChain> {
    return new Set([...this.legs.values()].map(({ chain }) => chain));
  }
  node(role: Role): MatrixNode {
    return role === "maker" ? this.maker : this.taker;
  }
  leg(ticker: Ticker): Leg {
    const leg = this.legs.get(ticker);
    if (!leg) throw new Error("no coin");
    return leg;
  }
  chain(ticker: Ticker): MatrixChain {
    return this.leg(ticker).chain;
  }
  /** A chain of scripts, as its daemon shows it. */
  utxo(ticker: string): SimChain {
    const leg = this.#utxo.get(ticker);
    if (!leg) throw new Error(`${ticker} is on no chain of scripts`);
    return leg.sim;
  }
  /** What a side pays the other, base units. */
  units(role: Role): bigint {
    return toUnits(VOLUME[role], this.leg(GIVES[role]).decimals);
  }
  get dexFeeUnits(): bigint {
    return toUnits(DEX_FEE, this.leg(GIVES.taker).decimals);
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
    const amounts = role === "maker" ? [VOLUME.maker] : [DEX_FEE, VOLUME.taker];
    const other = role === "maker" ? this.taker : this.maker;
    const held = node.coin(GIVES[role]).reserve(amounts, 60_000);
    const claim = node.coin(GIVES[other.role]).reserveClaim(60_000);
    if (!held.ok) throw new Error(`no funds: ${held.error.kind}`);
    if (!claim.ok) throw new Error(`no funds: ${claim.error.kind}`);
    await node.runner.start({
      role,
      uuid: UUID,
      myOrderUuid: UUID,
      makerCoin: "AAA",
      takerCoin: "BBB",
      makerAmount: VOLUME.maker,
      takerAmount: VOLUME.taker,
      counterparty: other.key.publicKey,
      makerConfs: CONFIRMATIONS,
      makerNota: false,
      takerConfs: CONFIRMATIONS,
      takerNota: false,
      lockDurationSec: LOCK_SEC,
      reservation: held.value,
      claimReservation: claim.value,
      heldFees: [],
      safety: { valueConfs: 0, revealMarginSec: REVEAL_MARGIN_SEC, feeConfs: 0 },
    });
  }

  async close(): Promise<void> {
    await this.maker.close();
    await this.taker.close();
    for (const servers of this.servers.values()) servers.close();
    for (const chain of this.chains) chain.stop();
  }
}

function badServers(servers: SimServers): SimServers {
  servers.deny(0, ALWAYS_MS);
  servers.fault(1, { kind: "stall" }, ALWAYS_MS);
  servers.fault(3, { kind: "lag", blocks: 2 }, ALWAYS_MS);
  return servers;
}
