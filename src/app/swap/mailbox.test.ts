import { expect, test } from "vitest";
import type { SwapMessage } from "../../core/message/types.ts";
import { Mailbox } from "./mailbox.ts";

const fee = (n: number): SwapMessage => ({ type: "TakerFee", tx: { data: Uint8Array.of(n) } });
const taken = (box: Mailbox): number | undefined => box.take("TakerFee")?.tx.data[0];

test("a fee that was read before does not push out one that was not, however often it comes; it can be read again", () => {
  const box = new Mailbox();
  box.put(fee(1), true);
  expect([box.hasOtherFee, taken(box), box.hasOtherFee]).toEqual([true, 1, false]);
  box.put(fee(1), true);
  expect(box.hasOtherFee).toBe(false);
  box.put(fee(2), true);
  box.put(fee(1), true);
  expect([box.hasOtherFee, taken(box)]).toEqual([true, 2]);
  box.put(fee(1), true);
  box.put(fee(3), true);
  expect([taken(box), taken(box), box.arrivals("TakerFee")]).toEqual([3, undefined, 6]);
});

test("of what is not awaited is only counted that it came", () => {
  const box = new Mailbox();
  box.put(fee(1), false);
  expect([taken(box), box.arrivals("TakerFee")]).toEqual([undefined, 1]);
});
