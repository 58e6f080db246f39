import { type SqlDatabase, type SqlRow, StorageError } from "../../ports/sql.ts";
import type { SwapFilter, SwapPage, SwapPageStart } from "../../ports/swapStore.ts";

/** Rows read at once while the index fills; below the bound of one answer of the database. */
const CHUNK = 20_000;

type Entry = { readonly id: number; readonly uuid: string; readonly my: number; readonly other: number; readonly at: number };

/**
 * What lists and filters ask of every stored swap, kept in memory in the order of the lists: some 130 bytes a swap. SQL counts a
 * hundred thousand rows, or skips as many, in milliseconds; this takes tenths of one, whatever the filter and the page. Rows of
 * `swaps` never leave and what stands here of them never changes, so each question first reads the rows that are new, and
 * nobody has to tell it of them.
 */
export class SwapIndex {
  readonly #db: SqlDatabase;
  /** Oldest first: by `started_at`, then by insertion. */
  readonly #entries: Entry[] = [];
  readonly #tickers = new Map<string, number>();
  #lastId = 0;
  /** Readings of new rows run one after the other. */
  #reading: Promise<void> = Promise.resolve();

  constructor(db: SqlDatabase) {
    this.#db = db;
  }

  /** See `SwapStore.page`. */
  async page(filter: SwapFilter, start: SwapPageStart, limit: number): Promise<SwapPage | null> {
    await this.#catchUp();
    const my = filter.myCoin === undefined ? null : this.#tickers.get(filter.myCoin);
    const other = filter.otherCoin === undefined ? null : this.#tickers.get(filter.otherCoin);
    if (my === undefined || other === undefined) return { uuids: [], total: 0, skipped: 0 };
    const after = "after" in start ? await this.#idOf(start.after) : null;
    const [low, high] = this.#range(filter);
    const uuids: string[] = [];
    let total = 0;
    let skipped: number | null = "skip" in start ? start.skip : null;
    for (let i = high - 1; i >= low; i--) {
      const entry = this.#entries[i];
      if (!entry || (my !== null && entry.my !== my) || (other !== null && entry.other !== other)) continue;
      if (skipped === null) {
        if (entry.id === after) skipped = total + 1;
      } else if (total >= skipped && uuids.length < limit) uuids.push(entry.uuid);
      total++;
    }
    if (total === 0) return { uuids: [], total, skipped: 0 };
    return skipped === null ? null : { uuids, total, skipped };
  }

  async #idOf(uuid: string): Promise<number | null> {
    const [row] = await this.#db.read("SELECT id FROM swaps WHERE uuid = ?", [uuid]);
    return row ? Number(row.id) : null;
  }

  /** Places of the entries whose time is within the filter: from the first up to before the second. */
  #range(filter: SwapFilter): readonly [number, number] {
    return [
      filter.fromSec === undefined ? 0 : this.#firstFrom(filter.fromSec),
      filter.toSec === undefined ? this.#entries.length : this.#firstFrom(filter.toSec),
    ];
  }

  /** Place of the first entry that started at `atSec` or later. */
  #firstFrom(atSec: number): number {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle]?.at ?? 0) < atSec) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #catchUp(): Promise<void> {
    const read = async (): Promise<void> => {
      for (;;) {
        const rows = await this.#db.read("SELECT id, uuid, my_coin, other_coin, started_at FROM swaps WHERE id > ? ORDER BY id LIMIT ?", [
          this.#lastId,
          CHUNK,
        ]);
        this.#add(rows);
        if (rows.length < CHUNK) return;
      }
    };
    // A reading that failed told who waited for it; the next one begins where that one ended.
    this.#reading = this.#reading.then(read, read);
    return this.#reading;
  }

  #add(rows: readonly SqlRow[]): void {
    const fresh = rows.map((row) => this.#entry(row));
    let latest = this.#entries.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
    let isSorted = true;
    for (const entry of fresh) {
      isSorted &&= entry.at >= latest;
      latest = entry.at;
      this.#entries.push(entry);
      this.#lastId = entry.id;
    }
    if (!isSorted) this.#entries.sort((a, b) => a.at - b.at || a.id - b.id);
  }

  #entry(row: SqlRow): Entry {
    const { uuid, my_coin: my, other_coin: other } = row;
    if (typeof uuid !== "string" || typeof my !== "string" || typeof other !== "string")
      throw new StorageError("Corrupt", "swap store: a text column holds something else");
    return { id: Number(row.id), uuid, my: this.#ticker(my), other: this.#ticker(other), at: Number(row.started_at) };
  }

  #ticker(name: string): number {
    const known = this.#tickers.get(name);
    if (known !== undefined) return known;
    this.#tickers.set(name, this.#tickers.size);
    return this.#tickers.size - 1;
  }
}
