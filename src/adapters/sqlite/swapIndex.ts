import { type SqlDatabase, type SqlRow, StorageError } from "../../ports/sql.ts";
import type { SwapFilter, SwapPage, SwapPageStart } from "../../ports/swapStore.ts";

/** Rows read at once while the index fills; below the bound of one answer of the database. */
const CHUNK = 20_000;

type Entry = { readonly id: number; readonly uuid: string; readonly pair: number; readonly at: number };

/** Index of the first number that is `value` or more; of its length when there is none. Ascending. */
function firstAtLeast(numbers: readonly number[], value: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * What lists and filters ask of every stored swap, kept in memory in the order of the lists: some 130 bytes a swap. SQL counts a
 * hundred thousand rows, or skips as many, in milliseconds; here a page without a coin in its filter is arithmetic, and one with it
 * a search among the places of each pair that it lets through. Rows of `swaps` never leave and what stands here of them never changes; the store tells when there are new ones,
 * and the next question reads those first.
 */
export class SwapIndex {
  readonly #db: SqlDatabase;
  /** Oldest first: by `started_at`, then by insertion. */
  readonly #entries: Entry[] = [];
  /** Own and other coin of each pair, and where in `#entries` its swaps stand, ascending. */
  readonly #pairs: { readonly my: string; readonly other: string; places: number[] }[] = [];
  readonly #pairIds = new Map<string, number>();
  #lastId = 0;
  /** Readings of new rows run one after the other. */
  #reading: Promise<void> = Promise.resolve();
  /** How often rows were added, and how many of those times have been read. */
  #added = 1;
  #read = 0;

  constructor(db: SqlDatabase) {
    this.#db = db;
  }

  /** To be called when rows were added, or may have been, before whoever added them is told so. */
  rowsAdded(): void {
    this.#added++;
  }

  /** See `SwapStore.page`. */
  async page(filter: SwapFilter, start: SwapPageStart, limit: number): Promise<SwapPage | null> {
    const after = "after" in start ? await this.#keyOf(start.after) : null;
    // Behind that: a swap it found is among the new ones, unless its write has not been answered yet.
    if (this.#read < this.#added) await this.#catchUp();
    const [low, high] = [
      filter.fromSec === undefined ? 0 : this.#firstFrom(filter.fromSec),
      filter.toSec === undefined ? this.#entries.length : this.#firstFrom(filter.toSec),
    ];
    const wanted = this.#wanted(filter);
    const total = this.#count(wanted, low, high);
    if (total === 0) return { uuids: [], total, skipped: 0 };
    let skipped: number;
    if ("skip" in start) skipped = start.skip;
    else {
      const place = after === null ? -1 : this.#placeOf(after);
      if (place < low || place >= high || this.#count(wanted, place, place + 1) === 0) return null;
      skipped = this.#count(wanted, place, high);
    }
    return { uuids: this.#uuids(wanted, low, high, skipped, limit), total, skipped };
  }

  #uuids(wanted: readonly (readonly number[])[] | null, low: number, high: number, skipped: number, limit: number): readonly string[] {
    const places: number[] = [];
    if (wanted === null) for (let i = high - 1 - skipped; i >= low && places.length < limit; i--) places.push(i);
    else {
      const end = this.#endBehind(wanted, low, high, skipped);
      for (const own of wanted) {
        const [from, to] = [firstAtLeast(own, low), firstAtLeast(own, end)];
        for (let i = to - 1; i >= Math.max(from, to - limit); i--) places.push(own[i] as number);
      }
      // One pair's are in order already.
      if (wanted.length > 1) places.sort((a, b) => b - a);
    }
    return places.slice(0, limit).flatMap((place) => this.#entries[place]?.uuid ?? []);
  }

  /** The place before which a page ends that leaves out the last `skipped` entries of these before `high`. */
  #endBehind(wanted: readonly (readonly number[])[], low: number, high: number, skipped: number): number {
    let [from, to] = [low, high];
    while (from < to) {
      const middle = (from + to + 1) >>> 1;
      if (this.#count(wanted, middle, high) >= skipped) from = middle;
      else to = middle - 1;
    }
    return from;
  }

  /** The places of each pair the filter lets through; null when that is every pair. */
  #wanted({ myCoin, otherCoin }: SwapFilter): readonly (readonly number[])[] | null {
    if (myCoin === undefined && otherCoin === undefined) return null;
    return this.#pairs.flatMap(({ my, other, places }) => ((myCoin ?? my) === my && (otherCoin ?? other) === other ? [places] : []));
  }

  /** Entries of wanted pairs from place `low` up to before `high`. */
  #count(wanted: readonly (readonly number[])[] | null, low: number, high: number): number {
    if (wanted === null) return Math.max(0, high - low);
    let count = 0;
    for (const places of wanted) count += Math.max(0, firstAtLeast(places, high) - firstAtLeast(places, low));
    return count;
  }

  async #keyOf(uuid: string): Promise<Pick<Entry, "id" | "at"> | null> {
    const [row] = await this.#db.read("SELECT id, started_at FROM swaps WHERE uuid = ?", [uuid]);
    return row ? { id: Number(row.id), at: Number(row.started_at) } : null;
  }

  /** Place of the entry; -1: it has not been read. */
  #placeOf({ at, id }: Pick<Entry, "id" | "at">): number {
    const place = this.#firstFrom(at, id);
    return this.#entries[place]?.id === id ? place : -1;
  }

  /** Place of the first entry that started at `atSec` or later; of one second, of those with this id or a later one. */
  #firstFrom(atSec: number, id = 0): number {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = this.#entries[middle];
      if (entry && (entry.at < atSec || (entry.at === atSec && entry.id < id))) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #catchUp(): Promise<void> {
    const read = async (): Promise<void> => {
      const added = this.#added;
      for (;;) {
        const rows = await this.#db.read("SELECT id, uuid, my_coin, other_coin, started_at FROM swaps WHERE id > ? ORDER BY id LIMIT ?", [
          this.#lastId,
          CHUNK,
        ]);
        this.#add(rows);
        if (rows.length < CHUNK) break;
      }
      this.#read = added;
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
    let first = this.#entries.length - fresh.length;
    if (!isSorted) {
      this.#entries.sort((a, b) => a.at - b.at || a.id - b.id);
      for (const pair of this.#pairs) pair.places = [];
      first = 0;
    }
    for (let place = first; place < this.#entries.length; place++) this.#pairs[this.#entries[place]?.pair ?? -1]?.places.push(place);
  }

  #entry(row: SqlRow): Entry {
    const { uuid, my_coin: my, other_coin: other } = row;
    if (typeof uuid !== "string" || typeof my !== "string" || typeof other !== "string")
      throw new StorageError("Corrupt", "swap store: a text column holds something else");
    return { id: Number(row.id), uuid, pair: this.#pair(my, other), at: Number(row.started_at) };
  }

  #pair(my: string, other: string): number {
    const name = JSON.stringify([my, other]);
    const known = this.#pairIds.get(name);
    if (known !== undefined) return known;
    this.#pairIds.set(name, this.#pairs.length);
    return this.#pairs.push({ my, other, places: [] }) - 1;
  }
}
