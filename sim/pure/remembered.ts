/** Answers of each generation. With the one before it, that is some minutes of a busy world. */
const KEPT = 2_000;
/** The same of what goes round among the nodes within seconds: what is kept longer outlives the quick part of garbage collection. */
export const KEPT_ON_THE_WAY = 200;

/**
 * A pure function of bytes or of a text, worked out once for all nodes of the process that are handed the same bytes or an equal text:
 * the same object, that is, which nobody writes to. Forgotten by generations; nothing keeps the bytes longer.
 */
export function remembered<R, K extends Uint8Array | string = Uint8Array>(work: (key: K) => R, kept = KEPT): (key: K) => R {
  let now = new Map<K, R>();
  let before = new Map<K, R>();
  return (key) => {
    const known = now.get(key) ?? before.get(key);
    if (known !== undefined) return known;
    const answer = work(key);
    if (now.size >= kept) {
      before = now;
      now = new Map();
    }
    now.set(key, answer);
    return answer;
  };
}
