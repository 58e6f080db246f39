import { setTimeout as pause } from "node:timers/promises";
import type { SignatureVerifier } from "../../src/ports/signatures.ts";
import { type LoopDelay, measureLoopDelay } from "./loopDelay.ts";
import { prepareTraffic } from "./traffic.ts";
import { startReceiver } from "./trafficReceiver.ts";

/** A light node keeps three relays. */
const RELAYS = 3;
const KEYS = 400;
const PER_KEY = 50;
/** Left out of the rate: compiling, and threads that are only being started. */
const WARM_UP = 0.25;
const STALLED_MS = 5_000;

export type Ingest = {
  /** Messages a second that were verified and are in the book, after the warm-up. */
  readonly perSecond: number;
  readonly delay: LoopDelay;
  /** CPU time of the event loop's thread per message, and of the whole sender. */
  readonly mainMicros: number;
  readonly senderMicros: number;
};

/** Takes 60,000 order messages of 1,200 keys through real streams. Throws unless every one ends up in the book. */
export async function ingest(verifier: SignatureVerifier): Promise<Ingest> {
  const traffic = await prepareTraffic({ peers: RELAYS, keys: KEYS, perKey: PER_KEY });
  const receiver = await startReceiver(traffic.relays, verifier);
  try {
    await receiver.connected();
    const { verdicts } = receiver;
    const seen = (): number => verdicts.accept + verdicts.ignore + verdicts.reject + verdicts.busy;
    const until = async (count: number): Promise<void> => {
      for (let last = -1, sinceMs = 0; seen() < count; await pause(2)) {
        if (seen() !== last) [last, sinceMs] = [seen(), performance.now()];
        if (performance.now() - sinceMs > STALLED_MS)
          throw new Error(`only ${last} of ${traffic.total} messages came: ${receiver.troubles.join("; ")}`);
      }
    };
    const sent = traffic.go();
    await until(WARM_UP * traffic.total);
    const from = seen();
    const startMs = performance.now();
    const cpu = process.threadCpuUsage();
    const { delay } = await measureLoopDelay(() => until(traffic.total));
    const seconds = (performance.now() - startMs) / 1_000;
    const { user, system } = process.threadCpuUsage(cpu);
    if (verdicts.accept !== traffic.total) throw new Error(`not all were taken: ${JSON.stringify(verdicts)}`);
    const count = traffic.total - from;
    const { cpuSeconds } = await sent;
    return { perSecond: count / seconds, delay, mainMicros: (user + system) / count, senderMicros: (1e6 * cpuSeconds) / traffic.total };
  } finally {
    traffic.stop();
    await receiver.stop();
  }
}
