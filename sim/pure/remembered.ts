/** Answers of each generation. With the one before it, that is some minutes of a busy world. */
const MAX_KEPT = 2_000;

/**
 * A pure function of bytes or of a text, worked out once for all nodes of the process that are handed the same bytes or an equal text:
 * the same object, that is, which nobody writes to. Forgotten by generations; nothing keeps the bytes longer.
 */
export function remembered<R, K extends Uint8Array | string = Uint8Array>(work: (key: K) => R): (key: K) => R {
  let now = new Map<K, R>();
  let before = new Map<K, R>();
  return (key) => {
    const known = now.get(key) ?? before.get(key);
    if (known !== undefined) return known;
    const answer = work(key);
    if (now.size >= MAX_KEPT) {
      before = now;
      now = new Map();
    }
    now.set(key, answer);
    return answer;
  };
}
