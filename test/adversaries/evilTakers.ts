import { inOddForm } from "../../sim/world/oddForm.ts";
import type { Contract } from "../../src/app/swap/swapCoin.ts";
import type { ChainTx } from "../../src/chain/chainTx.ts";
import { takerLock } from "../../src/core/swap/timelocks.ts";
import { feeOutputs } from "../../src/core/utxo/swapTx.ts";
import { payTo } from "../fakes/chainWorld.ts";
import { malleate } from "../fakes/malleate.ts";
import { NO_POINT } from "../fakes/negotiationMessages.ts";
import { FEE_KEY, FEE_UNITS } from "../fakes/swapWorld.ts";
import type { Adversary } from "./adversary.ts";
import { type Contracts, L, PAYS, type Stage } from "./stage.ts";

/** A taker whose answer is wrong. */
const answering = (
  name: string,
  tries: string,
  treated: Adversary["treated"],
  change: (makerStart: number) => Parameters<Stage["reply"]>[1],
): Adversary => ({
  name,
  tries,
  plays: "taker",
  ends: ["failed"],
  loses: "nothing",
  treated,
  async play(stage) {
    const uuid = await stage.begin();
    const { data } = await stage.hear(uuid, "Negotiation");
    stage.say(uuid, stage.reply(data.secretHash, { startedAt: data.startedAt, ...change(data.startedAt) }));
    await stage.world.advance(30);
    const agreed = stage.world.sent(stage.honest, uuid).some((m) => m.type === "Negotiated" && m.accepted);
    if (agreed) throw new Error("the maker agreed");
  },
});

/** A taker that shows a fee that does not count. */
const feeing = (name: string, tries: string, treated: Adversary["treated"], fee: (stage: Stage) => ChainTx): Adversary => ({
  name,
  tries,
  plays: "taker",
  ends: ["failed"],
  loses: "nothing",
  treated,
  async play(stage) {
    const tx = fee(stage);
    await stage.world.advance(5);
    const uuid = await stage.begin();
    await stage.untilAgreed(uuid);
    for (let i = 0; i < 15; i++) {
      stage.say(uuid, { type: "TakerFee", tx: { data: tx.raw } });
      await stage.world.advance(10);
    }
  },
});

/** A taker that pays something else, on the chain and in its message. */
const paying = (name: string, tries: string, change: (c: Contract, stage: Stage) => Partial<Contract>, more = 0n): Adversary => ({
  name,
  tries,
  plays: "taker",
  ends: ["refunded"],
  loses: "miner fees",
  // To another contract, it could be the payment of another swap, put here by anybody.
  treated: more === 0n ? "noPayment" : "ban",
  async play(stage) {
    const uuid = await stage.begin();
    const contracts = await stage.untilMakerPaid(uuid);
    stage.pay(uuid, contracts, change(contracts.taker, stage), more);
  },
});

const payAs = async (stage: Stage): Promise<{ uuid: string; contracts: Contracts; payment: ChainTx }> => {
  const uuid = await stage.begin();
  const contracts = await stage.untilMakerPaid(uuid);
  const payment = stage.pay(uuid, contracts);
  return { uuid, contracts, payment };
};

/** Pays in time, in no block before the maker has given up. */
async function payTooLate(stage: Stage): Promise<{ contracts: Contracts; payment: ChainTx }> {
  const uuid = await stage.begin();
  const contracts = await stage.untilMakerPaid(uuid);
  const payment = stage.payment(contracts);
  stage.world.chain("BBB").held.add(payment.txid);
  stage.send("BBB", payment);
  stage.announce(uuid, payment);
  await stage.until(uuid, "refund_decided");
  stage.world.chain("BBB").held.clear();
  return { contracts, payment };
}

/** The taker's refund of its own payment. */
function refundOf(stage: Stage, contracts: Contracts, payment: ChainTx, fee: bigint): ChainTx {
  const refund = stage.villain.coin("BBB").buildRefund({ contract: contracts.taker, payment: payment.raw, fee });
  if (!refund.ok) throw new Error(refund.error.kind);
  return stage.parse("BBB", refund.value.raw);
}

