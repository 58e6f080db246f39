import { createNativeVerifier } from "../src/adapters/system/nativeVerifier.ts";
import { createSystemClock } from "../src/adapters/system/systemClock.ts";
import { createThreadedVerifier } from "../src/adapters/system/verifierThreads.ts";
import { SilentLog } from "../test/fakes/silentLog.ts";
import { bareVerifyRate } from "./support/bareVerifyRate.ts";
import { type Ingest, ingest } from "./support/ingest.ts";
import type { Figure, Question } from "./support/question.ts";

const AIM_IN_PLACE = 50;
const AIM_THREADS = 80;

/** How much of what the machine can verify remains when messages come through real streams into the book. */
export const question: Question = {
  name: "ingest",
  title: "Order messages ingested: three relays in another process, tcp + noise + yamux, rate limits on",
  async ask(say) {
    const inline = createNativeVerifier(new SilentLog());
    const threaded = createThreadedVerifier(inline, { clock: createSystemClock(), log: new SilentLog() });
    const out: Figure[] = [];
    const report = (how: string, aim: number, { perSecond, senderMicros, mainMicros, delay }: Ingest, bare: number): void => {
      say(`${how}: ${Math.round(perSecond)} messages/s beside ${Math.round(bare)} bare verifications/s`);
      out.push({ what: `bare verification, one thread, beside "${how}"`, value: bare, unit: "/s" });
      out.push({ what: how, value: perSecond, unit: "/s" });
      out.push({ what: `${how}, of the bare rate`, value: (100 * perSecond) / bare, unit: "%", aim: { atLeast: aim } });
      out.push({ what: `${how}: event-loop delay p99`, value: delay.p99Ms, unit: "ms", note: `longest ${delay.maxMs.toFixed(0)} ms` });
      out.push({
        what: `${how}: work of the event loop per message`,
        value: mainMicros,
        unit: "µs",
        note: `the sender spends ${senderMicros.toFixed(0)} µs`,
      });
    };
    for (const [how, aim, verifier] of [
      ["verified in place", AIM_IN_PLACE, inline],
      ["verified in threads", AIM_THREADS, threaded],
    ] as const) {
      // Before and after, since the machine may do other things meanwhile.
      const before = bareVerifyRate(inline);
      const measured = await ingest(verifier);
      report(how, aim, measured, (before + bareVerifyRate(inline)) / 2);
    }
    await threaded.close();
    return out;
  },
};
