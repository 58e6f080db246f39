/**
 * A list from both ends: the last, the first, the last but one, and so on. Where only the first few count, others can put something behind
 * what waits for its turn, or something before it, and must do both, again and again, to keep it waiting.
 */
export function* bothEnds<T extends object>(list: readonly T[]): Generator<T> {
  for (let [first, last] = [0, list.length - 1]; first <= last; first++, last--) {
    const [newest, oldest] = [list[last], first < last ? list[first] : undefined];
    if (newest !== undefined) yield newest;
    if (oldest !== undefined) yield oldest;
  }
}
