import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Mutated inputs per decoder, and the seed they are drawn from: `FUZZ_RUNS=100000 FUZZ_SEED=7`. */
export const RUNS = Number(process.env.FUZZ_RUNS ?? "2000");
export const SEED = Number(process.env.FUZZ_SEED ?? "20260401");

/** Numbers from 0 below `n`. */
export type Pick = (n: number) => number;

/** mulberry32. */
export function source(seed: number): Pick {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

/** Pieces that change the meaning of JSON: types, depth, numbers at their limits, names of objects' own machinery. */
const PIECES = [
  ...["{", "}", "[", "]", ",", ":", '"', "null", "true", "-1", "1e999", "0.1", '""', "[[[[", '"__proto__":', '"constructor":'],
  ...["\\u0000", "9".repeat(40), "9".repeat(400), "é", "😀", "/", "%", "@", " "],
];

/** One to four places of a text cut, overwritten or filled with a piece of something else. */
export function mutateText(text: string, pick: Pick): string {
  let out = text;
  for (let i = 1 + pick(4); i > 0; i--) {
    const at = pick(out.length + 1);
    const piece = pick(4) === 0 ? "" : pick(3) === 0 ? String.fromCharCode(pick(128)) : (PIECES[pick(PIECES.length)] ?? "");
    const cut = pick(3) === 0 ? pick(20) : pick(2);
    out = out.slice(0, at) + piece + out.slice(at + cut);
  }
  return out;
}

/** One to four bytes overwritten; sometimes cut short or with a run doubled. */
export function mutateBytes(bytes: Uint8Array, pick: Pick): Uint8Array {
  let out = Uint8Array.from(bytes);
  for (let n = 1 + pick(4); n > 0 && out.length > 0; n--) out[pick(out.length)] = pick(256);
  const at = pick(out.length + 1);
  const whole = pick(8);
  if (whole === 0) out = out.slice(0, at);
  else if (whole === 1) out = Uint8Array.from([...out.slice(0, at), ...out.slice(Math.max(0, at - pick(40)))]);
  return out;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes that are still in use: heap, and buffers beside it. */
export function usedBytes(): number {
  collect();
  // What the first one found of buffers is freed beside, and counted until then; the next one waits for that.
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Inputs after which code is compiled and caches are warm. */
const WARM_UP = 5_000;
/** What the test runner and the compiler may add meanwhile. A decoder that keeps 100 bytes of each input exceeds it in a CI run. */
export const SLACK_BYTES = 8_000_000;

/**
 * Watches that the memory in use does not grow with the number of inputs: `tick` before each, `check` at the end. A test that
 * feeds more than a decoder, with queues and caches of bounded size behind it, states its own `slackBytes`.
 */
export function watchMemory(slackBytes = SLACK_BYTES, expected = RUNS): { readonly tick: () => void; readonly check: () => void } {
  const warmUp = Math.min(WARM_UP, Math.floor(expected / 4));
  let inputs = 0;
  let before = 0;
  return {
    tick(): void {
      if (inputs++ === warmUp) before = usedBytes();
    },
    check(): void {
      const grown = usedBytes() - before;
      if (inputs <= warmUp) throw new Error(`${inputs} inputs are too few to judge by`);
      if (grown > slackBytes) throw new Error(`${inputs - warmUp} inputs left ${grown} bytes in memory, more than ${slackBytes}`);
    },
  };
}
