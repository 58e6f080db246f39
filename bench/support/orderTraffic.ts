import { createRequire } from "node:module";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { orderbookTopic } from "../../src/core/book/bookPair.ts";
import { encodeFrame } from "../../src/core/gossip/frame.ts";
import { MsgpackWriter } from "../../src/core/message/msgpackWriter.ts";
import { encodeOrderMessage } from "../../src/core/message/orderMessage.ts";
import type { OrderMessage } from "../../src/core/message/types.ts";
import { rational } from "../../src/core/money/rational.ts";

/** The native binding signs here because the keys are thrown away and the messages many; the product never does. */
type Signer = { ecdsaSign(digest: Uint8Array, secretKey: Uint8Array): { readonly signature: Uint8Array } };
const signer: Signer = createRequire(import.meta.url)("secp256k1/bindings");

/** Pairs the traffic is spread over: `C0:C1`, `C2:C3`, … */
export const TRAFFIC_PAIRS: readonly (readonly [base: string, rel: string])[] = Array.from({ length: 20 }, (_, i) => [
  `C${2 * i}`,
  `C${2 * i + 1}`,
]);

/** Orders each key creates before it only updates them. */
const ORDERS_PER_KEY = 5;

const uuid = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;

type Trader = { readonly secretKey: Uint8Array; readonly publicKey: Uint8Array };

function trader(n: number): Trader {
  const secretKey = sha256(new TextEncoder().encode(`bench trader ${n}`));
  return { secretKey, publicKey: secp256k1.getPublicKey(secretKey, true) };
}

function sign(payload: Uint8Array, { secretKey, publicKey }: Trader): Uint8Array {
  const { signature } = signer.ecdsaSign(sha256(payload), secretKey);
  return new MsgpackWriter().array(3).variant(0).bin(publicKey).bin(signature).bin(payload).finish();
}

function created(order: number, base: string, rel: string, nowSec: number): OrderMessage {
  return {
    type: "MakerOrderCreated",
    body: {
      uuid: uuid(order),
      base,
      rel,
      price: rational(1_234_567n + BigInt(order), 100_000_000n),
      maxVolume: rational(5_000_000_001n, 100_000_000n),
      minVolume: rational(77_700n, 100_000_000n),
      createdAt: nowSec,
      conf: { baseConfs: 2, baseNota: false, relConfs: 1, relNota: true },
      timestamp: nowSec,
      pairTrieRoot: new Uint8Array(8),
      baseProtocolInfo: Uint8Array.of(1),
      relProtocolInfo: Uint8Array.of(1),
    },
  };
}

function updated(order: number, round: number, nowSec: number): OrderMessage {
  return {
    type: "MakerOrderUpdated",
    body: {
      uuid: uuid(order),
      newPrice: rational(1_234_567n + BigInt(order + round), 100_000_000n),
      newMaxVolume: rational(4_000_000_001n + BigInt(round), 100_000_000n),
      newMinVolume: null,
      timestamp: nowSec,
      pairTrieRoot: new Uint8Array(8),
      conf: null,
    },
  };
}

/** A message as its maker hands it to the network. */
export type SignedOrder = { readonly topic: string; readonly envelope: Uint8Array };

/**
 * Order messages of many keys, valid for a minute: each key creates five orders and then updates them in turn. Keys
 * take turns, so that no one of them sends a burst.
 *
 * @param firstKey number of the first key; other numbers make other keys and orders
 */
export function orderTraffic(keys: number, perKey: number, firstKey: number, nowSec: number): SignedOrder[] {
  const traders = Array.from({ length: keys }, (_, i) => trader(firstKey + i));
  const out: SignedOrder[] = [];
  for (let round = 0; round < perKey; round++) {
    traders.forEach((who, i) => {
      const order = (firstKey + i) * ORDERS_PER_KEY + (round % ORDERS_PER_KEY);
      const [base, rel] = TRAFFIC_PAIRS[order % TRAFFIC_PAIRS.length] ?? ["C0", "C1"];
      const message = round < ORDERS_PER_KEY ? created(order, base, rel, nowSec) : updated(order, round, nowSec);
      out.push({ topic: orderbookTopic(base, rel), envelope: sign(encodeOrderMessage(message), who) });
    });
  }
  return out;
}

/** The gossip frame of a message, as a node publishes it. `n` makes the sequence number. */
export function toFrame({ topic, envelope }: SignedOrder, from: Uint8Array, n: number): Uint8Array {
  const seqno = new Uint8Array(8);
  new DataView(seqno.buffer).setUint32(4, n);
  return encodeFrame({ publish: [{ from, data: envelope, seqno, topic }] });
}
