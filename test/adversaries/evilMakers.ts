import { inOddForm } from "../../sim/world/oddForm.ts";
import type { Contract } from "../../src/app/swap/swapCoin.ts";
import { makerLock, takerLock } from "../../src/core/swap/timelocks.ts";
import { feeOutputs } from "../../src/core/utxo/swapTx.ts";
import { NO_POINT } from "../fakes/negotiationMessages.ts";
import type { Adversary } from "./adversary.ts";
import { L, PAYS, type Stage } from "./stage.ts";

const OTHER_SECRET = new Uint8Array(32).fill(8);

/** A maker whose offer is wrong. */
const offering = (
  name: string,
  tries: string,
  treated: Adversary["treated"],
  change: (stage: Stage) => Parameters<Stage["offer"]>[0],
): Adversary => ({
  name,
  tries,
  plays: "maker",
  ends: ["failed"],
  loses: "nothing",
  treated,
  async play(stage) {
    const uuid = await stage.begin();
    stage.say(uuid, stage.offer(change(stage)));
    stage.say(uuid, { type: "Negotiated", accepted: true });
  },
});

/** A maker that pays something else, on the chain and in its message. */
const paying = (name: string, tries: string, change: (c: Contract, stage: Stage) => Partial<Contract>, more = 0n): Adversary => ({
  name,
  tries,
  plays: "maker",
  ends: ["failed"],
  loses: "dex fee and miner fees",
  // To another contract, it could be the payment of another swap, put here by anybody.
  treated: more === 0n ? "noPayment" : "ban",
  async play(stage) {
    const uuid = await stage.begin();
    const contracts = await stage.untilFee(uuid);
    stage.pay(uuid, contracts, change(contracts.maker, stage), more);
  },
});

/** Plays a maker that has paid as agreed until the taker's payment is deep. */
async function untilTakerPaid(stage: Stage) {
  const uuid = await stage.begin();
  const contracts = await stage.untilFee(uuid);
  const payment = stage.pay(uuid, contracts);
  await stage.until(uuid, "tx_confirmed", "takerPayment");
  return { uuid, contracts, payment };
}

/** Both nodes start, the maker's clock so many seconds off. */
const skewed = (sec: number, isFine: boolean): Adversary => ({
  name: `a maker that says it started ${Math.abs(sec)} s ${sec < 0 ? "before" : "after"} the taker`,
  tries: isFine ? "gains the most time the protocol leaves" : "shifts its lock by more than clocks may differ",
  plays: "maker",
  ends: [isFine ? "success" : "failed"],
  loses: "nothing",
  treated: isFine ? "none" : "neverConnected",
  async play(stage) {
    stage.villain.skewMs = sec * 1_000;
    await stage.beginBoth();
  },
});

