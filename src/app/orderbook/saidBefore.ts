/** Bits of one generation, 1 MB, and messages after which the next begins: one in a hundred that was not said is then taken for one that was. */
const BITS = 2 ** 23;
const PER_GENERATION = 800_000;
/** Bits of one message. */
const MARKS = 4;

/**
 * Whether a message was said before, from marks of its key and digest: of some that were not it says so, too. The older of two generations
 * goes when the newer one is full, so that the last one's worth is always known.
 */
export class SaidBefore {
  #now: Uint32Array | null = null;
  #before: Uint32Array | null = null;
  #count = 0;
  readonly #perGeneration: number;

  constructor(perGeneration = PER_GENERATION) {
    this.#perGeneration = perGeneration;
  }

  has(publicKey: Uint8Array, digest: Uint8Array): boolean {
    const marks = marksOf(publicKey, digest);
    return isMarked(this.#now, marks) || isMarked(this.#before, marks);
  }

  add(publicKey: Uint8Array, digest: Uint8Array): void {
    if (this.#count >= this.#perGeneration) {
      this.#before = this.#now;
      this.#now = null;
      this.#count = 0;
    }
    this.#now ??= new Uint32Array(BITS / 32);
    this.#count++;
    for (const mark of marksOf(publicKey, digest)) this.#now[mark >>> 5] = (this.#now[mark >>> 5] ?? 0) | (1 << (mark & 31));
  }
}

const isMarked = (bits: Uint32Array | null, marks: readonly number[]): boolean =>
  bits !== null && marks.every((mark) => ((bits[mark >>> 5] ?? 0) & (1 << (mark & 31))) !== 0);

/** Of the digest alone two keys that sign the same words would have the same. Key: 33 bytes, digest: 32. */
function marksOf(publicKey: Uint8Array, digest: Uint8Array): readonly number[] {
  const [key, words] = [viewOf(publicKey), viewOf(digest)];
  return Array.from({ length: MARKS }, (_, n) => ((key.getUint32(1 + 4 * n) ^ words.getUint32(4 * n)) >>> 0) % BITS);
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
