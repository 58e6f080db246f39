import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { SignedEvmTx } from "../../src/core/evm/tx.ts";
import { onSend } from "./accountMeddling.ts";
import { type AccountWorld, ETH, match, TOKEN, UTXO } from "./accountTrade.ts";

/**
 * The node that pays in a second swap claims in a first one, and that claim waits behind the payment, which no block takes.
 * @param apartMs between the payment that it claims, and the second swap
 * @returns the uuids of both, and the payment of the second
 */
export async function claimBehindPayment(
  t: AccountWorld,
  apartMs = 0,
): Promise<{ readonly first: string; readonly second: string; readonly own: string }> {
  const { maker, taker, world } = t;
  const { held } = world.accountChain(ETH);
  let theirs = "";
  const hold = ({ txid, from }: SignedEvmTx): void => {
    if (from !== maker.account || theirs !== "") return;
    theirs = txid;
    held.add(txid);
  };
  onSend(maker, "payment", hold, "before", 10);
  const first = await match({ world, maker: taker, taker: maker }, TOKEN, ETH, "4", "0.5");
  await world.runUntil("what it is to claim is in the pools", () => theirs !== "", HOUR_MS);
  await world.advance(apartMs);
  let own = "";
  taker.onEvent = (event) => {
    if (event.type !== "tx_signed" || event.slot !== "takerPayment") return;
    own = event.txid;
    held.add(own);
  };
  const second = await match(t, UTXO, ETH, "4", "0.5");
  await world.runUntil("it pays", () => taker.has(second, (e) => e.type === "tx_seen" && e.slot === "takerPayment"), HOUR_MS);
  held.delete(theirs);
  await world.runUntil("it claims", () => taker.has(first, (e) => e.type === "tx_seen" && e.slot === "takerPaymentSpend"), HOUR_MS);
  return { first, second, own };
}
