/** Runs one piece of work after another: what each makes in many turns of the event loop would be in memory for all of them at once. */
export class OneByOne {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    // The next one goes on whatever came of this one; its caller is told.
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}
