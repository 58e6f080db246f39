import type { Clock } from "../../ports/clock.ts";
import { SOON_MS } from "./firstToTell.ts";
import { majorityOf } from "./serverPool.ts";

/**
 * What servers answer, in their order: as soon as all have, or most have and the others took too long; null: it is late. A look asks for one thing after
 * another, and one server that answers each as late as may be would keep a coin from being there in time.
 */
export function mostOf<T>(clock: Clock, asked: readonly Promise<T>[]): Promise<readonly (T | null)[]> {
  return new Promise((resolve, reject) => {
    const answers = asked.map((): T | null => null);
    let count = 0;
    let stop = (): void => undefined;
    const done = (): void => {
      stop();
      resolve([...answers]);
    };
    if (asked.length === 0) done();
    for (const [i, one] of asked.entries()) {
      one.then((answer) => {
        answers[i] = answer;
        count++;
        if (count === asked.length) done();
        else if (count === majorityOf(asked.length)) stop = clock.after(SOON_MS, done);
      }, reject);
    }
  });
}
