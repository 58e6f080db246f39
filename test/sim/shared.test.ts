import { expect, test } from "vitest";
import { messageId } from "../../sim/pure/messageId.ts";
import { parseFrame as parseFrameOnce } from "../../sim/pure/parseFrame.ts";
import { remembered } from "../../sim/pure/remembered.ts";
import { sharedVerifier } from "../../sim/world/sharedVerifier.ts";
import { encodeFrame } from "../../src/core/gossip/frame.ts";
import { messageId as realMessageId } from "../../src/core/gossip/messageId.ts";
import { parseFrame } from "../../src/core/gossip/parseFrame.ts";

test("a verdict counts for its signature, digest and key together, and is worked out once", () => {
  let asked = 0;
  const verifier = sharedVerifier({ verify: (_signature, digest, key) => ++asked > 0 && digest[0] === key[0] });
  const [signature, one, two] = [Uint8Array.of(9), Uint8Array.of(1), Uint8Array.of(2)];
  const answers = [
    [one, one],
    [one, one],
    [two, one],
    [one, two],
    [two, two],
  ].map(([digest = one, key = one]) => verifier.verify(signature, digest, key));
  expect(answers).toEqual([true, true, false, false, true]);
  expect(asked).toBe(4);
});

test("what is worked out once for all nodes is what each would work out, also when it was forgotten meanwhile", () => {
  const frames = Array.from({ length: 5_000 }, (_, i) =>
    encodeFrame({ publish: [{ from: Uint8Array.of(1), data: Uint8Array.of(i, i >> 8), seqno: new Uint8Array(8).fill(i), topic: "t" }] }),
  );
  for (const frame of [...frames, ...frames]) expect(parseFrameOnce(frame)).toEqual(parseFrame(frame));
  const last = frames.at(-1) ?? new Uint8Array();
  expect(parseFrameOnce(last)).toBe(parseFrameOnce(last));
  const data = Uint8Array.of(5);
  for (const seqno of [undefined, new Uint8Array(8), new Uint8Array(8).fill(7)]) {
    for (let again = 0; again < 2; again++) expect(messageId(data, seqno)).toEqual(realMessageId(data, seqno));
  }
});

test("an answer is kept for as long as many others, and no longer than twice as many", () => {
  let worked = 0;
  const answer = remembered((bytes) => [++worked, bytes.length]);
  const first = Uint8Array.of(1);
  answer(first);
  for (let i = 0; i < 1_999; i++) answer(new Uint8Array(1));
  expect(answer(first)[0]).toBe(1);
  for (let i = 0; i < 4_000; i++) answer(new Uint8Array(1));
  expect(answer(first)[0]).toBeGreaterThan(1);
});
