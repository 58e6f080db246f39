import { payInNewCoins } from "../../sim/world/newCoins.ts";
import type { Contract } from "../../src/app/swap/swapCoin.ts";
import { type ChainTx, parseChainTxAt } from "../../src/chain/chainTx.ts";
import type { SwapMessage } from "../../src/core/message/types.ts";
import type { Role, Slot } from "../../src/core/swap/events.ts";
import { makerLock, takerLock } from "../../src/core/swap/timelocks.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import { feeOutputs, paymentOutputs } from "../../src/core/utxo/swapTx.ts";
import type { TxOutput } from "../../src/core/utxo/tx.ts";
import { type Funded, fund, pay } from "../fakes/chainWorld.ts";
import { type OfferData, offerMessage, type ReplyData, replyMessage } from "../fakes/negotiationMessages.ts";
import { FEE_KEY, FEE_UNITS, type SwapOptions, type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

/** Seconds the taker's payment is locked; the maker's twice as long. */
export const L = 600;
/** What each side of a swap of the stage pays. */
export const PAYS: { readonly [R in Role]: { readonly ticker: Ticker; readonly units: bigint } } = {
  maker: { ticker: "AAA", units: 200_000_000n },
  taker: { ticker: "BBB", units: 100_000_000n },
};
/** The secret of an adversary that plays the maker. */
const SECRET = new Uint8Array(32).fill(9);
const MINER_FEE = 1_000n;

/** Both contracts of a swap. */
export type Contracts = { readonly maker: Contract; readonly taker: Contract };

/** A swap between a node as it is and an adversary that says and pays what its script wants. */
export class Stage {
  readonly world: SwapWorld;
  readonly honest: SwapSide;
  readonly villain: SwapSide;
  readonly uuids: string[] = [];

  constructor(world: SwapWorld, plays: Role) {
    this.world = world;
    this.villain = world.side(plays);
    this.honest = world.side(plays === "maker" ? "taker" : "maker");
  }

  static async open(plays: Role, options: object): Promise<Stage> {
    return new Stage(await SwapWorld.open(options), plays);
  }

  get nowSec(): number {
    return Math.floor(this.world.clock.nowMs() / 1_000);
  }

  // --- swaps ---

  /** Begins a swap of the honest side; the adversary's half is the script's. */
  async begin(): Promise<string> {
    return this.#noted(await this.world.start({ only: this.honest.role }));
  }
  /** Begins a swap that the adversary's node plays too, but for what the script takes away. */
  async beginBoth(options: SwapOptions = {}): Promise<string> {
    return this.#noted(await this.world.start(options));
  }
  #noted(uuid: string): string {
    this.uuids.push(uuid);
    return uuid;
  }

  say(uuid: string, message: SwapMessage): void {
    this.world.inject(this.villain, this.honest, uuid, message);
  }
  async hear<T extends SwapMessage["type"]>(uuid: string, type: T): Promise<Extract<SwapMessage, { type: T }>> {
    const heard = (): SwapMessage | undefined => this.world.sent(this.honest, uuid).find((m) => m.type === type);
    await this.world.until(`the ${this.honest.role} says ${type}`, () => heard() !== undefined);
    return heard() as Extract<SwapMessage, { type: T }>;
  }
  /** Waits until the honest side has stored such an event. */
  async until(uuid: string, type: string, slot?: Slot): Promise<void> {
    await this.world.until(`${type} ${slot ?? ""}`, async () =>
      (await this.honest.events(uuid)).some(({ event: e }) => e.type === type && (!slot || ("slot" in e && e.slot === slot))),
    );
  }
  /** Does something every so many seconds until a swap is over for both sides that play it. Throws when it never is. */
  async meanwhile(uuid: string, everySec: number, act: () => void): Promise<void> {
    const limitSec = this.nowSec + 4_000;
    while (
      !((await this.isOver(uuid)) && (!(await this.villain.store.has(uuid)) || (await this.world.outcome(this.villain, uuid)) !== null))
    ) {
      if (this.nowSec > limitSec) throw new Error(`${uuid} never ends\n${this.world.report()}`);
      act();
      await this.world.advance(everySec);
    }
  }
  async isOver(uuid: string): Promise<boolean> {
    return (await this.world.outcome(this.honest, uuid)) !== null;
  }

  // --- the adversary as a maker ---

  offer(change: Partial<OfferData> = {}): SwapMessage {
    return offerMessage(this.#said(hash160(SECRET)), change);
  }

  /** Offers, accepts and waits for the dex fee. `secret`: another than the usual one, for a second swap. */
  async untilFee(uuid: string, secret = SECRET): Promise<Contracts> {
    const startedAt = this.nowSec;
    const secretHash = hash160(secret);
    this.say(uuid, this.offer({ startedAt, secretHash }));
    const reply = await this.hear(uuid, "NegotiationReply");
    this.say(uuid, { type: "Negotiated", accepted: true });
    await this.hear(uuid, "TakerFee");
    return this.#contracts(startedAt, reply.data.startedAt, secretHash);
  }

  /** The adversary's claim of the honest taker's payment, not sent. */
  async claimOf(uuid: string, contracts: Contracts, secret = SECRET, fee = MINER_FEE): Promise<ChainTx> {
    const payment = fromHex((await this.honest.state(uuid)).own.takerPayment?.raw ?? "");
    const claim = this.villain.coin("BBB").buildClaim({ contract: contracts.taker, payment, secret, fee });
    if (!claim.ok) throw new Error(claim.error.kind);
    return this.parse("BBB", claim.value.raw);
  }

  // --- the adversary as a taker ---

  reply(secretHash: Uint8Array, change: Partial<ReplyData> = {}): SwapMessage {
    return replyMessage(this.#said(secretHash), change);
  }

  /** Answers the maker's offer and waits for its consent. */
  async untilAgreed(uuid: string): Promise<Contracts> {
    const { data } = await this.hear(uuid, "Negotiation");
    const startedAt = this.nowSec;
    this.say(uuid, this.reply(data.secretHash, { startedAt }));
    await this.hear(uuid, "Negotiated");
    return this.#contracts(data.startedAt, startedAt, data.secretHash);
  }

  /** A right dex fee, sent and told. @returns it */
  async payFee(uuid: string, from: Funded = this.coin("BBB", 10_000_000n)): Promise<ChainTx> {
    const fee = this.spend("BBB", from, feeOutputs({ feeKey: FEE_KEY.publicKey, fee: FEE_UNITS, burn: 0n }));
    this.send("BBB", fee);
    this.say(uuid, { type: "TakerFee", tx: { data: fee.raw } });
    await this.until(uuid, "tx_received", "fee");
    return fee;
  }

  /** Everything a taker does until the maker's payment stands in a block. */
  async untilMakerPaid(uuid: string): Promise<Contracts> {
    const contracts = await this.untilAgreed(uuid);
    await this.payFee(uuid);
    await this.until(uuid, "tx_confirmed", "makerPayment");
    return contracts;
  }

  // --- transactions of the adversary ---

  /** A confirmed output of the adversary's that its node does not know of in advance. */
  coin(ticker: Ticker, units: bigint): Funded {
    return fund(this.world.chain(ticker), this.villain.script, units);
  }
  /** Spends it to these outputs, the rest back to itself. */
  spend(ticker: Ticker, from: Funded, outputs: readonly TxOutput[], minerFee = MINER_FEE): ChainTx {
    const rest = from.value - outputs.reduce((n, o) => n + o.value, 0n) - minerFee;
    return pay(this.world.chain(ticker), [from], this.villain.key, [...outputs, { value: rest, script: this.villain.script }]);
  }
  /** The payment of the adversary's side from an output of its own, or from a new one. */
  payment(contracts: Contracts, change: Partial<Contract> = {}, more = 0n, from?: Funded): ChainTx {
    const { role } = this.villain;
    const { ticker, units } = PAYS[role];
    const outputs = paymentOutputs({ ...contracts[role], ...change }, units + more);
    return this.spend(ticker, from ?? this.coin(ticker, units + 10_000_000n), outputs);
  }
  /** Sends and announces the payment of the adversary's side. @returns it */
  pay(uuid: string, contracts: Contracts, change: Partial<Contract> = {}, more = 0n, from?: Funded): ChainTx {
    const payment = this.payment(contracts, change, more, from);
    this.send(PAYS[this.villain.role].ticker, payment);
    this.announce(uuid, payment);
    return payment;
  }
  /** Mines the payment of the adversary's side, of new coins, and announces it. */
  payInNewCoins(uuid: string, contracts: Contracts): void {
    const { ticker, units } = PAYS[this.villain.role];
    const script = this.villain.coin(ticker).contractScript(contracts[this.villain.role]);
    this.announce(uuid, payInNewCoins(this.world.chain(ticker), script, units));
  }
  announce(uuid: string, { raw }: ChainTx): void {
    this.say(uuid, this.villain.role === "maker" ? { type: "MakerPayment", tx: { data: raw } } : { type: "TakerPayment", tx: raw });
  }
  send(ticker: Ticker, tx: ChainTx): void {
    const sent = this.world.chain(ticker).send(tx);
    if (!sent.ok) throw new Error(`${sent.error.reason} ${sent.error.detail ?? ""}`);
  }
  /** Whether the network takes a transaction. */
  takes(ticker: Ticker, tx: ChainTx): boolean {
    return this.world.chain(ticker).send(tx).ok;
  }
  /** Has a block of exactly this made. */
  mine(ticker: Ticker, tx: ChainTx): void {
    const mined = this.world.chain(ticker).mineExactly(this.villain.script, [tx]);
    if (!mined.ok) throw new Error(`${mined.error.reason} ${mined.error.detail ?? ""}`);
  }
  parse(ticker: Ticker, raw: Uint8Array): ChainTx {
    const parsed = parseChainTxAt(raw, 0, this.world.chain(ticker).params.template.format);
    if (!parsed.ok) throw new Error(parsed.error.detail);
    return parsed.value.tx;
  }

  /** A child of 50,000 bytes and more that pays one unit per byte: whoever replaces its parent must pay for all of it. */
  largeChild(ticker: Ticker, parent: ChainTx): ChainTx {
    const value = parent.tx.outputs[0]?.value ?? 0n;
    const outputs = Array.from({ length: 1_500 }, () => ({ value: 1_000n, script: this.villain.script }));
    return this.spend(ticker, { txid: parent.txid, vout: 0, value, script: this.villain.script }, outputs, 52_000n);
  }

  /** Dust, a unit too little and a unit too much to an address that a payment will go to. */
  litter(ticker: Ticker, contract: Contract, units: bigint): void {
    const script = this.villain.coin(ticker).contractScript(contract);
    for (const value of [1_000n, units - 1n, units + 1n]) fund(this.world.chain(ticker), script, value);
  }

  #said(secretHash: Uint8Array) {
    return { nowSec: this.nowSec, lockSec: L, key: this.villain.key.publicKey, secretHash };
  }
  #contracts(makerStart: number, takerStart: number, secretHash: Uint8Array): Contracts {
    const [maker, taker] = [this.world.maker.key.publicKey, this.world.taker.key.publicKey];
    // A script names neither.
    const common = { secretHash, units: 0n, swapContract: null };
    return {
      maker: { ...common, lock: makerLock(makerStart, L), refundKey: maker, claimKey: taker },
      taker: { ...common, lock: takerLock(takerStart, L), refundKey: taker, claimKey: maker },
    };
  }
}
