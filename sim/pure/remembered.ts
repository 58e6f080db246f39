/** Answers of each generation. With the one before it, that is some minutes of a busy world. */
const MAX_KEPT = 2_000;

/**
 * A pure function of bytes, worked out once for all nodes of the process that are handed the same bytes: the same object, that is,
 * which nobody writes to. Forgotten by generations; nothing keeps the bytes longer.
 */
export function remembered<R>(work: (bytes: Uint8Array) => R): (bytes: Uint8Array) => R {
  let now = new Map<Uint8Array, R>();
  let before = new Map<Uint8Array, R>();
  return (bytes) => {
    const known = now.get(bytes) ?? before.get(bytes);
    if (known !== undefined) return known;
    const answer = work(bytes);
    if (now.size >= MAX_KEPT) {
      before = now;
      now = new Map();
    }
    now.set(bytes, answer);
    return answer;
  };
}
