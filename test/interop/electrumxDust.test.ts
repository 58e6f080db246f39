import { connect } from "node:net";
import { sha256 } from "@noble/hashes/sha2.js";
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from "vitest";
import { fromHex, reversed, toHex } from "../../src/core/util/bytes.ts";
import { p2shOf, redeemScript } from "../../src/core/utxo/htlc.ts";
import { printTails } from "../e2e/support/network.ts";
import { ended, expectTraded, match, sidesOf, swapStatus, type Trade } from "../e2e/support/trade.ts";
import { DustPurse } from "./support/dust.ts";
import { type ElectrumxNetwork, startElectrumxNetwork } from "./support/lightNetwork.ts";
import { electrumxSkipReason, isElectrumxSkipped } from "./support/programs.ts";
import { BTC, LTC } from "./support/regtestChains.ts";

/** ElectrumX's least bound of an answer, bytes: of a history 3,535 lines, a third of what its usual bound lets through. */
const LIMITS = { MAX_SEND: "350000" };
const PAYMENTS = 3_600;
/** Where the claim is in a block before the taker looks, all of that block is read, and each place in it has the servers hash all of it. */
const SWAP_MS = 600_000;

type Events = { readonly [type: string]: { readonly [field: string]: string | number } };

/** Asks a server without a bound of its own. */
function ask(
  url: string,
  method: string,
  params: readonly unknown[],
): Promise<{ readonly result?: unknown; readonly error?: { readonly message: string } }> {
  const [host = "", port = ""] = url.split(":");
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port) });
    let text = "";
    socket.once("error", reject);
    socket.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
      if (!text.endsWith("\n")) return;
      socket.destroy();
      resolve(JSON.parse(text));
    });
    socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: 0, method, params })}\n`);
  });
}

describe.skipIf(isElectrumxSkipped)(`a contract with thousands of payments of dust on ElectrumX${electrumxSkipReason}`, () => {
  let started: ElectrumxNetwork;
  beforeAll(async () => {
    started = await startElectrumxNetwork(["full", "lighter"], LIMITS);
  });
  afterAll(() => started?.network.net.stop());

  /** The script of the taker's payment, from what both have agreed on. */
  async function takerContract(uuid: string): Promise<Uint8Array> {
    const { events } = await swapStatus(started.network.node("full"), uuid);
    const { Started, Negotiated } = Object.fromEntries(events.map(({ event }) => [event.type, event.data])) as Events;
    if (!Started || !Negotiated) throw new Error("the swap is not negotiated");
    return p2shOf(
      redeemScript({
        lock: Number(Negotiated.taker_payment_locktime),
        secretHash: fromHex(String(Started.secret_hash)),
        refundKey: fromHex(String(Negotiated.taker_coin_htlc_pubkey)),
        claimKey: fromHex(String(Started.taker_coin_htlc_pubkey)),
      }),
    );
  }

  test(
    "no server gives the history of its payment's contract, and the taker finds the claim and its secret all the same",
    async () => {
      const { network, ltc, servers } = started;
      const { logs, node } = network;
      onTestFailed(() => printTails(logs));
      const dust = await DustPurse.open(ltc, PAYMENTS);
      const trade: Trade = { base: BTC.coin, rel: LTC.coin, price: "4", volume: "0.5", taken: "0.5", by: "sell" };
      const before = await sidesOf(node("full"), node("lighter"), [LTC.coin, BTC.coin]);
      const agreed = logs.next("full", { type: "negotiated" });
      const paid = logs.next("lighter", { type: "tx_seen", slot: "takerPayment" });
      const uuid = await match(node("full"), node("lighter"), trade);
      await agreed;
      const script = await takerContract(uuid);
      const { txid } = await paid;
      // Before that it would not pay at all.
      await dust.payAll(script);
      const payment = (await ltc.daemon.call("getrawtransaction", [txid, true])) as { vout: readonly { scriptPubKey: { hex: string } }[] };
      expect(payment.vout[0]?.scriptPubKey.hex).toBe(toHex(script));
      const done = await ended(node("full"), node("lighter"), uuid, SWAP_MS);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expectTraded(trade, before, await sidesOf(node("full"), node("lighter"), [LTC.coin, BTC.coin]));
      const refused = await ask(servers[0]?.url("TCP") ?? "", "blockchain.scripthash.get_history", [toHex(reversed(sha256(script)))]);
      expect(refused).toMatchObject({ error: { message: expect.stringContaining("too large") } });
    },
    SWAP_MS,
  );
});
