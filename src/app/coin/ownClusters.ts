/**
 * Own unconfirmed transactions grouped by who depends on whom. Nodes limit both the ancestors and the descendants of an
 * unconfirmed transaction; the size of its whole group bounds either. Union-find over transaction ids.
 */
export class OwnClusters {
  readonly #parent: Map<string, string>;
  readonly #size: Map<string, number>;

  constructor(from?: OwnClusters) {
    this.#parent = new Map(from ? from.#parent : []);
    this.#size = new Map(from ? from.#size : []);
  }

  /** An unconfirmed transaction; `size` above 1 stands for dependencies that are not known one by one. */
  add(id: string, size = 1): void {
    if (this.#parent.has(id)) return;
    this.#parent.set(id, id);
    this.#size.set(id, size);
  }

  /** One spends an output of the other. Nothing happens when either is confirmed, that is, was not added. */
  join(a: string, b: string): void {
    const [x, y] = [this.#root(a), this.#root(b)];
    if (x === null || y === null || x === y) return;
    this.#parent.set(x, y);
    this.#size.set(y, (this.#size.get(y) ?? 0) + (this.#size.get(x) ?? 0));
    this.#size.delete(x);
  }

  /** Whether `id` is confirmed, or at least none of those added: the same as a group of 0. */
  isConfirmed(id: string): boolean {
    return !this.#parent.has(id);
  }

  /** Transactions in the group of `id`; 0 for a confirmed one. */
  sizeOf(id: string): number {
    const root = this.#root(id);
    return root === null ? 0 : (this.#size.get(root) ?? 0);
  }

  /** Size of the group a new transaction would be in that spends outputs of these. */
  sizeWith(ids: readonly string[]): number {
    const roots = new Set(ids.map((id) => this.#root(id)));
    let size = 1;
    for (const root of roots) if (root !== null) size += this.#size.get(root) ?? 0;
    return size;
  }

  #root(id: string): string | null {
    let at = this.#parent.get(id);
    if (at === undefined) return null;
    for (let up = this.#parent.get(at); up !== undefined && up !== at; up = this.#parent.get(at)) at = up;
    this.#parent.set(id, at);
    return at;
  }
}