export const EVIL_MAKERS: readonly Adversary[] = [
  offering("a maker that locks a second less than agreed", "shortens the lock of its payment", "neverConnected", (s) => ({
    paymentLocktime: makerLock(s.nowSec, L) - 1,
  })),
  offering("a maker that locks no longer than the taker", "can refund while the taker learns the secret", "neverConnected", (s) => ({
    paymentLocktime: takerLock(s.nowSec, L),
  })),
  offering("a maker with a secret hash of 32 bytes", "has the taker pay into a script only one side can open", "neverConnected", () => ({
    secretHash: new Uint8Array(32).fill(1),
  })),
  offering("a maker with a key that is no point", "has the taker pay to a key nobody can check", "neverConnected", () => ({
    makerCoinHtlcPub: NO_POINT,
  })),
  offering("a maker that names a swap contract", "sends the taker to a contract on a chain that has none", "neverConnected", () => ({
    takerCoinContract: new Uint8Array(20).fill(1),
  })),
  skewed(-60, true),
  skewed(60, true),
  skewed(-61, false),
  skewed(61, false),
  {
    name: "a maker that takes the fee and never pays",
    tries: "costs the taker its dex fee",
    plays: "maker",
    ends: ["failed"],
    loses: "dex fee and miner fees",
    treated: "noPayment",
    async play(stage) {
      await stage.untilFee(await stage.begin());
    },
  },
  paying("a maker that pays a unit less", "buys for less than agreed", () => ({}), -1n),
  paying("a maker that pays a unit more", "has the taker accept an output the protocol does not know", () => ({}), 1n),
  paying("a maker that pays with a lock a second shorter", "moves its refund forward in the script itself", (c) => ({ lock: c.lock - 1 })),
  paying("a maker that pays to its own key", "leaves nothing for the taker to claim", (_, s) => ({ claimKey: s.villain.key.publicKey })),
  paying("a maker that pays under another hash", "keeps the secret that would open its payment", () => ({
    secretHash: new Uint8Array(20).fill(3),
  })),
  {
    name: "a maker that pays to a plain script",
    tries: "pays itself and calls it the payment",
    plays: "maker",
    ends: ["failed"],
    loses: "dex fee and miner fees",
    treated: "noPayment",
    async play(stage) {
      const uuid = await stage.begin();
      await stage.untilFee(uuid);
      const from = stage.coin("AAA", PAYS.maker.units + 10_000_000n);
      const outputs = feeOutputs({ feeKey: stage.villain.key.publicKey, fee: PAYS.maker.units, burn: 0n });
      stage.announce(uuid, stage.spend("AAA", from, outputs));
    },
  },
  {
    name: "a maker that announces a payment it has spent elsewhere",
    tries: "has the taker pay for what will never confirm",
    plays: "maker",
    ends: ["failed"],
    loses: "dex fee and miner fees",
    treated: "noPayment",
    async play(stage) {
      const uuid = await stage.begin();
      const contracts = await stage.untilFee(uuid);
      const from = stage.coin("AAA", PAYS.maker.units + 10_000_000n);
      stage.mine("AAA", stage.spend("AAA", from, []));
      stage.announce(uuid, stage.payment(contracts, {}, 0n, from));
    },
  },
  {
    name: "a maker that announces its payment and never sends it",
    tries: "has the taker wait, or pay, for a payment on no chain",
    plays: "maker",
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const uuid = await stage.begin();
      const contracts = await stage.untilFee(uuid);
      // The taker's node hands it to its own backend.
      stage.announce(uuid, stage.payment(contracts));
      await stage.until(uuid, "tx_confirmed", "takerPayment");
      stage.send("BBB", await stage.claimOf(uuid, contracts));
    },
  },
  {
    name: "a maker whose payment is in a block after two fifths of the lock",
    tries: "has the taker pay when too little time is left to claim",
    plays: "maker",
    ends: ["failed"],
    loses: "dex fee and miner fees",
    treated: "late",
    async play(stage) {
      const uuid = await stage.begin();
      const contracts = await stage.untilFee(uuid);
      const payment = stage.payment(contracts);
      stage.world.chain("AAA").held.add(payment.txid);
      stage.send("AAA", payment);
      stage.announce(uuid, payment);
      await stage.world.until("the time is over", () => stage.isOver(uuid));
      stage.world.chain("AAA").held.clear();
    },
  },
  {
    name: "a maker that pays with coins it mines for that",
    tries: "has the taker pay for what nobody may claim before it can go back",
    plays: "maker",
    ends: ["failed"],
    loses: "dex fee and miner fees",
    treated: "noPayment",
    says: "is made of new coins",
    async play(stage) {
      const uuid = await stage.begin();
      stage.payInNewCoins(uuid, await stage.untilFee(uuid));
    },
  },
  {
    name: "a maker that litters the contract's address",
    tries: "has a first, wrong output taken for the payment",
    plays: "maker",
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const uuid = await stage.begin();
      const contracts = await stage.untilFee(uuid);
      stage.litter("AAA", contracts.maker, PAYS.maker.units);
      await stage.world.advance(60);
      if ((await stage.honest.state(uuid)).facts.makerPayment) throw new Error("litter was taken for the payment");
      stage.pay(uuid, contracts);
      await stage.until(uuid, "tx_confirmed", "takerPayment");
      stage.send("BBB", await stage.claimOf(uuid, contracts));
    },
  },
  {
    name: "a maker that never claims",
    tries: "holds the taker's money until its lock",
    plays: "maker",
    ends: ["refunded"],
    loses: "dex fee and miner fees",
    treated: "noPayment",
    async play(stage) {
      await untilTakerPaid(stage);
    },
  },
  {
    name: "a maker that claims seconds before the taker's lock",
    tries: "leaves the taker no time to claim before it refunds",
    plays: "maker",
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const { uuid, contracts } = await untilTakerPaid(stage);
      const claim = await stage.claimOf(uuid, contracts);
      await stage.world.advance(contracts.taker.lock - 5 - stage.nowSec);
      stage.send("BBB", claim);
    },
  },
  {
    name: "a maker that pins its claim at the taker's lock",
    tries: "sends a claim no miner takes, with a large low-fee child, so that the refund is too dear to replace it",
    plays: "maker",
    world: { coin: { segwit: true, bech32_hrp: "tst", relay_policy: "replace" } },
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const { uuid, contracts } = await untilTakerPaid(stage);
      const claim = await stage.claimOf(uuid, contracts);
      const child = stage.largeChild("BBB", claim);
      for (const { txid } of [claim, child]) stage.world.chain("BBB").held.add(txid);
      await stage.world.advance(contracts.taker.lock - 5 - stage.nowSec);
      stage.send("BBB", claim);
      stage.send("BBB", child);
      await stage.until(uuid, "tx_seen", "makerPaymentSpend");
      stage.world.chain("BBB").held.clear();
    },
  },
  {
    name: "a maker that mines its claim over the taker's refund, in a form that nobody relays",
    tries: "has its claim taken for a refund, or its secret not found in it",
    plays: "maker",
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const { uuid, contracts } = await untilTakerPaid(stage);
      const claim = await stage.claimOf(uuid, contracts);
      await stage.until(uuid, "tx_attempted", "takerPaymentRefund");
      stage.mine("BBB", inOddForm(claim.tx));
    },
  },
  {
    name: "a maker that claims and pins a payment in no block yet",
    tries: "ties the taker's unconfirmed payment to a large low-fee child",
    plays: "maker",
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const uuid = await stage.begin();
      const contracts = await stage.untilFee(uuid);
      stage.pay(uuid, contracts);
      stage.world.chain("BBB").autoMine(null);
      await stage.until(uuid, "tx_seen", "takerPayment");
      const claim = await stage.claimOf(uuid, contracts);
      stage.send("BBB", claim);
      stage.send("BBB", stage.largeChild("BBB", claim));
      await stage.world.advance(60);
      stage.world.chain("BBB").autoMine(20_000);
    },
  },
  {
    name: "a maker with two orders on one coin",
    tries: "pays two swaps with the same output",
    plays: "maker",
    ends: ["success", "failed"],
    loses: "dex fee and miner fees",
    treated: "noPayment",
    async play(stage) {
      const [first, second] = [await stage.begin(), await stage.begin()];
      const from = stage.coin("AAA", PAYS.maker.units + 10_000_000n);
      const one = await stage.untilFee(first);
      const two = await stage.untilFee(second, OTHER_SECRET);
      stage.pay(first, one, {}, 0n, from);
      stage.announce(second, stage.payment(two, {}, 0n, from));
      await stage.until(first, "tx_confirmed", "takerPayment");
      stage.send("BBB", await stage.claimOf(first, one));
    },
  },
];
