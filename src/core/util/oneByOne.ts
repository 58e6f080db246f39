/** Runs one piece of work after another, in the order it came. */
export class OneByOne {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles as the work does. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    // The next one goes on whatever came of this one; its caller is told.
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}
