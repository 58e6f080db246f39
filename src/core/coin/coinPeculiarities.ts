/**
 * What the coins file does not say about a chain and a transaction codec must know. Listed by ticker, because nothing in
 * an entry tells these chains from plain ones. Each refusal names what this node would get wrong.
 */
export type Peculiarity =
  | { readonly kind: "refused"; readonly reason: string }
  /** Typed transactions with a payload stand in its blocks (DIP-2). */
  | { readonly kind: "specialTx"; readonly of: true | "version 3" }
  /** Blocks end with an extension-block transaction (LIP-3), or may once their miners agree. */
  | { readonly kind: "mweb" };

const refused = (reason: string): Peculiarity => ({ kind: "refused", reason });
/** As Dash had it when these chains were made from it. */
const OLD_SPECIAL_TX: Peculiarity = { kind: "specialTx", of: "version 3" };

const PECULIARITIES: ReadonlyMap<string, Peculiarity> = new Map([
  ["GRS", refused("transaction ids and signatures use a single SHA-256 and addresses a Groestl checksum")],
  ["FLO", refused("version-2 transactions of its blocks carry a comment after the lock time")],
  ["PRCY", refused("has ring-signature transactions, not Bitcoin's format")],
  ["FLUX", refused("its blocks hold node-list transactions of a format of their own")],
  ["ZEC", refused("its blocks hold version-5 transactions (ZIP-225), and the branch id changes with every upgrade")],
  ["DIME", refused("transactions of its blocks carry a comment after the lock time, from version 2 on")],
  ["HTH", refused("each output of its transactions ends with a text, and its blocks hold typed transactions")],
  ["KCN", refused("transaction ids are a double SHA3-256")],
  ["LCN", refused("ids of version-8 transactions are a double SHA3-256")],
  ["XPM", refused("its headers end with a number of variable length, which is not read")],
  ["LBC", refused("its headers hold one hash more before the time, which is not read")],
  ["SYS", refused("its blocks hold version-137 transactions, with data of Syscoin's that no id covers in their outputs")],
  ["DASH", { kind: "specialTx", of: true }],
  ["AXE", OLD_SPECIAL_TX],
  ["GBX", OLD_SPECIAL_TX],
  ["RTM", OLD_SPECIAL_TX],
  ["GRR", OLD_SPECIAL_TX],
  ["FIRO", OLD_SPECIAL_TX],
  ["KIIRO", OLD_SPECIAL_TX],
  ["LTC", { kind: "mweb" }],
  ["LC2", { kind: "mweb" }],
  ["CY", { kind: "mweb" }],
  ["DSV", { kind: "mweb" }],
  ["JKC", { kind: "mweb" }],
  ["RIN", { kind: "mweb" }],
]);

/** Looks a ticker up; `X-segwit` is the same chain as `X`. */
export function peculiarity(ticker: string): Peculiarity | null {
  return PECULIARITIES.get(ticker.replace(/-segwit$/, "")) ?? null;
}