const skewed = (sec: number, isFine: boolean): Adversary => ({
  name: `a taker that says it started ${Math.abs(sec)} s ${sec < 0 ? "before" : "after"} the maker`,
  tries: isFine ? "gains the most time the protocol leaves" : "shifts its lock by more than clocks may differ",
  plays: "taker",
  ends: [isFine ? "success" : "failed"],
  loses: "nothing",
  treated: isFine ? "none" : "noFee",
  async play(stage) {
    if (isFine) stage.villain.skewMs = sec * 1_000;
    if (isFine) await stage.beginBoth();
    else await answering("", "", "none", (start) => ({ startedAt: start + sec, paymentLocktime: takerLock(start + sec, L) })).play(stage);
  },
});

const toFeeKey = (units: bigint, key = FEE_KEY) => feeOutputs({ feeKey: key.publicKey, fee: units, burn: 0n });

export const EVIL_TAKERS: readonly Adversary[] = [
  answering("a taker that locks a second longer than agreed", "moves the lock of its payment", "noFee", (start) => ({
    paymentLocktime: takerLock(start, L) + 1,
  })),
  answering("a taker that locks a second less than agreed", "can refund while the maker still claims", "noFee", (start) => ({
    paymentLocktime: takerLock(start, L) - 1,
  })),
  answering("a taker with a key that is no point", "has the maker pay to a key nobody can check", "noFee", () => ({
    persistentPubkey: NO_POINT,
  })),
  skewed(-60, true),
  skewed(60, true),
  skewed(-61, false),
  skewed(61, false),
  {
    name: "a taker that agrees and never pays its fee",
    tries: "holds the maker's funds",
    plays: "taker",
    ends: ["failed"],
    loses: "nothing",
    treated: "noFee",
    async play(stage) {
      await stage.untilAgreed(await stage.begin());
    },
  },
  feeing("a taker whose fee is a unit short", "pays less dex fee than is due", "noFee", (s) => {
    const fee = s.spend("BBB", s.coin("BBB", 10_000_000n), toFeeKey(FEE_UNITS - 1n));
    s.send("BBB", fee);
    return fee;
  }),
  feeing("a taker that pays the fee to itself", "keeps the dex fee", "noFee", (s) => {
    const fee = s.spend("BBB", s.coin("BBB", 10_000_000n), toFeeKey(FEE_UNITS, s.villain.key));
    s.send("BBB", fee);
    return fee;
  }),
  feeing("a taker that shows a fee somebody else has paid", "has a stranger's fee counted as its own", "noFee", (s) => {
    const paid = s.world.chain("BBB").payFromFaucet(payTo(FEE_KEY), FEE_UNITS);
    if (!paid.ok) throw new Error("the faucet failed");
    return paid.value;
  }),
  feeing("a taker that shows a right fee from before the swap", "has an old fee counted again", "noFee", (s) => {
    const fee = s.spend("BBB", s.coin("BBB", 10_000_000n), toFeeKey(FEE_UNITS));
    s.send("BBB", fee);
    s.world.mine("BBB");
    return fee;
  }),
  {
    name: "a taker that shows the fee of another swap",
    tries: "pays one dex fee for two swaps",
    plays: "taker",
    ends: ["success", "failed"],
    loses: "nothing",
    treated: "noFee",
    async play(stage) {
      const { world } = stage;
      // Begun before the fee is paid: only that it counts for the first speaks against it.
      const [first, second] = [await stage.beginBoth(), await stage.begin()];
      await stage.untilAgreed(second);
      await stage.until(first, "tx_received", "fee");
      const fee = world.sent(stage.villain, first).find((m) => m.type === "TakerFee");
      if (!fee) throw new Error("no fee");
      for (let i = 0; i < 15; i++) {
        stage.say(second, fee);
        await world.advance(10);
      }
    },
  },
  {
    name: "a taker that spends its fee elsewhere when the maker has paid, and goes on",
    tries: "gets the dex fee back",
    plays: "taker",
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const uuid = await stage.begin();
      stage.world.chain("BBB").autoMine(null);
      const contracts = await stage.untilAgreed(uuid);
      const from = stage.coin("BBB", 10_000_000n);
      await stage.payFee(uuid, from);
      await stage.until(uuid, "tx_attempted", "makerPayment");
      stage.mine("BBB", stage.spend("BBB", from, [], 2_000n));
      stage.world.chain("BBB").autoMine(20_000);
      stage.pay(uuid, contracts);
    },
  },
  {
    name: "a taker that spends its fee elsewhere when the maker has paid, and vanishes",
    tries: "locks the maker's money for nothing",
    plays: "taker",
    ends: ["refunded"],
    loses: "miner fees",
    treated: "noPayment",
    async play(stage) {
      const uuid = await stage.begin();
      stage.world.chain("BBB").autoMine(null);
      await stage.untilAgreed(uuid);
      const from = stage.coin("BBB", 10_000_000n);
      await stage.payFee(uuid, from);
      await stage.until(uuid, "tx_attempted", "makerPayment");
      stage.mine("BBB", stage.spend("BBB", from, [], 2_000n));
      stage.world.chain("BBB").autoMine(20_000);
    },
  },
  {
    name: "a taker that never pays",
    tries: "locks the maker's money for the price of a dex fee",
    plays: "taker",
    ends: ["refunded"],
    loses: "miner fees",
    treated: "noPayment",
    async play(stage) {
      await stage.untilMakerPaid(await stage.begin());
    },
  },
  paying("a taker that pays a unit less", "buys for less than agreed", () => ({}), -1n),
  paying("a taker that pays a unit more", "has the maker claim an output the protocol does not know", () => ({}), 1n),
  paying("a taker that pays with a lock a second shorter", "moves its refund forward in the script itself", (c) => ({ lock: c.lock - 1 })),
  paying("a taker that pays to its own key", "learns the secret from a claim that cannot be", (_, s) => ({
    claimKey: s.villain.key.publicKey,
  })),
  paying("a taker that pays under another hash", "has the maker show its secret in vain", () => ({
    secretHash: new Uint8Array(20).fill(3),
  })),
  {
    name: "a taker that announces garbage as its payment",
    tries: "has the maker fail over bytes that are no transaction",
    plays: "taker",
    ends: ["refunded"],
    loses: "miner fees",
    treated: "noPayment",
    async play(stage) {
      const uuid = await stage.begin();
      await stage.untilMakerPaid(uuid);
      stage.say(uuid, { type: "TakerPayment", tx: new Uint8Array(300).fill(255) });
    },
  },
  {
    name: "a taker that announces a payment it has spent elsewhere",
    tries: "has the maker claim, and show its secret, for nothing",
    plays: "taker",
    ends: ["refunded"],
    loses: "miner fees",
    treated: "noPayment",
    async play(stage) {
      const uuid = await stage.begin();
      const contracts = await stage.untilMakerPaid(uuid);
      const from = stage.coin("BBB", PAYS.taker.units + 10_000_000n);
      stage.mine("BBB", stage.spend("BBB", from, []));
      stage.announce(uuid, stage.payment(contracts, {}, 0n, from));
    },
  },
  {
    name: "a taker that announces its payment and never sends it",
    tries: "has the maker wait for a payment on no chain",
    plays: "taker",
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const uuid = await stage.begin();
      const contracts = await stage.untilMakerPaid(uuid);
      stage.announce(uuid, stage.payment(contracts));
    },
  },
  {
    name: "a taker whose payment is in a block after four fifths of the lock",
    tries: "has the maker show its secret when the refund is near",
    plays: "taker",
    ends: ["refunded"],
    loses: "miner fees",
    treated: "late",
    async play(stage) {
      await payTooLate(stage);
    },
  },
  {
    name: "a taker that pays too late and mines its refund in the form of a claim",
    tries: "has the maker take it for its own claim, and leave its payment where it is",
    plays: "taker",
    ends: ["refunded"],
    loses: "miner fees",
    treated: "late",
    async play(stage) {
      const { contracts, payment } = await payTooLate(stage);
      await stage.world.advance(contracts.taker.lock + 300 - stage.nowSec);
      stage.mine("BBB", inOddForm(refundOf(stage, contracts, payment, 90_000n).tx));
    },
  },
  {
    name: "a taker that pays in the last moment",
    tries: "leaves the maker as little time as it can",
    plays: "taker",
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const uuid = await stage.begin();
      const contracts = await stage.untilMakerPaid(uuid);
      const { startedAt } = (await stage.honest.state(uuid)).terms;
      await stage.world.advance(startedAt + (4 * L) / 5 - 10 - stage.nowSec);
      stage.mine("BBB", stage.payment(contracts));
    },
  },
  {
    name: "a taker that pays with coins it mines for that",
    tries: "has the maker show its secret by a claim that no block takes",
    plays: "taker",
    ends: ["refunded"],
    loses: "miner fees",
    treated: "noPayment",
    says: "is made of new coins",
    async play(stage) {
      const uuid = await stage.begin();
      stage.payInNewCoins(uuid, await stage.untilMakerPaid(uuid));
    },
  },
  {
    name: "a taker that litters the contract's address",
    tries: "has a first, wrong output taken for the payment",
    plays: "taker",
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const uuid = await stage.begin();
      const contracts = await stage.untilMakerPaid(uuid);
      stage.litter("BBB", contracts.taker, PAYS.taker.units);
      await stage.world.advance(60);
      if ((await stage.honest.state(uuid)).facts.takerPayment) throw new Error("litter was taken for the payment");
      stage.pay(uuid, contracts);
    },
  },
  {
    name: "a taker that has its payment mined under another id",
    tries: "has the maker wait for the id that was announced",
    plays: "taker",
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const uuid = await stage.begin();
      const contracts = await stage.untilMakerPaid(uuid);
      const payment = stage.payment(contracts);
      stage.world.chain("BBB").held.add(payment.txid);
      stage.announce(uuid, payment);
      await stage.until(uuid, "tx_seen", "takerPayment");
      stage.mine("BBB", malleate(payment.tx));
    },
  },
  {
    name: "a taker that refunds before its lock",
    tries: "takes its payment back before the maker claims",
    plays: "taker",
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const { contracts, payment } = await payAs(stage);
      const early = refundOf(stage, contracts, payment, 90_000n);
      if (stage.takes("BBB", early)) throw new Error("an early refund was relayed");
    },
  },
  {
    name: "a taker that never claims",
    tries: "has the maker wait for it",
    plays: "taker",
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      await payAs(stage);
    },
  },
  {
    name: "a taker that races the claim with a dear refund at its lock",
    tries: "replaces a claim that is stuck in a fee spike by its refund, with a large child that makes replacing it dear",
    plays: "taker",
    world: { coin: { segwit: true, bech32_hrp: "tst", relay_policy: "replace" } },
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    async play(stage) {
      const chain = stage.world.chain("BBB");
      const { uuid, contracts, payment } = await payAs(stage);
      await stage.until(uuid, "tx_attempted", "takerPaymentSpend");
      chain.policy.blockFeePerKb = 50_000n;
      let isRelayed = false;
      await stage.meanwhile(uuid, 10, () => {
        if (isRelayed || stage.nowSec <= contracts.taker.lock) return;
        const refund = refundOf(stage, contracts, payment, 1_000_000n);
        isRelayed = stage.takes("BBB", refund);
        if (isRelayed) stage.send("BBB", stage.largeChild("BBB", refund));
      });
    },
  },
  {
    name: "a taker with two orders on one coin",
    tries: "pays two swaps with the same output",
    plays: "taker",
    ends: ["success", "refunded"],
    loses: "miner fees",
    treated: "noPayment",
    async play(stage) {
      const [first, second] = [await stage.begin(), await stage.begin()];
      const [one, two] = [await stage.untilMakerPaid(first), await stage.untilMakerPaid(second)];
      const from = stage.coin("BBB", PAYS.taker.units + 10_000_000n);
      stage.pay(first, one, {}, 0n, from);
      stage.announce(second, stage.payment(two, {}, 0n, from));
    },
  },
];
