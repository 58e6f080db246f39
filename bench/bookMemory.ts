import { OrderbookState } from "../src/core/book/orderbookState.ts";
import { parseEnvelope } from "../src/core/message/envelope.ts";
import { parseOrderMessage } from "../src/core/message/orderMessage.ts";
import { toHex } from "../src/core/util/bytes.ts";
import { orderTraffic } from "./support/orderTraffic.ts";
import type { Question } from "./support/question.ts";
import { usedHeap } from "./support/usedHeap.ts";

const KEYS = 2_000;
const ORDERS_PER_KEY = 5;

/** What one order of another node costs in memory, with its place in all indexes. */
export const question: Question = {
  name: "book",
  title: "Memory of the order book",
  async ask() {
    const nowMs = Date.now();
    const book = new OrderbookState({ isOwnKey: () => false, follows: () => true });
    const before = await usedHeap();
    let orders = 0;
    for (let key = 0; key < KEYS; key++) {
      for (const { envelope } of orderTraffic(1, ORDERS_PER_KEY, key, Math.floor(nowMs / 1_000))) {
        const parsed = parseEnvelope(envelope);
        const message = parsed.ok ? parseOrderMessage(parsed.value.payload) : parsed;
        if (!parsed.ok || !message.ok || message.value.type !== "MakerOrderCreated") throw new Error("not a created order");
        if (book.created(toHex(parsed.value.publicKey), message.value.body, nowMs).kind === "stored") orders++;
      }
    }
    const bytes = (await usedHeap()) - before;
    const pairs = [...book.pairs()].length;
    return [
      {
        what: "one order, all indexes included",
        value: bytes / orders,
        unit: "B",
        note: `${orders} orders of ${KEYS} keys in ${pairs} pairs`,
      },
    ];
  },
};
