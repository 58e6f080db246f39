import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { signEnvelope } from "../../src/core/message/envelope.ts";
import { encodeSwapMessage } from "../../src/core/message/swapMessage.ts";
import type { SwapMessage } from "../../src/core/message/types.ts";
import { testKey } from "../fakes/chainWorld.ts";
import type { Adversary } from "./adversary.ts";
import type { Stage } from "./stage.ts";

const stranger = testKey("a stranger");

/** What a swap's topic is filled with: noise, a stranger's words, and nonsense that the counterparty has signed. */
function* rubbish(stage: Stage, uuid: string): Generator<Uint8Array> {
  const rng = seededRng(77);
  const words: readonly SwapMessage[] = [
    { type: "Negotiated", accepted: false },
    { type: "TakerFee", tx: { data: rng.bytes(200) } },
    { type: "MakerPayment", tx: { data: rng.bytes(200) } },
    { type: "TakerPayment", tx: rng.bytes(200) },
  ];
  const secretOf = (key: typeof stranger): Uint8Array => key.secret.reveal();
  yield rng.bytes(500);
  yield new TextEncoder().encode(uuid);
  for (const word of words) yield signEnvelope(encodeSwapMessage(word), secretOf(stranger));
  for (const word of words.slice(1)) yield signEnvelope(encodeSwapMessage(word), secretOf(stage.villain.key));
  yield signEnvelope(rng.bytes(300), secretOf(stage.villain.key));
}

/** Whoever can put messages on a swap's topic, against either side. Its swap is an honest one. */
const both = (name: string, tries: string, play: (stage: Stage, uuid: string) => Promise<void>): readonly Adversary[] =>
  (["maker", "taker"] as const).map((plays) => ({
    name: `${name}, to the ${plays === "maker" ? "taker" : "maker"}`,
    tries,
    plays,
    ends: ["success"],
    loses: "nothing",
    treated: "none",
    play: async (stage) => play(stage, await stage.beginBoth()),
  }));

export const STRANGERS: readonly Adversary[] = [
  ...both("garbage and floods on a swap's topic", "drowns the right messages, or ends the swap with a wrong one", async (stage, uuid) => {
    // Formed once: it is the reading of them that is tested.
    const messages = [...rubbish(stage, uuid)];
    await stage.meanwhile(uuid, 1, () => {
      for (let i = 0; i < 3; i++) for (const data of messages) stage.honest.runner.onGossip({ topic: `swap/${uuid}`, data, from: "relay" });
    });
  }),
  ...both("a relay that replays an old swap of the two", "has words of another swap counted in this one", async (stage, first) => {
    const { world, villain } = stage;
    await stage.meanwhile(first, 5, () => undefined);
    await world.advance(300);
    const old = world.sent(villain, first);
    const second = await stage.beginBoth();
    await stage.meanwhile(second, 1, () => {
      for (const message of old) stage.say(second, message);
    });
  }).map((a): Adversary => ({ ...a, ends: ["success", "success"] })),
];
