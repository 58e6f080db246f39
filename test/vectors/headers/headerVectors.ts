import { readFileSync } from "node:fs";

type One = { readonly header: string; readonly hash: string };
type Chain = { readonly headers: readonly [string, string, string]; readonly hashes: readonly string[] };

/** Headers of public chains as hex, and their hashes in display order. */
export const headerVectors = JSON.parse(readFileSync(new URL("headers.json", import.meta.url), "utf8")) as {
  /** Blocks 0, 1 and 2. */
  readonly bitcoin: Chain;
  /** `powHash`: scrypt of the header, display order. */
  readonly litecoin: { readonly genesis: One; readonly block2000000: One & { readonly powHash: string } };
  /** The other one, of March 2020, was mined by a notary: its hash is far above the target of its own bits. */
  readonly komodo: { readonly genesis: One; readonly block1583159441: One };
  /** Blocks 3631810 and 3631811, with the proofs of their parents in Litecoin. */
  readonly dogecoin: { readonly headers: readonly [string, string]; readonly hashes: readonly string[] };
  /** Blocks 0, 1 and 2. */
  readonly zcash: Chain;
  /** Blocks 4487775 and 4487776, and the KawPow hash of the first. */
  readonly ravencoin: { readonly headers: readonly [string, string]; readonly hashes: readonly [string] };
};
